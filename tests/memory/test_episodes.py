"""Episodes: which messages make one, what it says, what is searched, and when it is embedded anew."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import text as sql

from memory.clock import utc_now
from memory.conversations.conversations import delete_conversation, open_conversation
from memory.conversations.episodes import LONGEST_CONTEXT, LONGEST_SEARCHED, LONGEST_TEXT, MOST_WAITING
from memory.embedding.cache import Drawer, SharedVectors
from memory.messages.drafts import MessageDraft
from memory.messages.messages import Scribe, append
from memory.models import Conversation, Episode
from memory.space_removal.removal import remove_space
from memory.spaces.spaces import get_space

EARLY = datetime(2024, 5, 1, 10, tzinfo=UTC)


class Chat:
    """One conversation of the book's owner."""

    def __init__(self, book):
        self.book = book
        with book.session() as session:
            space = get_space(session, book.user_id, "default")
            conversation, _ = open_conversation(session, book.user_id, space, now=utc_now(), actor="test")
            self.id = conversation.id

    def add(self, *drafts, now=None):
        scribe = Scribe(self.book.runtime.keys, lambda text: len(text.split()), now or utc_now(), "test", "-")
        with self.book.session() as session:
            appended = append(session, self.book.user_id, self.id, drafts, scribe)
            return [(item.message.id, item.outcome) for item in appended.stored]

    def say(self, *words, **fields):
        """Append messages: "u: …" the user's, "a: …" the assistant's, "s: …", "c: …" and "r: …" the others'."""
        roles = {"u": "user", "a": "assistant", "s": "system", "c": "tool_call", "r": "tool_result"}
        split = [word.partition(": ") for word in words]
        return self.add(*(MessageDraft(roles[role], content, **fields) for role, _, content in split))

    def episodes(self):
        with self.book.session() as session:
            found = session.query(Episode).filter(Episode.conversation_id == self.id).order_by(Episode.id).all()
            session.expunge_all()
            return found

    def texts(self):
        return [episode.text for episode in self.episodes()]


@pytest.fixture
def chat(book):
    return Chat(book)


# --- which messages make one ------------------------------------------------------------------------------------------


def test_a_question_and_its_reply_are_one(chat):
    chat.say("u: Where is the key?", "a: Under the mat.")
    assert chat.texts() == ["user: Where is the key?\nassistant: Under the mat."]


@pytest.mark.parametrize("together", [True, False])
def test_messages_make_the_same_episodes_one_by_one_or_together(chat, together):
    said = ("u: One", "a: Uno", "u: Two", "u: Three", "a: Dos y tres", "a: I mean it", "u: Four")
    if together:
        chat.say(*said)
    else:
        for message in said:
            chat.say(message)
    assert chat.texts() == [
        "user: One\nassistant: Uno",
        "user: Two\nuser: Three\nassistant: Dos y tres\nassistant: I mean it",
    ]


def test_tools_and_system_messages_stand_between(chat):
    chat.say(
        "u: What is the weather?",
        "s: Be brief",
        "c: weather()",
        "r: rain",
        "a: It rains.",
        "c: x()",
        "r: y",
        "a: Still.",
    )
    assert chat.texts() == ["user: What is the weather?\nassistant: It rains.\nassistant: Still."]


def test_without_a_reply_there_is_none(chat):
    chat.say("u: Hello?", "c: listen()", "r: silence", "s: nobody")
    assert chat.episodes() == []


def test_a_greeting_before_any_question_is_none(chat):
    chat.say("a: Good morning", "a: How can I help?", "u: Where is the key?", "a: Under the mat.")
    assert chat.texts() == ["user: Where is the key?\nassistant: Under the mat."]


def test_a_reply_without_words_is_no_reply_yet(chat):
    chat.say("u: Look at this")
    chat.add(MessageDraft("assistant", "", payload={"image": 1}))
    assert chat.episodes() == []
    chat.say("a: I see it")
    assert chat.texts() == ["user: Look at this\nassistant: I see it"]


def test_a_question_without_words_is_a_turn_of_its_own(chat):
    chat.say("u: Where is the key?", "a: Under the mat.")
    chat.add(MessageDraft("user", "", payload={"image": 1}))
    chat.say("a: What a lovely picture")
    assert chat.texts() == ["user: Where is the key?\nassistant: Under the mat.", "assistant: What a lovely picture"]


