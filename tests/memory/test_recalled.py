"""What comes back of what was recalled is known, and what people say themselves stays."""

from __future__ import annotations

import json
import textwrap
import time
from datetime import timedelta
from types import SimpleNamespace
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import event
from sqlalchemy import text as sql

from memory.clock import utc_now
from memory.conversations.conversations import open_conversation
from memory.drafts.drafts import Draft
from memory.drafts.recalled import MOST_AT_ONCE, MOST_LINES, Stripped, strip_all_recalled, strip_recalled
from memory.forgetting.forget import forget
from memory.ids import new_id
from memory.messages.drafts import MessageDraft
from memory.messages.messages import Scribe, append
from memory.models import Conversation, Episode, Message
from memory.record.journal import record_tool_call
from memory.spaces.spaces import get_space
from memory.texts.fingerprints import folded
from memory.texts.markers import BLOCK, closing, is_marked, opening, without_marked
from memory.writing.remember import remember_many

FENCE = "3f9c2a7b10d84e56"
OTHER = "77aa11bb22cc33dd"
TEA = "Ada drinks green tea in the morning"
LONG = "The release train leaves on the second Tuesday of each month, unless the auditors ask for a freeze before it"


def block(*texts: str, fence: str = FENCE) -> str:
    lines = [opening(BLOCK, fence), "Memories recalled from earlier."]
    for text in texts:
        lines += [opening("memory", fence, f'id="{uuid4()}" type="fact"'), text, closing("memory", fence)]
    return "\n".join([*lines, closing(BLOCK, fence)])


# Marks


@pytest.mark.parametrize(
    "form",
    [
        lambda text: text,
        lambda text: textwrap.indent(text, "> "),
        lambda text: textwrap.indent(text, "    "),
        lambda text: textwrap.indent(text, "> > "),
        lambda text: textwrap.fill(text, 28),
        lambda text: textwrap.indent(textwrap.fill(text, 28), "> "),
        lambda text: text.replace("<", "&lt;").replace(">", "&gt;"),
        lambda text: text.replace("<", "&amp;lt;").replace(">", "&amp;gt;"),
        lambda text: json.dumps(text)[1:-1].replace("<", "\\u003c").replace(">", "\\u003e"),
        lambda text: f"```\n{text}\n```",
        lambda text: " ".join(text.splitlines()),
        lambda text: text.upper(),
    ],
)
def test_a_block_is_known_however_a_client_shows_it(form):
    said = f"Look at this:\n\n{form(block(TEA, LONG))}\n\nIs that still true?"
    assert without_marked(said).split() == ["Look", "at", "this:", "Is", "that", "still", "true?"]


def test_what_stands_between_two_blocks_stays():
    said = f"First\n{block(TEA)}\nsecond\n{block(TEA)}\nthird\n{block(LONG, fence=OTHER)}"
    assert without_marked(said).split() == ["First", "second", "third"]


def test_one_quoted_entry_is_known():
    entry = "\n".join(block(TEA).splitlines()[2:5])
    assert without_marked(f"You said {entry} but I drink coffee").split() == [
        "You",
        "said",
        "but",
        "I",
        "drink",
        "coffee",
    ]


def test_a_block_without_its_end_is_known_to_the_end_of_its_entries():
    cut = block(TEA).removesuffix("\n" + closing(BLOCK, FENCE))
    assert without_marked(f"{cut}\nI drink coffee") == "I drink coffee"


def test_a_block_cut_within_an_entry_takes_the_rest_along():
    cut = block(TEA, LONG)[:-80]
    assert without_marked(f"Mind this\n{cut}") == "Mind this"


def test_a_block_without_its_beginning_takes_its_paragraph_along():
    cut = "\n".join(block(TEA).splitlines()[3:])
    assert without_marked(f"I said\n\n{cut}\nyesterday") == "I said\n\nyesterday"


def test_a_text_of_nothing_but_a_block_leaves_nothing():
    assert without_marked(f"```xml\n{block(TEA)}\n```\n***") == ""


@pytest.mark.parametrize(
    "text",
    [
        "What does <recalled-memories> mean?",
        "<memory leakage id='x'>",
        "a </memory allocation> b",
        "<group something tag=1>",
        "  keeps its\n\n\n\nwhite space ",
    ],
)
def test_other_text_is_not_touched(text):
    assert without_marked(text) == text


@given(
    st.lists(st.sampled_from([*block(TEA).splitlines(keepends=True), "> ", "\n\n", "said ", "</memory "]), max_size=12)
)
def test_what_is_left_has_no_marks(parts):
    assert not is_marked(without_marked("".join(parts)))


