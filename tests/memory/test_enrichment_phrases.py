"""Key phrases are what a text is about, not how it is said."""

from __future__ import annotations

import pytest

from memory.enrichment.phrases import MOST_PHRASES, key_phrases


def phrases(text, names=()):
    return [tag.tag for tag in key_phrases(text, names)]


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("We decided to use pgvector for the semantic search backend instead of Qdrant", "semantic search"),
        ("I prefer uv over pip for Python projects", "python projects"),
        ("We are considering adopting a rescue dog for the kids", "rescue dog"),
    ],
)
def test_phrases_are_found(text, phrase):
    assert phrase in phrases(text)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n", "\n- "])
def test_a_phrase_ends_with_its_line(end):
    lines = ("I moved to Lisbon", "Garden tools are in the shed", "Buy milk powder", "Fix the garden gate")
    said = end.join(lines).casefold()
    assert all(phrase in said for phrase in phrases(end.join(lines)))
    assert "garden tools" in phrases(end.join(lines[:2]))


@pytest.mark.parametrize("text", ["", "ok thanks", "That sounds great!", "See you tomorrow", "!!! 123 ???"])
def test_small_talk_has_none(text):
    assert phrases(text) == []


def test_names_are_no_phrases():
    assert phrases("See you Nate!", ["Nate"]) == []


def test_the_best_comes_first_and_confidences_are_shares():
    found = key_phrases("The rescue dog and the rescue cat share a garden shed near the railway station", ())
    confidences = [tag.confidence for tag in found]
    assert confidences == sorted(confidences, reverse=True)
    assert all(0.5 <= confidence <= 1 for confidence in confidences)


def test_there_are_only_so_many():
    metals = ("zinc", "iron", "lead", "tin", "gold", "nickel")
    text = " ".join(f"The {metal} harvester met the {metal} excavator." for metal in metals)
    assert len(key_phrases(text, ())) <= MOST_PHRASES
