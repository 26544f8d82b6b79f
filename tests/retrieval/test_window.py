"""Histories that fit: groups that stay together, windows, and what is kept from one history to the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from memory.clock import utc_now
from memory.conversations.conversations import open_conversation
from memory.messages.drafts import MessageDraft
from memory.messages.messages import Scribe, append
from memory.models import Conversation
from memory.spaces.spaces import get_space
from memory.storage.database import user_session
from retrieval.history import turns
from retrieval.history.recap import Recap, cut_to, usable
from retrieval.history.turns import Turn, fitting, groups, tool_ids
from retrieval.history.window import Answer, History, Wish, draft, finish
from retrieval.words.tokens import count

# --- groups -----------------------------------------------------------------------------------------------------------


def turn(sequence: int, role: str, calls: str = "", results: str = "", tokens: int = 1) -> Turn:
    return Turn(UUID(int=sequence), sequence, role, "", tokens, frozenset(calls), frozenset(results))


def thought(sequence: int) -> Turn:
    return replace(turn(sequence, "tool_call"), is_thought=True)


def grouped(*turns: Turn) -> list[list[int]]:
    """Return the sequence numbers of each group, the oldest first."""
    return [[each.sequence for each in group] for group in groups(reversed(turns))][::-1]


def test_plain_messages_stand_alone() -> None:
    assert grouped(turn(1, "user"), turn(2, "assistant"), turn(3, "user")) == [[1], [2], [3]]


def test_calls_without_ids_stay_with_the_results_after_them() -> None:
    roles = ["user", "tool_call", "tool_call", "tool_result", "tool_result", "tool_call", "tool_result", "assistant"]
    assert grouped(*(turn(n, role) for n, role in enumerate(roles, 1))) == [[1], [2, 3, 4, 5], [6, 7], [8]]


def test_results_that_come_out_of_order_stay_with_their_calls_by_id() -> None:
    found = grouped(
        turn(1, "tool_call", calls="a"),
        turn(2, "tool_call", calls="b"),
        turn(3, "tool_result", results="b"),
        turn(4, "tool_call", calls="c"),
        turn(5, "tool_result", results="a"),
        turn(6, "tool_result", results="c"),
        turn(7, "assistant"),
    )
    assert found == [[1, 2, 3, 4, 5, 6], [7]]


def test_a_call_and_its_result_may_stand_in_plain_messages() -> None:
    assert grouped(turn(1, "assistant", calls="a"), turn(2, "user", results="a"), turn(3, "user")) == [[1, 2], [3]]


def test_parallel_calls_with_ids_may_part_from_those_before() -> None:
    found = grouped(
        turn(1, "tool_call", calls="a"),
        turn(2, "tool_result", results="a"),
        turn(3, "tool_call", calls="b"),
        turn(4, "tool_result", results="b"),
    )
    assert found == [[1, 2], [3, 4]]


def test_a_thought_stays_with_what_comes_after_it() -> None:
    thoughts = [thought(n) for n in (2, 3, 6)]
    said = [turn(1, "user"), turn(4, "tool_call", calls="a"), turn(5, "tool_result", results="a"), turn(7, "assistant")]
    found = grouped(*sorted([*thoughts, *said], key=lambda each: each.sequence))
    assert found == [[1], [2, 3, 4, 5], [6, 7]]


@pytest.mark.parametrize(
    ("made", "largest"),
    [
        (thought, 64),
        (lambda n: turn(n, "tool_call"), 64),
        (lambda n: turn(n, "tool_result"), 64),
        # A search of the host's is a call with its result in itself.
        (lambda n: thought(n) if n % 2 else turn(n, "tool_call"), 2),
    ],
    ids=["thoughts", "calls", "results", "searches"],
)
def test_a_long_run_does_not_hold_everything(made: Callable[[int], Turn], largest: int) -> None:
    read = [made(n) for n in range(2000, 0, -1)]
    left = iter(read)
    assert len(fitting(groups(left), 100, 100)) > 0
    assert len(list(left)) > 1700
    assert {len(each) for each in groups(read)} <= {*range(1, largest + 1)}


def test_a_thought_stays_with_what_came_of_it_however_much_that_is() -> None:
    calls = [replace(turn(n, "tool_call"), calls=frozenset({str(n)})) for n in range(2, 52)]
    results = [replace(turn(n, "tool_result"), results=frozenset({str(n - 50)})) for n in range(52, 102)]
    assert [len(each) for each in grouped(thought(1), *calls, *results)] == [101]


def test_a_result_whose_call_is_nowhere_does_not_hold_everything() -> None:
    turns = [*(turn(n, "user") for n in range(1, 201)), turn(201, "tool_result", results="z")]
    found = grouped(*turns)
    assert found[0] == [1]
    assert len(found[-1]) < 70


ROLES = ["user", "assistant", "system", "tool_call", "tool_result"]
IDS = st.sets(st.sampled_from("abc"), max_size=2).map("".join)
TURNS = st.lists(st.tuples(st.sampled_from(ROLES), IDS, IDS, st.integers(0, 9)), max_size=25).map(
    lambda rows: [turn(n, *row) for n, row in enumerate(rows, 1)]
)


@settings(deadline=None)
@given(TURNS)
def test_groups_are_all_messages_in_their_order(turns: list[Turn]) -> None:
    assert [n for group in grouped(*turns) for n in group] == [each.sequence for each in turns]


@settings(deadline=None)
@given(TURNS, st.integers(0, 60), st.integers(0, 30))
def test_no_result_is_shown_without_a_call_that_is_there(turns: list[Turn], budget: int, most: int) -> None:
    shown = [each for group in fitting(groups(reversed(turns)), budget, most) for each in group]
    assert sum(each.token_count for each in shown) <= budget
    assert len(shown) <= most
    left = turns[: len(turns) - len(shown)]
    for place, each in enumerate(shown):
        for result in each.results:
            called_before = any(result in other.calls for other in shown[: place + 1])
            called_left = any(result in other.calls for other in left)
            assert called_before or not called_left


@pytest.mark.parametrize(
    ("payload", "calls", "results"),
    [
        ({"role": "assistant", "tool_calls": [{"id": "c1"}, {"id": "c2"}]}, {"c1", "c2"}, set()),
        ({"role": "tool", "tool_call_id": "c1", "content": "21"}, set(), {"c1"}),
        ({"role": "assistant", "content": [{"type": "text"}, {"type": "tool_use", "id": "t1"}]}, {"t1"}, set()),
        ({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1"}]}, set(), {"t1"}),
        ({"kind": "response", "parts": [{"part_kind": "tool-call", "tool_call_id": "p1"}]}, {"p1"}, set()),
        ({"kind": "request", "parts": [{"part_kind": "tool-return", "tool_call_id": "p1"}]}, set(), {"p1"}),
        ({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look_up"}, {"c1"}, set()),
        ({"type": "function_call_output", "id": "fco_1", "call_id": "c1", "output": "21"}, set(), {"c1"}),
        ({"type": "local_shell_call_output", "id": "c1", "output": "21"}, set(), {"c1"}),
        ({"type": "tool_search_output", "id": "tso_1", "call_id": None, "tools": []}, set(), set()),
        ({"type": "mcp_approval_request", "id": "a1", "name": "feed"}, {"a1"}, set()),
        ({"type": "mcp_approval_response", "approval_request_id": "a1", "approve": True}, set(), {"a1"}),
        ({"type": {}, "tool_calls": [{"id": {"no": "id"}}, 7], "content": "tool"}, set(), set()),
        (["tool"], set(), set()),
        (None, set(), set()),
    ],
)
def test_ids_of_tools_are_found_in_every_form(payload: Any, calls: set[str], results: set[str]) -> None:
    assert tool_ids(payload) == (calls, results)


# --- summaries of a model ---------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.text(max_size=300), st.integers(0, 60))
def test_a_cut_summary_fits_and_is_a_beginning(text: str, room: int) -> None:
    cut = cut_to(text, room)
    assert count(cut) <= room
    assert text.startswith(cut)


def test_a_summary_is_cut_after_a_sentence() -> None:
    text = "Ada keeps nine hives. Tom helps her on Sundays. They sell honey in Basel."
    assert cut_to(text, count(text) - 3) == "Ada keeps nine hives. Tom helps her on Sundays."


def test_the_longest_recap_that_goes_no_further_is_usable() -> None:
    recaps = [Recap(upto, "", "tiny") for upto in (10, 40, 20)]
    assert [found.upto if (found := usable(recaps, upto)) else None for upto in (9, 25, 40, 99)] == [None, 20, 40, 40]


# --- whole histories --------------------------------------------------------------------------------------------------


class Shelf:
    """Conversations of one person, and histories of them."""

    def __init__(self, runtime: Any, person: Any) -> None:
        self.runtime, self.user_id = runtime, person.id

    def session(self) -> Any:
        return user_session(self.runtime.sessions, self.user_id)

    def conversation(self, messages: list[tuple[str, str]], payload: Any = None) -> UUID:
        scribe = Scribe(self.runtime.keys, count, utc_now(), "test", "-")
        with self.session() as session:
            space = get_space(session, self.user_id, "default")
            opened, _ = open_conversation(session, self.user_id, space, now=utc_now(), actor="test")
            drafts = [MessageDraft(role, content, payload=payload) for role, content in messages]
            append(session, self.user_id, opened.id, drafts, scribe)
            return opened.id

    def history(self, conversation_id: UUID, wish: Wish, kept: Any, **models: Any) -> tuple[History, Any]:
        said = models.pop("said", None)
        with self.session() as session:
            conversation = session.get_one(Conversation, (self.user_id, conversation_id))
            return finish(draft(session, conversation, wish, kept=kept, **models), Answer(said))


@pytest.fixture
def shelf(runtime: Any, ada: Any) -> Shelf:
    return Shelf(runtime, ada)


VOCABULARY = (
    "bees",
    "hive",
    "Basel",
    "queen",
    "seven",
    "4",
    "honey",
    "of",
    "Tom?",
    "yes!",
    "<|endoftext|>",
    "\U0001f41d",
)
WORDS = st.lists(st.sampled_from(VOCABULARY))
CONTENT = st.tuples(st.sampled_from(ROLES), WORDS.map(lambda words: " ".join(["So", *words])))
WISHES = st.builds(
    Wish,
    st.sampled_from(["truncate", "window", "summarise", "hybrid"]),
    st.integers(1, 300),
    st.none() | st.integers(1, 12),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    messages=st.lists(CONTENT, min_size=1, max_size=30),
    wishes=st.lists(st.tuples(WISHES, st.none() | st.just("Notes. " * 30)), min_size=1, max_size=3),
)
def test_whatever_is_asked_the_history_fits_and_leaves_no_gap(
    shelf: Shelf, messages: list[tuple[str, str]], wishes: list[tuple[Wish, str | None]]
) -> None:
    conversation_id, kept = shelf.conversation(messages), {}
    for wish, said in wishes:
        history, kept = shelf.history(conversation_id, wish, kept, chat_model="tiny" if said else None, said=said)
        shown = [(each.role, each.content) for each in history.messages]
        assert shown == messages[len(messages) - len(shown) :]
        assert history.left_out == len(messages) - len(shown)
        total = sum(count(content) for _, content in shown)
        if history.summary is not None:
            assert history.summary.upto == history.left_out
            assert history.summary.text
            total += count(history.summary.text)
        assert history.token_count == total <= wish.token_budget
        assert len(shown) <= (wish.max_messages or 50)


@pytest.fixture
def long(shelf: Shelf) -> Callable[..., tuple[History, Any]]:
    messages = [(("user", "assistant")[n % 2], f"Sentence {n} tells of place {n % 7} in detail.") for n in range(80)]
    conversation_id = shelf.conversation(messages)

    def history(kept: Any, budget: int = 300, **models: Any) -> tuple[History, Any]:
        return shelf.history(conversation_id, Wish("hybrid", budget), kept, **models)

    return history


def test_no_more_is_read_at_once_than_one_message_may_have(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "LARGEST_PAYLOAD", 5_000)
    told = shelf.conversation([("user", "Look")] * 7, {"tool": "x" * 2_000})
    pages: list[int] = []
    with shelf.session() as session:
        conversation = session.get_one(Conversation, (shelf.user_id, told))
        event.listen(session, "do_orm_execute", lambda state: pages.append(0) if state.is_select else None)
        read = []
        for each in turns.read_turns(session, conversation, 7):
            pages[-1] += 1
            read.append(each.sequence)
    assert read == [7, 6, 5, 4, 3, 2, 1]
    assert pages == [3, 3, 1]


def test_what_another_version_kept_is_left_alone(long: Callable[..., tuple[History, Any]]) -> None:
    history, kept = long({"form": 99, "extracts": "of another shape", "recaps": [7]})
    assert history.summary is not None
    assert kept["form"] == 1


def test_what_is_kept_is_enough_and_nothing_is_read_twice(long: Callable[..., tuple[History, Any]]) -> None:
    first, kept = long({})
    again, same = long(kept)
    assert (again, same) == (first, kept)


def test_another_model_is_asked_anew(long: Callable[..., tuple[History, Any]]) -> None:
    first, kept = long({}, chat_model="tiny", said="Notes of tiny.")
    second, kept = long(kept, chat_model="large", said="Notes of large.")
    assert [each.summary.text for each in (first, second) if each.summary] == ["Notes of tiny.", "Notes of large."]
    third, _ = long(kept, chat_model="tiny")
    assert third.summary is not None
    assert (third.summary.method, third.summary.text) == ("model", "Notes of tiny.")


def test_of_endless_notes_no_more_is_kept_than_is_shown(long: Callable[..., tuple[History, Any]]) -> None:
    _, kept = long({}, chat_model="tiny", said="Notes without end. " * 50_000)
    assert [count(each["text"]) <= 600 for each in kept["recaps"]] == [True]


def test_only_a_few_summaries_are_kept(long: Callable[..., tuple[History, Any]]) -> None:
    kept: Any = {}
    for budget in range(100, 400, 30):
        _, kept = long(kept, budget)
    assert len(kept["extracts"]) == 4
