import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.drafts.importance import assess, repeat_boost


def value(
    text: str,
    type_: str = "note",
    *,
    explicit: bool = False,
    confidence: float | None = None,
    metadata: bool = False,
) -> float:
    return assess(text, type_, explicit=explicit, metadata_confidence=confidence, has_metadata=metadata).value


def test_a_plain_remark_has_no_importance_and_no_terms() -> None:
    plain = assess("The sky was grey", "note", explicit=False, metadata_confidence=None, has_metadata=False)
    assert (plain.value, plain.terms) == (0.0, ())


def test_an_explicit_save_adds_a_half() -> None:
    assert value("The sky was grey", explicit=True) == 0.5


@pytest.mark.parametrize(
    "text",
    [
        "Robin prefers uv over pip",
        "My goal is a marathon",
        "I want to learn Dutch",
        "I'll send it soon",
        "Always answer in Portuguese",
        "Ana is my sister",
        "The deadline moved",
        "Robin is allergic to peanuts",
        "Remember that the gate sticks",
        "We decided to drop the shop",
        "Her birthday comes first",
    ],
)
def test_lasting_statements_add_three_tenths(text: str) -> None:
    assert value(text) == 0.3


@pytest.mark.parametrize(
    ("type_", "expected"),
    [("preference", 0.3), ("instruction", 0.3), ("fact", 0.0), ("note", 0.0)],
)
def test_what_is_called_a_preference_lasts_whatever_its_words(type_: str, expected: float) -> None:
    assert value("Dark mode in every editor", type_) == expected


def test_what_lasts_by_type_and_by_words_lasts_once() -> None:
    assert value("Robin prefers uv over pip", "preference") == 0.3


@pytest.mark.parametrize(("confidence", "expected"), [(0.6, 0.2), (0.59, 0.0), (None, 0.0), (math.nan, 0.0)])
def test_metadata_counts_from_a_confidence_of_six_tenths(confidence: float | None, expected: float) -> None:
    assert value("The sky was grey", confidence=confidence, metadata=True) == expected


def test_confidence_without_metadata_counts_nothing() -> None:
    assert value("The sky was grey", confidence=0.9) == 0.0


def test_everything_together_stays_at_one() -> None:
    assert value("I always shoot raw", explicit=True, confidence=0.9, metadata=True) == 1.0


@pytest.mark.parametrize(
    "text",
    ["hi", "Thanks so much!", "ok cool", "lol", "Good morning, how are you?", "👍", "thank you for the help"],
)
def test_small_talk_costs_a_tenth(text: str) -> None:
    assert value(text, explicit=True) == 0.4
    assert value(text) == 0.0


@pytest.mark.parametrize("text", ["hi, the door code is 1234", "ok so the tripod is broken", "Thanks to Ana we won"])
def test_a_greeting_does_not_hide_content(text: str) -> None:
    assert value(text, explicit=True) == 0.5


def test_terms_say_why() -> None:
    terms = assess("I prefer tea", "note", explicit=True, metadata_confidence=0.75, has_metadata=True).terms
    assert [(term.name, term.delta) for term in terms] == [
        ("explicit", 0.5),
        ("persistent", 0.3),
        ("metadata", 0.2),
    ]
    assert "prefer" in terms[1].reason


@given(st.text(), st.booleans(), st.none() | st.floats(), st.booleans())
def test_importance_stays_between_zero_and_one(
    text: str, explicit: bool, confidence: float | None, metadata: bool
) -> None:
    assert 0 <= value(text, explicit=explicit, confidence=confidence, metadata=metadata) <= 1


def test_repeats_add_up_like_a_harmonic_series() -> None:
    assert [round(repeat_boost(count), 4) for count in (1, 2, 3, 4)] == [0.1, 0.05, 0.0333, 0.025]


def test_a_repeat_count_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        repeat_boost(0)
