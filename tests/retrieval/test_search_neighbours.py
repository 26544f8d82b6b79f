"""What was said beside a match: it lifts, and brings in what fits the question, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memory.drafts.drafts import Draft
from memory.forgetting.forget import forget
from memory.models import Memory
from memory.spaces.spaces import create_space, get_space
from memory.storage.database import user_session
from memory.writing.remember import remember_many
from retrieval.policy import NAMED, policy_from
from retrieval.query import Query
from retrieval.search import search

NOW = datetime(2025, 6, 1, tzinfo=UTC)
TALK = (
    "Ada: Did the adoption agency ever answer your letter?",
    "Ben: Yes, a letter came on Tuesday, and I was in tears.",
    "Ada: My bicycle needs new tyres.",
    "Ben: The weather is fine.",
)


class Talk:
    """Turns of one sitting, and questions about them by words alone."""

    def __init__(self, runtime, person):
        self.runtime, self.user_id = runtime, person.id

    def session(self):
        return user_session(self.runtime.sessions, self.user_id)

    def say(self, *texts, space="default", **fields):
        with self.session() as session:
            drafts = [Draft(each, created_at=NOW, **fields) for each in texts]
            told = remember_many(session, self.user_id, space, drafts, keys=self.runtime.keys, now=NOW, actor="test")
            return [each.id for each in told]

    def ask(self, question, space="default", policy=None, **fields):
        with self.session() as session:
            space_id = get_space(session, self.user_id, space).id
            query = Query(self.user_id, space_id, question, **fields)
            chosen = policy_from({"min_score": 0.0, **(policy or {})}, NAMED["balanced"])
            found = search(session, query, chosen, dense=None, now=NOW)
            return [hit.ranked.scored for hit in found.hits]


@pytest.fixture
def talk(runtime, ada):
    return Talk(runtime, ada)


def ids(found):
    return [each.candidate.id for each in found]


def test_the_answer_gains_from_the_question_before_it(talk):
    asked, answered, *_ = talk.say(*TALK)
    with_them = {each.candidate.id: each for each in talk.ask("agency letter")}
    without = {each.candidate.id: each for each in talk.ask("agency letter", policy={"context_weight": 0})}
    assert set(with_them) == set(without) == {asked, answered}
    assert with_them[answered].score.relevance > without[answered].score.relevance + 0.1
    assert (with_them[answered].context > 0, without[answered].context) == (True, 0)


def test_what_only_stands_beside_a_match_is_not_found(talk):
    *_, bicycle, weather = talk.say(*TALK)
    assert ids(talk.ask("bicycle")) == [bicycle]
    assert ids(talk.ask("fine weather")) == [weather]


def test_a_note_gains_nothing_from_the_note_before_it(talk):
    talk.say("The adoption agency wants a letter", "The letter is on the desk")
    found = talk.ask("agency letter")
    assert [each.context for each in found] == [0, 0]


def test_the_neighbour_must_fit_what_narrows_the_question(talk):
    (asked,) = talk.say(TALK[0], type="fact")
    (answered,) = talk.say(TALK[1], type="note")
    assert ids(talk.ask("agency letter", types=("note",))) == [answered]
    assert ids(talk.ask("agency letter", types=("fact",))) == [asked]


def test_a_forgotten_neighbour_lifts_nothing(talk):
    asked, answered, *_ = talk.say(*TALK)
    before = talk.ask("agency letter")
    assert before[1].context > 0.1
    with talk.session() as session:
        forget(session, talk.user_id, asked, keys=talk.runtime.keys, now=NOW, actor="test")
    after = talk.ask("agency letter")
    assert (ids(before), ids(after)) == ([asked, answered], [answered])
    assert after[0].context < 0.01


def test_a_neighbour_that_was_moved_to_another_space_is_no_neighbour(talk):
    asked, answered, *_ = talk.say(*TALK)
    with talk.session() as session:
        other = create_space(session, talk.user_id, "work", soft_cap=100, now=NOW, actor="test").id
        session.flush()
        session.get_one(Memory, (talk.user_id, asked)).space_id = other
    (left,) = talk.ask("agency letter")
    assert (left.candidate.id, left.context < 0.01) == (answered, True)
    assert ids(talk.ask("agency letter", space="work")) == [asked]


def test_a_neighbour_counts_though_no_leg_listed_it(talk):
    talk.say(*TALK)
    # Each leg lists one turn alone, so the other's words are known only if neighbours are looked up.
    (best,) = talk.ask("agency letter Tuesday tears", policy={"depth": 1}, limit=1)
    assert best.context > 0.05
