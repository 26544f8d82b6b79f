"""A summary that names a long memory as its source is shown for it, as long as it says what that says."""

from __future__ import annotations

import pytest
from api_agent import ENTRIES, rows

MANUAL = "The boiler manual. The code of the boiler is 4711. " + " ".join(
    f"Paragraph {number} says that valve {number} must be opened slowly and closed after a minute."
    for number in range(40)
)
SHORT = "Boiler manual in short: open valves slowly, the code is 4711."


@pytest.fixture
def manual(agent, ada):
    manual = agent.store(MANUAL)
    summary = agent.store(SHORT, type="summary", source_ids=[manual])
    return manual, summary


def shown(agent, memory_id):
    hits = agent.tool("memory_search", query="What is the code of the boiler?", token_budget=100_000).json["results"]
    return next(hit["content_snippet"] for hit in hits if hit["id"] == memory_id)


def test_a_summary_stands_in_for_its_long_source(agent, manual):
    assert shown(agent, manual[0]) == SHORT
    agent.patch(f"{ENTRIES}/{manual[0]}", {"tags": ["heating"]})
    assert shown(agent, manual[0]) == SHORT, "what it says is the same"


def test_a_summary_of_what_was_corrected_stands_in_for_it_no_more(agent, manual):
    agent.patch(f"{ENTRIES}/{manual[0]}", {"text": MANUAL.replace("4711", "9922")})
    assert "9922" in shown(agent, manual[0])
    agent.patch(f"{ENTRIES}/{manual[1]}", {"tags": ["heating"]})
    assert "9922" in shown(agent, manual[0]), "it still says the old"
    agent.patch(f"{ENTRIES}/{manual[1]}", {"text": SHORT.replace("4711", "9922")})
    assert shown(agent, manual[0]) == SHORT.replace("4711", "9922")


def test_a_summary_that_has_expired_stands_in_for_nothing(agent, ada, manual):
    rows(ada, "UPDATE memories SET expires_at = now() - interval '1 hour' WHERE id = :id RETURNING id", id=manual[1])
    assert shown(agent, manual[0]).startswith("The boiler manual.")