def test_an_episode_names_its_first_question_its_first_reply_and_the_episode_before(chat):
    ids = [
        message_id for message_id, _ in chat.say("u: One", "u: And two", "a: Uno y dos", "a: So", "u: Three", "a: Tres")
    ]
    first, second = chat.episodes()
    assert (first.message_id, first.reply_id, first.previous_id) == (ids[0], ids[2], None)
    assert (second.message_id, second.reply_id, second.previous_id) == (ids[4], ids[5], first.id)


def test_an_episode_is_as_old_as_its_question(chat):
    chat.add(
        MessageDraft("user", "One", created_at=EARLY), MessageDraft("assistant", "Uno", created_at=EARLY + timedelta(1))
    )
    assert chat.episodes()[0].created_at == EARLY


def test_conversations_do_not_mix(book, chat):
    other = Chat(book)
    chat.say("u: One")
    other.say("u: Two", "a: Dos")
    chat.say("a: Uno")
    other.say("a: Indeed")
    assert (chat.texts(), other.texts()) == (
        ["user: One\nassistant: Uno"],
        ["user: Two\nassistant: Dos\nassistant: Indeed"],
    )


def test_ids_follow_the_order_though_a_clock_went_back(chat, book, owner):
    chat.say("u: One", "a: Uno")
    with owner.begin() as connection:
        # As a writer whose clock is a year ahead would have made it.
        connection.execute(
            sql("UPDATE episodes SET id = cast('0f' || substr(id::text, 3) AS uuid) WHERE user_id = :user"),
            {"user": book.user_id},
        )
    chat.say("u: Two", "a: Dos", "a: Indeed")
    assert chat.texts() == ["user: One\nassistant: Uno", "user: Two\nassistant: Dos\nassistant: Indeed"]


# --- what is searched -------------------------------------------------------------------------------------------------


def test_the_turn_before_helps_to_find_and_is_not_shown(chat):
    chat.say("u: Who feeds the heron?", "a: Marta does.", "u: How often?", "a: Twice a day.")
    second = chat.episodes()[1]
    assert second.text == "user: How often?\nassistant: Twice a day."
    assert (
        second.searched
        == "user: Who feeds the heron?\nassistant: Marta does.\nuser: How often?\nassistant: Twice a day."
    )


def test_of_a_long_turn_before_its_end_helps_from_a_whole_word_on(chat):
    chat.say("u: " + " ".join(f"word{n}" for n in range(500)), "a: Indeed.", "u: And?", "a: No.")
    context, _, rest = chat.episodes()[1].searched.partition("\nuser: And?")
    assert rest == "\nassistant: No."
    assert len(context) <= LONGEST_CONTEXT
    assert context.startswith("word")
    assert context.endswith("word499\nassistant: Indeed.")


def test_the_words_of_an_episode_are_in_the_keyword_index_once(chat, book):
    chat.say("u: Who feeds the heron?", "a: Marta.")
    chat.say("a: And sometimes Marta's brother.")
    counted = sql(
        """SELECT (SELECT tf FROM episode_postings WHERE user_id = :user AND lexeme = 'marta'),
        (SELECT count(*) FROM episode_postings WHERE user_id = :user AND lexeme = 'heron'),
        episodes, tokens_indexed = (SELECT sum(tf) FROM episode_postings WHERE user_id = :user)
        FROM conversations WHERE user_id = :user"""
    )
    with book.session() as session:
        assert session.execute(counted, {"user": book.user_id}).one() == (2, 1, 1, True)


def test_a_very_long_turn_keeps_its_beginning_and_its_end(chat):
    chat.say("u: The question", *(f"a: Step {n} {'of many ' * 100}" for n in range(100)), "a: The conclusion")
    episode = chat.episodes()[0]
    for told, longest in ((episode.text, LONGEST_TEXT), (episode.searched, LONGEST_SEARCHED)):
        assert longest - 1 <= len(told) <= longest
        assert told.startswith("user: The question\nassistant: Step 0")
        assert told.endswith("\nassistant: The conclusion")
        assert told.count("\n…\n") == 1


def test_a_user_who_talks_for_long_makes_one_turn(chat):
    for _ in range(3):
        chat.say(*(f"u: Thought {n}" for n in range(MOST_WAITING)))
    chat.say("a: I see")
    assert chat.texts()[0].count("user: ") == MOST_WAITING
    chat.say("u: Good", "a: Yes")
    assert chat.texts()[1] == "user: Good\nassistant: Yes"


# --- changed and embedded anew ----------------------------------------------------------------------------------------


def vectors(book):
    statement = sql("SELECT state, version FROM episode_embeddings WHERE user_id = :user ORDER BY item_id")
    with book.session() as session:
        return [tuple(row) for row in session.execute(statement, {"user": book.user_id})]


