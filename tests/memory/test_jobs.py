"""Single jobs that failed or are stuck, for admins: whose and which, never what they say."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from memory.clock import utc_now
from memory.conversations.conversations import open_conversation
from memory.embedding.models import Target, reconcile
from memory.errors import NotFoundError
from memory.ids import new_id
from memory.messages.drafts import MessageDraft
from memory.messages.messages import Scribe, append
from memory.operators.jobs import list_stuck, retry_job
from memory.record.telemetry import telemetry
from memory.spaces.spaces import get_space
from memory.writing.edit import pin


@pytest.fixture
def waiting(book):
    """A memory whose vector is due now."""
    with book.session() as session:
        reconcile(session, book.user_id, Target("local", "test-model", None, None), now=utc_now())
    return book.write("Ada keeps bees on the roof").id


def put(book, **columns):
    changes = ", ".join(f"{name} = :{name}" for name in columns)
    with book.session() as session:
        session.execute(text(f"UPDATE embeddings SET {changes}"), columns)


def mine(owner, book, now=None):
    with Session(owner) as session:
        found = list_stuck(session, now=now or utc_now(), limit=10_000).jobs
    return [job for job in found if job.user_id == book.user_id]


def test_what_waits_as_it_should_is_no_stuck_job(owner, book, waiting):
    assert mine(owner, book) == []


def test_what_failed_is_listed_without_its_text(owner, book, waiting):
    put(book, state="error", attempts=6, error="the provider says: bees")
    (job,) = mine(owner, book)
    assert (job.kind, job.item_id, job.state, job.attempts) == ("memory", waiting, "failed", 6)
    assert "bees" not in str(job)


def test_no_page_ends_between_two_models_of_one_item(owner, book, waiting):
    with book.session() as session:
        reconcile(session, book.user_id, Target("local", "another-model", None, None), now=utc_now())
        session.execute(
            text("""
            INSERT INTO embeddings SELECT (jsonb_populate_record(e, jsonb_build_object('model_id', m.id))).*
            FROM embeddings e JOIN embedding_models m ON m.user_id = e.user_id ON CONFLICT DO NOTHING
            """)
        )
    put(book, state="error", updated_at=utc_now())
    found, cursor = [], None
    with Session(owner) as session:
        while page := list_stuck(session, now=utc_now(), limit=1, cursor=cursor):
            found += [job.item_id for job in page.jobs if job.user_id == book.user_id]
            if (cursor := page.next_cursor) is None:
                break
    assert found == [waiting, waiting]


def test_what_nobody_takes_up_is_stuck(owner, book, waiting):
    (job,) = mine(owner, book, utc_now() + timedelta(minutes=6))
    assert (job.item_id, job.state) == (waiting, "stuck")


@pytest.mark.parametrize("state", ["error", "pending"])
def test_a_job_waits_again_as_if_it_were_new(book, waiting, state):
    put(book, state=state, attempts=6, due_at=utc_now() - timedelta(minutes=6))
    with book.session() as session:
        retry_job(session, book.user_id, "memory", waiting, now=utc_now())
    assert book.all("SELECT ARRAY[state, attempts::text, error] FROM embeddings") == [["pending", "0", None]]
    assert book.one("SELECT due_at > now() - interval '1 minute' FROM embeddings")


@pytest.mark.parametrize("kind", ["memory", "entity", "episode", "soup"])
def test_what_did_not_fail_is_not_tried_again(book, waiting, kind):
    with book.session() as session, pytest.raises(NotFoundError):
        retry_job(session, book.user_id, kind, waiting if kind == "memory" else new_id(), now=utc_now())


def test_a_job_of_another_user_is_out_of_reach(book, bobs_book, waiting):
    put(book, state="error")
    with bobs_book.session() as session, pytest.raises(NotFoundError):
        retry_job(session, book.user_id, "memory", waiting, now=utc_now())


# --- since when what waits has waited ---


def said(book, moment):
    """Keep what was said at a moment, as one episode that waits for its vector."""
    with book.session() as session:
        space = get_space(session, book.user_id, "default")
        talk, _ = open_conversation(session, book.user_id, space, now=utc_now(), actor="test")
        turn = [MessageDraft(role, "The boiler is old", created_at=moment) for role in ("user", "assistant")]
        append(session, book.user_id, talk.id, turn, Scribe(book.runtime.keys, len, utc_now(), "test", "-"))


@pytest.mark.parametrize(("kind", "vectors"), [("memory", "embeddings"), ("episode", "episode_embeddings")])
def test_what_is_of_years_ago_and_came_in_now_has_not_waited_for_years(book, waiting, kind, vectors):
    def age():
        with book.session() as session:
            return timedelta(seconds=float(telemetry(session, utc_now())["embedding_backlog_age"]))

    before, years = age(), timedelta(days=2_000)
    with book.session() as session:
        session.execute(text("UPDATE memories SET updated_at = :then"), {"then": utc_now() - years})
    if kind == "episode":
        said(book, utc_now() - years)
    assert age() < before + timedelta(hours=1)
    with book.session() as session:
        # What is stuck counts from when it was to be made.
        session.execute(text(f"UPDATE {vectors} SET created_at = :then"), {"then": utc_now() - years})
    assert years <= age() < years + timedelta(hours=1)
    with book.session() as session:
        session.execute(text(f"DELETE FROM {vectors}"))
    # Nobody was to make it, so it waits since it was written.
    assert age() >= years


# --- spaces that are full of what is held on to ---


def full(book):
    with book.session() as session:
        return telemetry(session, utc_now())["full_spaces"]


def test_a_space_full_of_what_is_held_on_to_is_counted(book):
    before = full(book)
    first, second = (book.write(f"Ada keeps {animal}").id for animal in ("bees", "goats"))
    with book.session() as session:
        session.execute(text("UPDATE spaces SET soft_cap = 2"))
    book.do(pin, first, pinned=True)
    assert full(book) == before
    book.do(pin, second, pinned=True)
    assert full(book) == before + 1
    # And this is what the alert is about: a pinned one stays, and what comes is trimmed at once.
    assert book.write("Ada keeps cats").trace.trimmed != ()
    assert {each.pinned for each in map(book.load, (first, second))} == {True}
