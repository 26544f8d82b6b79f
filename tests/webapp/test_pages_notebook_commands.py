"""Cells of a notebook that take a spoken command, fit a context or draw a chart."""

from __future__ import annotations

import re
from typing import Any

import pytest
from notebook_desk import NUTS, Desk
from pages_browser import HTMX, stored


def test_a_context_fits_its_budget(desk: Desk) -> None:
    for number in range(10):
        stored(desk.person, f"Ada owns {number} hazelnut trees in the garden behind the house number {number * 7}.")
    # One memory takes about 150 tokens with the frame around it, more or less by what its random ids are cut into.
    _, answer = desk.run("context", q="hazelnut trees", budget="250")
    found = re.search(r"(\d+) of 250 tokens, (\d) memor", " ".join(answer.text.split()))
    assert found is not None, answer.text
    assert 100 < int(found.group(1)) <= 250
    assert "&lt;recalled-memories" in answer.text


@pytest.mark.parametrize("chart", ["growth", "ages", "tags", "repeats", "backlog", "latency"])
def test_a_chart_has_its_numbers_beneath(desk: Desk, chart: str) -> None:
    stored(desk.person, NUTS, tags=("health",))
    desk.client.get("/v1/tools", headers=desk.person.headers)
    call = {"query": "hazelnuts"}
    assert desk.client.post("/v1/tools/memory_search", json=call, headers=desk.person.headers).status_code == 200
    _, answer = desk.run("chart", chart=chart)
    assert f'data-chart="{"names" if chart in {"tags", "backlog"} else "number" if chart == "ages" else "time"}"' in (
        answer.text
    )
    assert re.search(r"<td>[\d.]+</td>", answer.text)


def test_a_chart_without_numbers_says_so(desk: Desk) -> None:
    assert "nothing to draw yet" in desk.run("chart", chart="tags")[1].text


def test_a_command_after_a_recall_that_found_nothing_means_nothing(desk: Desk) -> None:
    desk.run("remember", text=NUTS)
    desk.run("recall", q="zeppelins over Friedrichshafen")
    assert "There is no such memory here" in desk.run("command", text="forget that")[1].text
    assert desk.one("SELECT count(*) FROM memories") == 1


def test_a_command_means_what_was_recalled_last_and_offers_an_undo(desk: Desk) -> None:
    stored(desk.person, NUTS)
    desk.run("recall", q="hazelnuts")
    cell, answer = desk.run("command", text="forget that")
    assert desk.one("SELECT count(*) FROM memories") == 0
    slip = re.search(r'name="slip" value="([^"]+)"', answer.text)
    assert slip is not None
    assert slip.group(1) in desk.page()
    answer = desk.client.post(f"{cell}/run", data={"slip": slip.group(1)}, headers=HTMX)
    assert answer.status_code == 200
    assert desk.one("SELECT count(*) FROM memories") == 1


def test_a_command_that_asks_back_has_not_given_up_on_a_later_look(desk: Desk) -> None:
    stored(desk.person, NUTS)
    stored(desk.person, "Ada buys hazelnuts for the squirrels.")
    desk.run("command", text="forget everything about hazelnuts")
    page = desk.page()
    assert 'name="slip"' in page
    assert ("Nothing is changed yet." in page, "Nothing was changed." in page) == (True, False)
    assert desk.one("SELECT count(*) FROM memories") == 2


def test_a_command_shows_what_it_finds(desk: Desk) -> None:
    stored(desk.person, NUTS)
    _, answer = desk.run("command", text="what do you remember about hazelnuts?")
    assert NUTS in answer.text
    assert NUTS in desk.page()
    assert "hazelnuts" not in desk.one("SELECT output::text FROM cells")


def test_a_later_look_tells_what_was_asked_for_from_what_comes_near(desk: Desk) -> None:
    stored(desk.person, NUTS)

    def later(asked: str) -> str:
        desk.run("command", text=f"what do you remember about {asked}?")
        page = desk.page()
        return page[page.rindex('class="lead"') :]

    assert "Nothing was remembered of it." in later("the harbour")
    assert later("hazelnut allergic reactions").count("What comes near it:") == 1
    stored(desk.person, "Allergic reactions to hazelnuts are rashes")
    both = later("hazelnut allergic reactions")
    told = ("What is remembered of it:", "rashes", "What comes near it:", NUTS)
    assert sorted(told, key=both.index) == list(told)
    assert "What comes near it:" not in later("hazelnuts")


def test_what_a_command_stores_is_the_memorys_own(desk: Desk) -> None:
    _, answer = desk.run("command", text="remember that I drink my tea without sugar")
    assert "I will remember that" in answer.text
    assert desk.one("SELECT count(*) FROM memories") == 1
    assert "sugar" not in desk.one("SELECT input::text || output::text FROM cells")


@pytest.mark.parametrize("headers", [HTMX, {}], ids=["htmx", "plain"])
def test_a_command_that_starts_incognito_leaves_nothing_and_shows_the_banner(desk: Desk, headers: Any) -> None:
    cell = desk.add("command")
    answer = desk.client.post(f"{cell}/run", data={"text": "start incognito for this chat"}, headers=headers)
    assert answer.headers.get("HX-Refresh") == "true" or answer.status_code == 303
    assert 'aria-label="Incognito"' in desk.page()
    assert desk.one("SELECT input::text || coalesce(output::text, '') FROM cells") == "{}"


def test_a_sentence_that_is_no_command_does_nothing(desk: Desk) -> None:
    _, answer = desk.run("command", text="the weather is nice")
    assert "no command" in answer.text


@pytest.mark.parametrize("form", [{}, {"text": " "}, {"slip": "made up"}])
def test_a_command_that_says_nothing_is_refused(desk: Desk, form: Any) -> None:
    assert desk.run("command", **form)[1].status_code == 422