@pytest.fixture
def embedded(book):
    """Let the owner's model be known, so that vectors are asked for."""
    book.runtime.backfill.adopt(book.user_id)


def test_a_vector_is_asked_for_with_the_episode(chat, book, embedded):
    chat.say("u: One", "a: Uno")
    assert vectors(book) == [("pending", 1)]


def test_an_episode_that_grows_is_embedded_and_enriched_anew(chat, book, embedded, owner):
    chat.say("u: One", "a: Uno")
    with owner.begin() as connection:
        done = "UPDATE episodes SET needs_embedding = false, needs_enrichment = false WHERE user_id = :user"
        connection.execute(sql(done), {"user": book.user_id})
    chat.say("a: Or so they say")
    episode = chat.episodes()[0]
    assert (episode.version, episode.needs_embedding, episode.needs_enrichment) == (2, True, True)
    assert vectors(book) == [("pending", 2)]


def test_a_question_alone_changes_no_episode(chat):
    chat.say("u: One", "a: Uno")
    chat.say("u: Two")
    assert [episode.version for episode in chat.episodes()] == [1]


def test_a_completed_reply_rewrites_its_episode_and_the_context_of_the_next(chat):
    def part(text, partial):
        return MessageDraft("assistant", text, client_id="r", partial=partial)

    chat.say("u: Who feeds the heron?")
    chat.add(part("Mar", True))
    chat.say("a: Sorry, I was cut.", "u: How often?", "a: Twice a day.")
    assert chat.add(part("Marta does.", False))[0][1] == "completed"
    first, second = chat.episodes()
    assert first.text == "user: Who feeds the heron?\nassistant: Marta does.\nassistant: Sorry, I was cut."
    assert second.searched.startswith(first.text)
    assert (second.text, first.needs_embedding, second.needs_embedding) == (
        "user: How often?\nassistant: Twice a day.",
        True,
        True,
    )


def test_a_second_reply_that_is_completed_is_told_in_its_place(chat):
    chat.say("u: One", "u: And two", "a: Uno")
    chat.add(MessageDraft("assistant", "Do", client_id="r", partial=True))
    chat.say("u: Three", "a: Tres")
    chat.add(MessageDraft("assistant", "Dos", client_id="r"))
    assert chat.texts() == ["user: One\nuser: And two\nassistant: Uno\nassistant: Dos", "user: Three\nassistant: Tres"]


def test_a_completed_greeting_is_still_none(chat):
    chat.add(MessageDraft("assistant", "Good", client_id="r", partial=True))
    chat.add(MessageDraft("assistant", "Good morning", client_id="r"))
    assert chat.episodes() == []


def test_embedding_an_episode_does_not_wait_for_its_conversation(chat, book):
    """A worker locks episodes and never a conversation, which an append locks before them."""
    chat.say("u: One", "a: Uno")
    with book.session() as writer:
        locked = sql("SELECT 1 FROM conversations WHERE user_id = :user FOR UPDATE")
        writer.execute(locked, {"user": book.user_id})
        with book.session() as worker:
            worker.execute(sql("SET LOCAL lock_timeout = '2s'"))
            done = sql("UPDATE episodes SET needs_embedding = false WHERE user_id = :user")
            assert worker.execute(done, {"user": book.user_id}).rowcount == 1


def test_episodes_go_with_their_conversation(chat, book, embedded):
    chat.say("u: One", "a: Uno")
    with book.session() as session:
        delete_conversation(session, book.user_id, chat.id, keys=book.runtime.keys, now=utc_now(), actor="test")
    left = [book.one(f"SELECT count(*) FROM {table}") for table in ("episodes", "episode_postings")]
    assert (left, vectors(book)) == ([0, 0], [])


@pytest.mark.parametrize("with_space", [False, True])
def test_cached_vectors_of_its_episodes_go_with_it(chat, book, second_space, with_space):
    chat.say("u: One", "a: Uno")
    shared, drawer = SharedVectors(book.runtime.keys), Drawer(book.user_id, "a model")
    texts = [chat.episodes()[0].searched, "a question of somebody"]
    with book.session() as session:
        shared.keep(session, drawer, {text: np.ones(3, dtype=np.float32) for text in texts}, utc_now())
    if with_space:
        with book.session() as session:
            session.get(Conversation, (book.user_id, chat.id)).space_id = get_space(session, book.user_id, "second").id
        expect = book.contents(second_space).digest
        book.do(remove_space, second_space, "forget", expect=expect)
    else:
        book.do(delete_conversation, chat.id)
    with book.session() as session:
        assert list(shared.fetch(session, drawer, texts, utc_now())) == texts[1:]
