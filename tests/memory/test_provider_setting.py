"""The endpoint that a user chose, while another request changes it."""

from __future__ import annotations

import pytest

from memory.clock import utc_now
from memory.embedding.providers import clear_setting, save_setting, setting_of


def save(book, session, host, model="small"):
    fields = {"provider_type": "openai", "endpoint_url": f"https://{host}/v1", "model": model, "dimensions": None}
    fields |= {"enabled": True, "api_key": f"key of {host}"}
    save_setting(session, book.user_id, fields, keys=book.runtime.keys, now=utc_now())


@pytest.fixture
def chosen(book):
    """Save another model of the endpoint that was chosen first, in a transaction of its own."""
    with book.session() as session:
        save(book, session, "one.example")

    def choose():
        with book.session() as session:
            save(book, session, "one.example", "large")

    return choose


def stored(book):
    with book.session() as session:
        setting = setting_of(session, book.user_id)
        return setting.endpoint_url, setting.model, book.runtime.keys.decrypt(setting.api_key)


def test_no_endpoint_gets_the_key_of_another_that_is_saved_at_once(book, beside, chosen):
    done = beside(lambda session: save(book, session, "two.example"), chosen)
    assert (done, stored(book)) == (None, ("https://one.example/v1", "large", "key of one.example"))


def test_an_endpoint_is_saved_while_it_is_removed(book, beside, chosen):
    done = beside(lambda session: clear_setting(session, book.user_id), chosen)
    assert (done, stored(book)) == (None, ("https://one.example/v1", "large", "key of one.example"))
