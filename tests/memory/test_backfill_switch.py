"""The switch from one model to the next, while the old one serves."""

from __future__ import annotations

import threading

import pytest
from embedding_work import TEXTS, eight_wide, picky
from local_provider import openai_shape
from sqlalchemy import text

from memory.embedding.models import flip_if_complete
from memory.embedding.providers import clear_setting


@pytest.fixture
def switching(local, provider):
    """Four memories by the local model, and a remote one of eight dimensions that is to follow."""
    local.write()
    local.backfill.run()
    provider.answer = eight_wide
    local.use(provider)
    return local


def test_old_vectors_serve_until_the_new_ones_are_complete(switching, provider):
    provider.status = 503
    switching.backfill.sweep()
    switching.backfill.run()
    assert (switching.active().provider_type, switching.waiting(), switching.dimensions()) == ("local", 0, {384})


def test_the_new_model_takes_over_once_it_is_complete(switching):
    switching.backfill.sweep()
    switching.backfill.run()
    assert (switching.active().model, switching.active().dimensions) == ("tiny", 8)
    assert (switching.dimensions(), switching.waiting()) == ({8}, 0)


def test_what_is_written_during_a_switch_gets_both_vectors(switching):
    switching.backfill.sweep()
    (memory_id,) = switching.write("Written in the middle of it")
    assert switching.book.one("SELECT count(*) FROM embeddings WHERE memory_id = :id", id=memory_id) == 2


def test_a_memory_that_nobody_queued_holds_up_the_flip(switching):
    switching.backfill.sweep()
    switching.book.do(
        lambda session, _user, **_: session.execute(text("DELETE FROM embeddings WHERE state = 'pending'"))
    )
    with switching.book.session() as session:
        assert not flip_if_complete(session, switching.book.user_id, now=switching.clock())


def test_a_model_that_fails_at_everything_never_takes_over(switching, provider):
    provider.status = 404
    switching.backfill.sweep()
    switching.backfill.run()
    assert (switching.active().provider_type, switching.states()) == ("local", ["pending"] * 4)


def test_a_model_that_fails_at_most_texts_never_takes_over(switching, provider):
    provider.answer = picky
    switching.write("A bad text", "Another bad text", "The third bad text")
    switching.backfill.sweep()
    switching.backfill.run()
    assert (switching.active().provider_type, switching.states().count("error")) == ("local", 3)


def test_a_few_odd_texts_do_not_hold_up_the_flip(switching, provider):
    provider.answer = picky
    bad = switching.write("A bad text", "And one more good text")[0]
    switching.backfill.sweep()
    switching.backfill.run()
    assert switching.active().model == "tiny"
    assert switching.book.all("SELECT id FROM memories WHERE needs_embedding") == [bad]


def test_going_back_before_the_flip_keeps_the_old_vectors(switching, provider):
    provider.status = 503
    switching.backfill.sweep()
    with switching.book.session() as session:
        clear_setting(session, switching.book.user_id)
    switching.backfill.sweep()
    assert (switching.active().provider_type, switching.states()) == ("local", [])


def test_going_back_after_the_flip_embeds_locally_again(switching):
    switching.backfill.sweep()
    switching.backfill.run()
    with switching.book.session() as session:
        clear_setting(session, switching.book.user_id)
    switching.backfill.sweep()
    switching.backfill.run()
    assert (switching.active().provider_type, switching.dimensions()) == ("local", {384})


def test_two_workers_flip_once(switching):
    switching.backfill.sweep()
    switching.backfill.flips = False
    switching.backfill.run()
    switching.backfill.flips = True
    threads = [threading.Thread(target=switching.backfill.sweep) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    flips = "SELECT count(*) FROM audit_events WHERE action = 'embedding.model_flipped'"
    assert (switching.book.one(flips), switching.active().model) == (1, "tiny")


def test_writers_go_on_during_a_switch(switching):
    """Writers hold a space and want a model; the flip holds models and wants the spaces."""
    switching.backfill.sweep()
    failures: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for n in range(6):
                switching.write(f"Written by {number} as the note {n} of many")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    switching.backfill.run()
    for thread in threads:
        thread.join()
    switching.backfill.sweep()
    switching.backfill.run()
    assert (failures, switching.waiting(), switching.active().model) == ([], 0, "tiny")


def test_a_changed_number_of_dimensions_is_never_stored(work, provider):
    work.write(*TEXTS[:2])
    work.backfill.run()
    provider.answer = openai_shape
    work.write(TEXTS[2])
    work.backfill.run()
    assert (work.dimensions(), sorted(work.states())) == ({8}, ["pending", "ready", "ready"])
    assert "dimensions" in work.book.one("SELECT error FROM embedding_models")


def test_vectors_too_long_to_be_kept_end_no_run(work, provider):
    provider.answer = lambda body: {"data": [{"embedding": [1.0] * 16_001} for _ in body["input"]]}
    work.write(TEXTS[0])
    work.backfill.run()
    assert work.states() == ["pending"]
    assert "16001 dimensions, more than" in work.book.one("SELECT error FROM embedding_models")


def test_other_dimensions_of_the_same_model_are_another_model(work, provider):
    work.write()
    work.backfill.run()
    provider.answer = openai_shape
    work.use(provider, dimensions=3)
    work.backfill.sweep()
    work.backfill.run()
    assert (work.dimensions(), work.active().dimensions) == ({3}, 3)
