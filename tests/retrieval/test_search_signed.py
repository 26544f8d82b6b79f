"""A name with signs is found by them, and what has only its letters is another thing."""

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
from retrieval.words.answers import signed

NOW = datetime(2026, 6, 1, tzinfo=UTC)
NOTES = {
    "phone": "Our mobile contract with AT&T ends in March",
    "sharp": "Priya writes the billing service in C#",
    "plus": "Tomasz rewrote the engine in C++17",
    "vitamin": "Vitamin C helps against a cold",
    "course": "The course in C is held by Mr. Adeyemi",
    "lab": "R & D moved to the third floor",
    "clothes": "Bought the shelves at H&M Home",
    "size": "Size M fits him",
    "intranet": "The old intranet still runs on .NET 4.8",
    "fish": "The fishing net has a hole",
    "garage": "The garage gets new doors in May",
    "tea": "Ola drinks her tea without milk",
}


@pytest.fixture(scope="module")
def ask(runtime, new_person):
    person = new_person("hal")
    space_id = stock(runtime, person.id, list(NOTES.values()), now=NOW, vectors=None)
    with user_session(runtime.sessions, person.id) as session:
        model = model_of(session, person.id)
        session.expunge(model)
    dense = Dense.by(model, Vectors(runtime.providers.embedder(model, asked=True)))
    names = {text: name for name, text in NOTES.items()}

    def asked(question, policy=None):
        query = Query(person.id, space_id, question, scope_size=len(NOTES))
        chosen = policy_from(policy or {}, NAMED["balanced"])
        with user_session(runtime.sessions, person.id) as session:
            found = search(session, query, chosen, dense=dense, now=NOW, reader=shared_reader)
        assert not found.error
        return [(names[hit.snippet], hit.ranked.scored.candidate.keyword_rank) for hit in found.hits]

    return asked


@pytest.mark.parametrize(
    ("question", "name"),
    [
        *[("AT&T", "phone"), ("at&t", "phone"), ("Who do I have AT&T with?", "phone"), ("AT&T contract", "phone")],
        *[("C#", "sharp"), ("Who writes C#?", "sharp"), ("C++", "plus"), ("What is written in c++?", "plus")],
        *[("R&D", "lab"), ("H&M", "clothes"), (".NET", "intranet"), ("Where is .net?", "intranet")],
    ],
)
def test_a_name_is_found_by_its_signs(ask, question, name):
    assert ask(question)[:1] == [(name, 1)]


@pytest.mark.parametrize(("question", "name"), [("C#", "sharp"), ("C++", "plus"), ("H&M", "clothes")])
def test_what_has_only_the_letters_does_not_have_the_word(ask, question, name):
    assert ask(question, {"legs": ["keyword"]}) == [(name, 1)]


@pytest.mark.parametrize("question", ["F#", "T#", "Who writes Q#?", "M++"])
def test_a_name_that_nothing_has_finds_nothing(ask, question):
    assert ask(question) == []


def test_what_is_no_such_name_is_found_as_ever(ask):
    assert ask("vitamin C")[:1] == [("vitamin", 1)]
    assert ask("course in C")[0][0] == "course"


@pytest.fixture(scope="module")
def ask_many(asking):
    """More notes have the name than a leg lists, and the first of them are asked for."""
    wanted = {"Torvi wrote the tide tables in C#": "tables", "Our C# style guide forbids regions": "guide"}
    return asking("ivo", wanted, [f"Commit {n} of the parser, which is C# as well" for n in range(80)])


@pytest.mark.parametrize("policy", [{}, {"legs": ["keyword"]}, {"fusion": "rrf"}])
@pytest.mark.parametrize(
    ("question", "name"),
    [("Who wrote the tide tables in C#?", "tables"), ("What does the C# style guide forbid?", "guide")],
)
def test_what_is_asked_for_is_found_among_many_with_the_name(ask_many, policy, question, name):
    assert ask_many(question, policy)[:1] == [name]


def test_of_many_names_the_first_are_looked_for():
    asked = " ".join(f"{first}&{second}" for first in "ais" for second in "ait")
    assert list(signed(asked)) == ["a&a", "a&i", "a&t", "i&a"]


@pytest.fixture(scope="module")
def ask_written(asking):
    return asking(
        "jon",
        {
            "Ada is a CSharp developer at Lindqvist": "sharp",
            "The nocturne in F\u266f minor is what Ola plays best": "nocturne",
            "Otto wrote the crawler in C plus plus": "crawler",
            "Lena gives a course in cpp for beginners": "course",
            "The cupboard in the hall is oak": "cupboard",
        },
    )


@pytest.mark.parametrize(
    ("question", "name"),
    [
        *[("C# developer", "sharp"), ("Which nocturne is in F#?", "nocturne"), ("F#", "nocturne")],
        *[("Which crawler is written in C++?", "crawler"), ("C++ course", "course")],
    ],
)
def test_a_name_is_found_where_its_signs_are_written_out(ask_written, question, name):
    assert ask_written(question)[:1] == [name]
