"""A question for several things brings what answers each of them, and says for which nothing was found."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from evals.examine import Vectors
from evals.stock import model_of, stock
from memory.storage.database import user_session
from retrieval.policy import NAMED, policy_from
from retrieval.query import Dense, Query
from retrieval.reading.reading import shared_reader
from retrieval.search import search

NOW = datetime(2026, 6, 1, tzinfo=UTC)
INES = "Inês is the midwife from the third floor"
MOTHER = "My mother moved to Braga last winter"
ROOF = "The roof was mended in April with slate from Wales"
EXAM = "The exam in pharmacology is on 19 January in the Great Hall"
NOTES = (
    INES,
    MOTHER,
    ROOF,
    "The password of the guest network is kingfisher",
    "Rex is afraid of thunder",
    "I take the 7:14 train to work",
    EXAM,
    "We painted the fence green",
    "Our tax adviser is Mr. Okri",
)


@pytest.fixture(scope="module")
def ask(runtime, new_person):
    person = new_person("zoe")
    space_id = stock(runtime, person.id, list(NOTES), now=NOW, vectors=None)
    with user_session(runtime.sessions, person.id) as session:
        model = model_of(session, person.id)
        session.expunge(model)
    dense = Dense.by(model, Vectors(runtime.providers.embedder(model, asked=True)))

    def asked(question, policy=None, **fields):
        query = Query(person.id, space_id, question, scope_size=len(NOTES), **fields)
        chosen = policy_from({"reading_ms": 60_000, **(policy or {})}, NAMED["balanced"])
        with user_session(runtime.sessions, person.id) as session:
            return search(session, query, chosen, dense=dense, now=NOW, reader=shared_reader)

    return asked


def texts(result):
    return [hit.snippet for hit in result.hits]


@pytest.mark.parametrize(
    "question", ["Who is Inês and where does my mother live?", "Who is Inês? Where does my mother live?"]
)
def test_what_answers_either_of_two_questions_is_found(ask, question):
    found = ask(question)
    assert {INES, MOTHER} <= set(texts(found)[:3])
    assert "several things are asked for: each was searched for by itself as well" in found.warnings
    assert [hit.ranked.rank for hit in found.hits] == list(range(1, len(found.hits) + 1))
    assert len(set(texts(found))) == len(found.hits), "none comes twice"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When do I have to be in the Great Hall and what calms the dog?", EXAM),
        ("Who is Inês? What is my shoe size?", INES),
    ],
)
def test_what_answers_one_alone_is_found_although_nothing_answers_all_of_it(ask, question, answer):
    assert answer in texts(ask(question))
    assert texts(ask(question, {"parts": 0})) == []


def test_of_which_nothing_was_found_is_said(ask):
    found = ask("Who is Inês? What is my shoe size?")
    assert INES in texts(found)
    assert "nothing was found for “What is my shoe size?”" in found.warnings
    assert found.withheld == 0


def test_what_the_whole_finds_may_be_of_any_part(ask):
    found = ask("What is my shoe size and where does my mother live?")
    assert MOTHER in texts(found)
    assert texts(ask("What is my shoe size and where does my mother live?", {"parts": 0})), "the whole finds something"
    assert not any("nothing was found" in each for each in found.warnings)


def test_where_nothing_answers_any_of_them_nothing_is_found(ask):
    found = ask("What is my shoe size and how many cousins are in Canada?", limit=1)
    assert (texts(found), found.withheld) == ([], 1)
    assert not any("nothing was found" in each for each in found.warnings), "that goes for all of it"


def test_the_limit_and_the_budget_hold_for_all_of_it(ask):
    question = "Who is Inês and where does my mother live?"
    found = ask(question, limit=1)
    assert len(found.hits) == 1
    assert found.more
    whole = ask(question)
    small = ask(question, token_budget=whole.token_count - 1)
    assert small.token_count < whole.token_count
    assert small.truncated


def test_times_alone_are_asked_for_by_themselves(ask):
    found = ask("What happened in April and who is Inês?")
    assert {ROOF, INES} <= set(texts(found)[:4])
    assert found.period is None