def test_hostile_texts_cost_no_time():
    started = time.thread_time()
    for text in ("<memory" + " " * 60_000, " " * 60_000 + block(TEA), "\n" * 60_000 + block(TEA), "<memory " * 8_000):
        without_marked(text)
    assert time.thread_time() - started < 2


# Digests


@pytest.fixture
def desk(book):
    return Desk(book)


class Desk:
    """A person's memories, and calls that recall some of them."""

    def __init__(self, book) -> None:
        self.book = book

    def recall(self, *texts: str, tool: str = "memory_search", ago: timedelta = timedelta(minutes=5), **fields):
        ids = [self.book.write(text).id for text in texts]
        self.call(ids, tool, ago, **fields)
        return ids

    def call(self, ids, tool="memory_search", ago=timedelta(minutes=5), **fields) -> None:
        call = {"correlation_id": "-", "duration_ms": 1.0, "success": True, "arguments": {}, "hits": len(ids), **fields}
        call |= {"tool": tool, "affected_ids": ids, "created_at": utc_now() - ago}
        with self.book.session() as session:
            record_tool_call(session, self.book.user_id, **call)

    def heard(self, text: str) -> Stripped:
        with self.book.session() as session:
            return strip_recalled(session, self.book.user_id, text, now=utc_now())


@pytest.mark.parametrize(
    "form",
    [
        TEA,
        f"- {TEA}",
        f"1. {TEA}",
        f'> "{TEA}"',
        f"* **{TEA}**",
        TEA.upper(),
        textwrap.fill(TEA, 12),
        textwrap.indent(textwrap.fill(TEA, 12), "> "),
        json.dumps({"results": [{"id": "1", "content_snippet": TEA, "score": 0.4}]}, indent=2),
        f"```json\n{json.dumps([TEA])}\n```",
        f'"content_snippet": "{TEA}",',
    ],
)
def test_a_recalled_memory_is_known_in_every_form_of_a_list(desk, form):
    desk.recall(TEA)
    assert desk.heard(f"Here you are:\n{form}\nRight?").text.split() == ["Here", "you", "are:", "Right?"]


def test_calls_that_recalled_nothing_are_not_read_for_a_message(desk):
    desk.recall(TEA)
    told = """
        INSERT INTO tool_calls (user_id, id, correlation_id, tool, origin, success, created_at)
        SELECT :user_id, uuidv7(), '', 'read_file', 'history', true, now() FROM generate_series(1, 3000)
    """
    statements = []
    note = lambda *args: statements.append(args[2:4])  # noqa: E731 - to be taken away again
    with desk.book.session() as session:
        session.execute(sql(told), {"user_id": desk.book.user_id})
        event.listen(session.connection(), "before_cursor_execute", note)
        assert strip_recalled(session, desk.book.user_id, TEA, now=utc_now()).recalled
        event.remove(session.connection(), "before_cursor_execute", note)
        asked, values = next(each for each in statements if "FROM tool_calls" in each[0])
        (plan,) = session.connection().exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {asked}", values).one()
        session.rollback()
    assert "Rows Removed by Filter" not in str(plan)


def test_nothing_is_left_of_an_answer_in_json(desk):
    desk.recall(TEA)
    assert desk.heard(json.dumps({"results": [{"content_snippet": TEA}]})) == Stripped("", True)


def test_a_memory_of_several_lines_is_known(desk):
    desk.recall("Shopping:\n- milk\n- eggs\n\nBefore Friday")
    assert desk.heard("My list\nShopping:\n- milk\n- eggs\n\nBefore Friday\nThanks").text == "My list\nThanks"


def test_a_long_memory_of_many_lines_is_known(desk):
    memory = "\n".join(f"step {n}" for n in range(30))
    desk.recall(memory)
    assert desk.heard(f"{memory}\nI did all of that").text == "I did all of that"


def test_a_snippet_that_a_budget_has_cut_is_known(desk):
    desk.recall(LONG)
    assert desk.heard(f"- {LONG[:62]}…\nand you?").text == "and you?"


def test_a_beginning_too_short_to_tell_stays(desk):
    desk.recall(LONG)
    assert desk.heard("The release train leaves") == Stripped("The release train leaves", False)


def test_a_memory_archived_since_is_known(desk):
    (memory_id,) = desk.recall(LONG)
    with desk.book.session() as session:
        session.execute(_archive(memory_id))
    assert desk.heard(LONG) == Stripped("", True)


def test_a_summary_shown_in_place_of_a_memory_is_known(desk):
    (memory_id,) = desk.recall(LONG)
    desk.book.write("Releases are monthly", type="summary", source_ids=(str(memory_id), "mail-7"))
    assert desk.heard("Releases are monthly") == Stripped("", True)


