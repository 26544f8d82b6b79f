"""The worker sums up what a space keeps no longer, by a language model where one answers, and archives it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from chat_endpoint import chat_endpoint
from sqlalchemy import text

from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.forgetting.forget import forget
from memory.remote.llm import ChatModel
from memory.spaces.spaces import update_space
from memory.storage.database import user_session
from memory.writing.edit import update
from memory.writing.remember import remember_many
from tasks.app import configure
from tasks.upkeep import archive_aged, roll_up_corrected

pytestmark = pytest.mark.usefixtures("empty_queue")

TEXTS = ("The kiln reaches cone ten by noon", "Glaze needs two coats", "Clay from Ada is too wet for bowls")
# As if they had come then: their ids tell when.
OLD = "UPDATE memories SET id = uuidv7(interval '-240 days'), updated_at = now() - interval '240 days'"


@pytest.fixture
def shelf(runtime, ada):
    """A space that wants its old memories summed up: three of pots, and one of something else."""
    with user_session(runtime.sessions, ada.id) as session:
        update_space(session, ada.id, "default", {"roll_up": True}, now=utc_now(), actor="t")
        drafts = [*(Draft(each, tags=("pots",)) for each in TEXTS), Draft("The harbour opens in May", tags=("sea",))]
        remember_many(session, ada.id, "default", drafts, keys=runtime.keys, now=utc_now(), actor="t")
        session.execute(text("DELETE FROM embeddings"))
        session.execute(text(OLD))


@pytest.fixture
def ask(runtime, ada):
    def _ask(statement):
        with user_session(runtime.sessions, ada.id) as session:
            return session.scalars(text(statement)).all()

    return _ask


ACTIVE = "SELECT text FROM memories WHERE status = 'active'"


def test_what_belongs_together_is_summed_up_and_all_of_it_is_archived(shelf, ask):
    assert archive_aged.call_local() == 4
    (said,) = ask(ACTIVE)
    head, *lines = said.splitlines()
    assert head.startswith("3 notes of 20")
    assert sorted(lines) == sorted(f"- {each}" for each in TEXTS)
    assert len(ask("SELECT 1 FROM memories WHERE status = 'archived'")) == 4
    assert archive_aged.call_local() == 0


def test_a_language_model_sums_up_where_one_is_set(shelf, ask, runtime):
    with chat_endpoint() as endpoint:
        endpoint.said = "Ada's clay is wet, and the kiln is hot at noon."
        configure(replace(runtime, chat_model=ChatModel(endpoint.url, "small")))
        archive_aged.call_local()
        configure(runtime)
    (said,) = ask(ACTIVE)
    assert said.splitlines()[1:] == [endpoint.said]
    assert all(each in endpoint.requests[0]["messages"][1]["content"] for each in TEXTS)


@pytest.mark.parametrize("said", ["The kiln is hot at noon. " * 5_000, "x" * 100_000], ids=["sentences", "no end"])
def test_a_language_model_that_goes_on_and_on_keeps_nothing_from_being_archived(shelf, ask, runtime, said):
    with chat_endpoint() as endpoint:
        endpoint.said = said
        configure(replace(runtime, chat_model=ChatModel(endpoint.url, "small")))
        assert (archive_aged.call_local(), archive_aged.call_local(), len(endpoint.requests)) == (4, 0, 1)
        configure(runtime)
    (summary,) = ask(ACTIVE)
    assert said.startswith(summary.splitlines()[1])
    assert len(summary) < 10_000


@pytest.mark.parametrize("meanwhile", ["forgotten", "off"])
def test_what_is_forgotten_or_off_while_the_model_writes_is_not_sent_to_it(shelf, ask, runtime, ada, meanwhile):
    said = ("The ferry Ida leaves at dawn", "Oars are in the shed", "Nets want mending in March")
    drafts = [Draft(each, tags=("boats",)) for each in said]
    with user_session(runtime.sessions, ada.id) as session:
        remember_many(session, ada.id, "default", drafts, keys=runtime.keys, now=utc_now(), actor="t")
        session.execute(text("DELETE FROM embeddings"))
        session.execute(text(f"{OLD} WHERE tags = '{{boats}}'"))

    def change():
        asked = endpoint.requests[0]["messages"][1]["content"]
        with user_session(runtime.sessions, ada.id) as session:
            if meanwhile == "off":
                update_space(session, ada.id, "default", {"roll_up": False}, now=utc_now(), actor="t")
                return
            other = "%Ida%" if "kiln" in asked else "%kiln%"
            memory = session.scalar(text("SELECT id FROM memories WHERE text LIKE :other"), {"other": other})
            forget(session, ada.id, memory, keys=runtime.keys, now=utc_now(), actor="t")

    with chat_endpoint() as endpoint:
        endpoint.meanwhile = change
        configure(replace(runtime, chat_model=ChatModel(endpoint.url, "small")))
        archive_aged.call_local()
        configure(runtime)
    assert len(endpoint.requests) == 1


def test_of_a_space_that_is_incognito_by_default_nothing_is_sent_to_the_model(shelf, ask, correct, runtime, ada):
    with user_session(runtime.sessions, ada.id) as session:
        update_space(session, ada.id, "default", {"incognito_default": True}, now=utc_now(), actor="t")
    with chat_endpoint() as endpoint:
        configure(replace(runtime, chat_model=ChatModel(endpoint.url, "small")))
        archive_aged.call_local()
        correct(TEXTS[1], "Glaze needs three coats")
        roll_up_corrected.call_local()
        configure(runtime)
    assert not any(TEXTS[0] in str(request) for request in endpoint.requests)
    assert "- Glaze needs three coats" in ask(ACTIVE)[0]


def test_where_the_model_fails_it_is_an_extract(shelf, ask, runtime):
    with chat_endpoint() as endpoint:
        endpoint.status = 503
        configure(replace(runtime, chat_model=ChatModel(endpoint.url, "small")))
        archive_aged.call_local()
        configure(runtime)
    assert "- Glaze needs two coats" in ask(ACTIVE)[0]


@pytest.fixture
def correct(runtime, ada):
    def _correct(said, becomes):
        with user_session(runtime.sessions, ada.id) as session:
            memory_id = session.scalar(text("SELECT id FROM memories WHERE text = :said"), {"said": said})
            change = {"text": becomes}
            update(session, ada.id, memory_id, change, keys=runtime.keys, now=utc_now(), actor="user")

    return _correct


def test_a_roll_up_says_what_its_source_was_corrected_to(shelf, ask, correct):
    archive_aged.call_local()
    assert roll_up_corrected.call_local() == 0
    correct(TEXTS[1], "Glaze needs three coats")
    (before,) = ask(ACTIVE)
    assert roll_up_corrected.call_local() == 1
    (after,) = ask(ACTIVE)
    assert after == before.replace("two coats", "three coats")
    assert roll_up_corrected.call_local() == 0


def test_what_does_not_come_out_otherwise_is_looked_at_once(shelf, ask, correct, runtime):
    archive_aged.call_local()
    correct(TEXTS[1], "Glaze needs three coats")
    with chat_endpoint() as endpoint:
        endpoint.said = ask(ACTIVE)[0].partition("\n")[2]
        configure(replace(runtime, chat_model=ChatModel(endpoint.url, "small")))
        assert [roll_up_corrected.call_local() for _ in range(2)] == [0, 0]
        configure(runtime)
    assert len(endpoint.requests) == 1
    assert ask("SELECT 1 FROM audit_events WHERE action = 'memory.updated' AND actor = 'system'") == []
    assert "Glaze needs three coats" in endpoint.requests[0]["messages"][1]["content"]


def test_what_its_owner_has_changed_stays_so(shelf, ask, correct):
    archive_aged.call_local()
    (made,) = ask(ACTIVE)
    correct(made, "Of pots: see the blue folder")
    correct(TEXTS[1], "Glaze needs three coats")
    assert roll_up_corrected.call_local() == 0
    assert ask(ACTIVE) == ["Of pots: see the blue folder"]


def test_where_it_is_not_wanted_any_more_it_stays_as_it_is(shelf, ask, correct, runtime, ada):
    archive_aged.call_local()
    correct(TEXTS[1], "Glaze needs three coats")
    with user_session(runtime.sessions, ada.id) as session:
        update_space(session, ada.id, "default", {"roll_up": False}, now=utc_now(), actor="t")
    assert roll_up_corrected.call_local() == 0


def test_a_text_that_was_forgotten_is_not_said_again_and_the_rest_stays(shelf, ask, correct, runtime, ada):
    archive_aged.call_local()
    (before,) = ask(ACTIVE)
    correct(TEXTS[1], "Glaze needs three coats")
    with chat_endpoint() as endpoint:
        endpoint.said = "Glaze is poison"
        configure(replace(runtime, chat_model=ChatModel(endpoint.url, "small")))
        with user_session(runtime.sessions, ada.id) as session:
            draft = Draft(f"{before.splitlines()[0]}\nGlaze is poison")
            made = remember_many(session, ada.id, "default", [draft], keys=runtime.keys, now=utc_now(), actor="t")
            forget(session, ada.id, made[0].id, keys=runtime.keys, now=utc_now(), actor="user")
        assert [roll_up_corrected.call_local() for _ in range(2)] == [0, 0]
        configure(runtime)
    assert len(endpoint.requests) == 1
    assert ask(ACTIVE) == [before]


def test_no_time_is_no_summing_up(shelf, ask, monkeypatch):
    monkeypatch.setattr("tasks.upkeep.LONGEST_RUN", 0)
    assert archive_aged.call_local() == 0
    assert len(ask(ACTIVE)) == 4
