from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from sqlalchemy import select

from evals.corpus import WordModel
from evals.errors import MeasureError
from evals.locomo import Conversation, Turn
from evals.locomo_import import Counts, import_conversations, space_slug
from memory.models import Conversation as Thread
from memory.models import Episode, Memory, Message, Space
from memory.spaces.spaces import get_space
from memory.storage.database import user_session
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


def _threads(place: Place) -> list[Thread]:
    runtime, user_id = place
    with user_session(runtime.sessions, user_id) as session:
        space = get_space(session, user_id, "conv-1")
        found = list(session.scalars(select(Thread).where(Thread.space_id == space.id).order_by(Thread.created_at)))
        session.expunge_all()
        return found


def _messages(place: Place, thread: Thread) -> list[Message]:
    runtime, user_id = place
    with user_session(runtime.sessions, user_id) as session:
        of_thread = select(Message).where(Message.conversation_id == thread.id)
        found = list(session.scalars(of_thread.order_by(Message.sequence)))
        session.expunge_all()
        return found


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
def test_a_session_is_a_conversation_of_its_space(place: Place) -> None:
    found = [(each.external_id, each.title, each.created_at, each.message_count) for each in _threads(place)]
    assert found == [
        ("conv-1/session_1", "conv-1, session 1", datetime(2023, 5, 8, 13, 56, tzinfo=UTC), 3),
        ("conv-1/session_2", "conv-1, session 2", datetime(2023, 9, 13, 0, 9, tzinfo=UTC), 2),
    ]


@pytest.mark.usefixtures("imported")
def test_a_turn_is_a_message_in_its_place(place: Place) -> None:
    said = [(each.role, each.client_id, each.content) for each in _messages(place, _threads(place)[0])]
    assert said == [
        ("user", "D1:1", "Ann: I adopted a puppy from the shelter and called him Biscuit."),
        ("assistant", "D1:2", "Bob: Wow, how lovely!"),
        ("user", "D1:3", "Ann: My cello lessons start again next Tuesday."),
    ]


@pytest.mark.usefixtures("imported")
def test_who_speaks_first_is_the_user_in_every_session(place: Place) -> None:
    later = _threads(place)[1]
    assert [(each.role, each.created_at) for each in _messages(place, later)] == [("assistant", later.created_at)] * 2


@pytest.mark.usefixtures("imported")
def test_a_memory_knows_the_message_that_it_was_said_in(place: Place) -> None:
    said = {each.id: each.client_id for thread in _threads(place) for each in _messages(place, thread)}
    for memory in _memories(place):
        assert memory.source_message_id is not None
        assert said[memory.source_message_id] == memory.source_ids[0]


@pytest.mark.usefixtures("imported")
def test_what_was_answered_is_an_episode(place: Place) -> None:
    runtime, user_id = place
    with user_session(runtime.sessions, user_id) as session:
        of_first = select(Episode.text).where(Episode.conversation_id == _threads(place)[0].id)
        texts = list(session.scalars(of_first))
    assert texts == [
        "user: Ann: I adopted a puppy from the shelter and called him Biscuit.\nassistant: Bob: Wow, how lovely!"
    ]


@pytest.mark.usefixtures("imported")
def test_importing_again_says_nothing_twice(place: Place, conversations: list[Conversation]) -> None:
    runtime, user_id = place
    import_conversations(runtime.sessions, user_id, conversations, keys=runtime.keys, now=LATER)
    assert [each.message_count for each in _threads(place)] == [3, 2]


@pytest.mark.usefixtures("imported")
def test_a_turn_that_came_later_follows_in_its_conversation(place: Place, conversations: list[Conversation]) -> None:
    runtime, user_id = place
    first = conversations[0]
    said_at = first.turns[0].said_at
    grown = replace(
        first,
        name="conv-grown",
        turns=(Turn("D1:1", "Ann", "The kiln is hot.", None, said_at),),
    )
    import_conversations(runtime.sessions, user_id, [grown], keys=runtime.keys, now=LATER)
    more = replace(grown, turns=(*grown.turns, Turn("D1:2", "Bob", "How hot?", None, said_at)))
    counts = import_conversations(runtime.sessions, user_id, [more], keys=runtime.keys, now=LATER)
    assert counts == Counts(created=1, skipped=1)
    with user_session(runtime.sessions, user_id) as session:
        thread = session.scalars(select(Thread).where(Thread.external_id == "conv-grown/session_1")).one()
        assert (thread.message_count, thread.episodes) == (2, 1)


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


def test_two_conversations_of_one_space_are_refused_before_a_turn_is_stored(place: Place) -> None:
    runtime, user_id = place
    talks = [
        Conversation(name, (Turn("D1:1", "Ann", said, None, LATER),), ())
        for name, said in {
            "first": "The kiln is hot.",
            "Trip 1": "Tom is a cat.",
            "trip-1": "The boat is Zephyr.",
        }.items()
    ]
    with pytest.raises(MeasureError, match="the talks 'Trip 1' and 'trip-1' would be in one space, trip-1"):
        import_conversations(runtime.sessions, user_id, talks, keys=runtime.keys, now=LATER)
    with user_session(runtime.sessions, user_id) as session:
        assert session.scalar(select(Space).where(Space.slug == "first")) is None


def test_a_talk_whose_space_has_another_talk_is_refused(place: Place) -> None:
    runtime, user_id = place

    def bring(name: str, said: str) -> Counts:
        talk = Conversation(name, (Turn("D1:1", "Ann", said, None, LATER),), ())
        return import_conversations(runtime.sessions, user_id, [talk], keys=runtime.keys, now=LATER)

    assert [bring("Trip 1", "Tom is a cat.").created for _ in range(2)] == [1, 0]
    with pytest.raises(MeasureError, match="'trip-1' would be in the space trip-1, which has 'Trip 1'"):
        bring("trip-1", "The boat is Zephyr.")