def test_what_an_episode_said_is_known(desk):
    episode = make_episode(desk.book, "I moved to Porto last spring and like the river", "How nice")
    desk.call([episode.id], tool="episode_search")
    assert desk.heard("> I moved to Porto last spring and like the river\nNow I live in Faro").text == (
        "Now I live in Faro"
    )


def test_a_memory_read_one_by_one_is_known(desk):
    desk.recall(TEA, tool="memory_get", hits=None)
    assert desk.heard(TEA).recalled


@pytest.mark.parametrize(
    "said",
    [
        "In the morning I drink green tea",
        f"{TEA}, and black tea at noon",
        f"I think that {TEA}",
        "I drink no tea",
    ],
)
def test_words_of_ones_own_stay(desk, said):
    desk.recall(TEA)
    assert desk.heard(said) == Stripped(said, False)


@pytest.mark.parametrize(
    "call",
    [
        {"ago": timedelta(hours=25)},
        {"ago": timedelta(hours=-1)},
        {"success": False},
        {"tool": "memory_add", "hits": None},
        {"origin": "external"},
    ],
)
def test_what_was_not_recalled_lately_is_said(desk, call):
    desk.recall(TEA, LONG, **call)
    assert desk.heard(f"{TEA}\n{LONG}") == Stripped(f"{TEA}\n{LONG}", False)


def test_what_another_user_recalled_is_said(desk, bobs_book):
    Desk(bobs_book).recall(TEA)
    desk.recall("something else")
    assert desk.heard(TEA) == Stripped(TEA, False)


def test_a_forgotten_memory_is_not_known_by_its_text(desk, runtime):
    (memory_id,) = desk.recall(TEA)
    desk.book.do(forget, memory_id)
    assert desk.heard(TEA) == Stripped(TEA, False)


def test_half_a_surrogate_pair_in_json_is_no_obstacle(desk):
    desk.recall(TEA)
    assert desk.heard(json.dumps({"a": "\ud800", "b": TEA})) == Stripped("", True)


@pytest.mark.parametrize(
    "line",
    [
        f'"a": "b"{" " * 60_000}x',
        f'"a": "{"b" * 60_000}',
        f'"a": "{chr(92) * 60_001}',
        f'"a":{" " * 60_000}',
        "> " * 30_000,
    ],
)
def test_a_hostile_line_costs_no_time_where_something_was_recalled(desk, line):
    desk.recall(TEA)
    started = time.thread_time()
    assert not desk.heard(line).recalled
    assert time.thread_time() - started < 2


def test_an_ordinary_message_takes_a_few_milliseconds(desk):
    for n in range(60):
        desk.recall(f"{n}: {LONG} {n}", f"{n}: {TEA}")
    message = "\n".join(f"I went to the market on day {n} and bought bread and cheese." for n in range(10))
    desk.heard(message)
    with desk.book.session() as session:
        started = time.thread_time()
        for _ in range(10):
            strip_recalled(session, desk.book.user_id, message, now=utc_now())
        assert time.thread_time() - started < 0.3


def test_long_lines_cost_no_more_than_to_be_read_a_few_times(desk):
    desk.recall(TEA)
    line = " ".join(["We walked to the market and bought bread"] * 130)
    message = "\n".join(f'- "{n} {line}"' for n in range(MOST_LINES))
    started = time.thread_time()
    for _ in range(3):
        folded(message)
    read = time.thread_time() - started
    started = time.thread_time()
    assert not desk.heard(message).recalled
    spent = time.thread_time() - started
    assert spent < 6 * read


@pytest.mark.parametrize("lines", [30, MOST_LINES - 1])
def test_a_long_memory_of_many_lines_is_known_at_either_end(desk, lines):
    memory = "\n".join(f"step {n}: \ufdfa" for n in range(lines))
    desk.recall(memory)
    assert desk.heard(f"I did this\n{memory}").text == "I did this"
    assert desk.heard(f"{memory}\nI did this").text == "I did this"


# Many at once


def test_each_of_many_texts_is_heard_as_by_itself(desk):
    desk.recall(TEA, LONG)
    long = "\n".join(f"Line {n} of what I wrote" for n in range(MOST_LINES))
    texts = [f"- {TEA}", long, f"> {LONG[:60]}...", "", "I drink tea", f"{long}\n{TEA}"] * 8
    with desk.book.session() as session:
        heard = strip_all_recalled(session, desk.book.user_id, texts, now=utc_now())
    assert len(texts) // 3 * 10 * MOST_LINES > MOST_AT_ONCE
    assert heard == [desk.heard(text) for text in texts[:6]] * 8


