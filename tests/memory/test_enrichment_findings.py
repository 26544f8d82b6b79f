"""Names in one form, tags in one form, one confidence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.enrichment.findings import MOST_MENTIONS, Findings, Name, Tag, derived_tags, merged, name_key, plain_name


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("the Nexus Phone", "Nexus Phone"),
        ("Anna's", "Anna"),
        ("James\u2019", "James"),
        (' "Dune" ', "Dune"),
        ("My  dog\nRex!", "dog Rex"),
        ("2024", ""),
        ("...", ""),
        ("x" * 81, ""),
    ],
)
def test_a_name_is_shown_without_what_stands_around_it(written, shown):
    assert plain_name(written) == shown


@pytest.mark.parametrize("written", ["Smith", "SMITH", "Dr. Smith", "Mrs Smith", "the Smith's", "Prof. smith "])
def test_titles_case_and_possessives_make_no_other_name(written):
    assert name_key(written) == "smith"


@given(st.text(max_size=30))
def test_a_key_is_its_own_key_in_another_case(text):
    assert name_key(name_key(text).upper()) == name_key(name_key(text).upper().casefold())


def test_the_confidence_is_the_mean_of_all_that_was_found():
    found = Findings((Name("A", "person", "s", 0.9), Name("B", "person", "s", 0.5)), (Tag("t", 0.4),))
    assert found.confidence == pytest.approx(0.6)


def test_nothing_found_has_no_confidence():
    assert Findings().confidence is None


def test_the_confidence_stays_within_bounds():
    assert Findings((), (Tag("t", 1.7),)).confidence == 1.0


def test_a_name_takes_the_type_of_its_surest_mention():
    names = merged([Name("Gina", "place", "one", 0.8), Name("Gina", "person", "two", 0.95)])
    assert {(name.type, name.sentence, name.confidence) for name in names} == {
        ("person", "one", 0.95),
        ("person", "two", 0.95),
    }


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        ([("Anneke Vermeulen", "person"), ("Vermeulen", "person")], {"Anneke Vermeulen"}),
        ([("Vermeulen", "person"), ("Dr. Anneke Vermeulen", "person")], {"Dr. Anneke Vermeulen"}),
        (
            [("Anneke Baker", "person"), ("Tom Baker", "person"), ("Baker", "person")],
            {"Anneke Baker", "Tom Baker", "Baker"},
        ),
        ([("Anneke Vermeulen", "person"), ("Mr. Vermeulen", "person")], {"Anneke Vermeulen", "Mr. Vermeulen"}),
        ([("Anneke Paris", "person"), ("Paris", "place")], {"Anneke Paris", "Paris"}),
        ([("New York", "place"), ("York", "person")], {"New York", "York"}),
        ([("Anneke Vermeulen", "person"), ("Anneke", "person")], {"Anneke Vermeulen", "Anneke"}),
    ],
)
def test_a_bare_surname_is_the_one_person_of_the_text_who_has_it(found, shown):
    names = merged([Name(name, kind, "one", 0.9) for name, kind in found])
    assert {name.name for name in names} == shown


def test_of_a_text_that_names_everyone_the_surest_are_kept():
    names = [Name(f"Ann{n}", "person", f"Ann{n} came.", 0.5 + n / 1000) for n in range(200)]
    kept = merged(names)
    assert len(kept) == MOST_MENTIONS
    assert min(name.confidence for name in kept) == pytest.approx(0.65)


def test_derived_tags_are_folded_bounded_and_repeat_no_given_one():
    found = Findings(
        (Name("Lisbon", "place", "s", 0.8), Name("Anna", "person", "s", 0.9)),
        (Tag("Tea Time", 0.7), Tag("lisbon", 0.9), Tag("x" * 65, 1.0)),
    )
    assert derived_tags(found, ["ANNA"], most=2, longest=64) == ["lisbon", "tea time"]
