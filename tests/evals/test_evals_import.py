from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from sqlalchemy import select

from evals.corpus import WordModel
from evals.locomo import Conversation, Turn
from evals.locomo_import import Counts, import_conversations, space_slug
from memory.database import user_session
from memory.models import Memory
from memory.spaces import get_space
from tasks.runtime import Runtime

Place = tuple[Runtime, UUID]
LATER = datetime(2024, 1, 2, tzinfo=UTC)


def _memories(place: Place) -> list[Memory]:
    runtime, user_id = place
    with user_session(runtime.sessions, user_id) as session:
        space = get_space(session, user_id, "conv-1")
        found = session.scalars(
            select(Memory).where(Memory.space_id == space.id).order_by(Memory.created_at, Memory.id)
        )
        memories = list(found)
        session.expunge_all()
        return memories


def test_every_turn_is_accounted_for(imported: Counts) -> None:
    # The empty turn is skipped, the exact repeat merged.
    assert imported == Counts(created=4, merged=1, refused=0, skipped=1)


@pytest.mark.usefixtures("imported")
def test_a_memory_says_who_said_what_and_when(place: Place) -> None:
    first = _memories(place)[0]
    assert first.text == "Ann: I adopted a puppy from the shelter and called him Biscuit."
    assert (first.type, first.source_ids) == ("note", ["D1:1"])
    assert first.created_at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


@pytest.mark.usefixtures("imported")
def test_a_repeated_turn_leaves_its_id_with_the_first(place: Place) -> None:
    assert ["D1:2", "D2:2"] in [each.source_ids for each in _memories(place)]


@pytest.mark.usefixtures("imported")
def test_importing_again_changes_nothing(place: Place, conversations: list[Conversation]) -> None:
    runtime, user_id = place
    before = [(each.id, each.repeat_count, each.importance) for each in _memories(place)]
    counts = import_conversations(runtime.sessions, user_id, conversations, keys=runtime.keys, now=LATER)
    assert counts == Counts(skipped=6)
    assert [(each.id, each.repeat_count, each.importance) for each in _memories(place)] == before


@pytest.mark.usefixtures("imported")
def test_progress_adds_up_to_the_turns(place: Place, conversations: list[Conversation]) -> None:
    runtime, user_id = place
    seen: list[int] = []
    import_conversations(
        runtime.sessions, user_id, conversations, keys=runtime.keys, now=LATER, on_progress=seen.append
    )
    assert sum(seen) == len(conversations[0].turns)


def test_the_soft_cap_grows_with_the_conversation(place: Place) -> None:
    runtime, user_id = place
    words = WordModel().texts(300)
    turns = tuple(Turn(f"D1:{n}", "Ann", text, None, LATER) for n, text in enumerate(words, start=1))
    long = Conversation("Long One!", turns, ())
    assert import_conversations(runtime.sessions, user_id, [long], keys=runtime.keys, now=LATER).created == 300
    with user_session(runtime.sessions, user_id) as session:
        space = get_space(session, user_id, "long-one")
        assert (space.documents, space.soft_cap) == (300, 300)


@pytest.mark.parametrize(("name", "slug"), [("conv-26", "conv-26"), ("Conv 26 / b", "conv-26-b"), ("!!", "locomo")])
def test_a_space_is_named_after_its_conversation(name: str, slug: str) -> None:
    assert space_slug(Conversation(name, (), ())) == slug