def test_a_call_with_many_messages_asks_no_more_often_than_one_with_few(desk):
    desk.recall(TEA, LONG)
    conversation_id = open_conversation_of(desk.book)

    def statements(count):
        asked, note = [], lambda *statement: asked.append(statement[2])
        drafts = [MessageDraft(("user", "assistant")[n % 2], f"I see, {LONG[9:]} {n}") for n in range(count)]
        with desk.book.session() as session:
            event.listen(session.get_bind(), "before_cursor_execute", note)
            append(session, desk.book.user_id, conversation_id, drafts, scribe_of(desk.book))
            event.remove(session.get_bind(), "before_cursor_execute", note)
        return len(asked)

    assert statements(4) == statements(60)


def test_what_was_said_before_it_was_recalled_stays_ones_own(desk):
    conversation_id = open_conversation_of(desk.book)
    say(desk.book, conversation_id, MessageDraft("user", TEA))
    desk.recall(TEA)
    say(desk.book, conversation_id, MessageDraft("user", f"- {TEA}"), MessageDraft("assistant", "Noted"))
    assert desk.book.all("SELECT searched FROM episodes") == [f"user: {TEA}\nassistant: Noted"]
    # In the very words.
    say(desk.book, conversation_id, MessageDraft("user", LONG))
    desk.recall(LONG)
    say(desk.book, conversation_id, MessageDraft("user", LONG), MessageDraft("assistant", "Again"))
    assert desk.book.one("SELECT searched FROM episodes ORDER BY id DESC").count(LONG) == 1


def scribe_of(book) -> Scribe:
    return Scribe(book.runtime.keys, lambda text: len(text.split()), utc_now(), "test", "-")


def say(book, conversation_id, *drafts) -> None:
    with book.session() as session:
        append(session, book.user_id, conversation_id, drafts, scribe_of(book))


def open_conversation_of(book):
    with book.session() as session:
        space = get_space(session, book.user_id, "default")
        return open_conversation(session, book.user_id, space, now=utc_now(), actor="test")[0].id


# Growing by being found


def paste(desk, runtime, text: str) -> None:
    """Remember of a message what its author said, as a conversation does."""
    with desk.book.session() as session:
        said = strip_recalled(session, desk.book.user_id, text, now=utc_now())
        if said.text:
            draft = Draft(said.text)
            remember_many(
                session, desk.book.user_id, "default", [draft], keys=runtime.keys, now=utc_now(), actor="test"
            )


def test_a_conversation_of_pasted_memories_grows_none(desk, runtime):
    desk.recall(TEA, LONG)
    for n in range(100):
        paste(desk, runtime, [block(TEA, LONG), f"- {TEA}\n- {LONG}", TEA, f"> {LONG[:70]}..."][n % 4])
    assert desk.book.all("SELECT repeat_count FROM memories") == [0, 0]


def test_the_write_path_refuses_nothing_but_marked_text(desk):
    outcome = desk.book.write(block(TEA))
    assert (outcome.outcome, outcome.refusal, desk.book.one("SELECT count(*) FROM memories")) == (
        "refused",
        "recalled",
        0,
    )


def test_the_write_path_keeps_what_stands_beside_marked_text(desk):
    desk.book.write(f"{block(TEA)}\nI drink coffee now")
    assert desk.book.all("SELECT text FROM memories") == ["I drink coffee now"]


def test_a_plain_repeat_is_counted_by_the_write_path(desk):
    desk.recall(TEA)
    desk.book.write(TEA)
    assert desk.book.one("SELECT repeat_count FROM memories") == 1


def _archive(memory_id):
    from sqlalchemy import text

    return text("UPDATE memories SET status = 'archived' WHERE id = :id").bindparams(id=memory_id)


def make_episode(book, said: str, reply: str) -> SimpleNamespace:
    """Store one exchange."""
    ids, now = [new_id() for _ in range(4)], utc_now()
    with book.session() as session:
        space_id = book_space(session, book)
        owner = {"user_id": book.user_id, "created_at": now}
        session.add(
            Conversation(**owner, id=ids[0], external_id=str(ids[0]), space_id=space_id, extra={}, updated_at=now)
        )
        session.flush()
        for number, (role, content) in enumerate((("user", said), ("assistant", reply))):
            message = {"conversation_id": ids[0], "sequence": number + 1, "token_count": 1, "correlation_id": "-"}
            session.add(Message(**owner, id=ids[number + 1], role=role, content=content, **message))
        session.flush()
        whole = f"{said}\n{reply}"
        turn = {"conversation_id": ids[0], "message_id": ids[1], "reply_id": ids[2], "text": whole, "searched": whole}
        session.add(Episode(**owner, id=ids[3], **turn))
    return SimpleNamespace(conversation_id=ids[0], id=ids[3])


def book_space(session, book, slug: str = "default"):
    from memory.spaces.spaces import get_space

    return get_space(session, book.user_id, slug).id
