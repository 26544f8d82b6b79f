"""The search page."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from api_agent import rows
from flask import Flask
from flask.testing import FlaskClient
from pages_browser import HTMX, at_browser, stored
from sqlalchemy import update

from memory.models import Space
from memory.storage.database import user_session
from retrieval.policy import Policy
from retrieval.query import Hit, Result
from retrieval.ranking.mmr import select
from retrieval.ranking.types import Candidate, Ranked, Score, Scored
from webapp.pages.explain import NOTICES, explain


@pytest.fixture
def reader(app: Flask, ada) -> FlaskClient:
    stored(ada, "Ada is allergic to hazelnuts.", type="fact", tags=("health",), source_ids=("D1:3",))
    stored(ada, "The bakery on Mill Lane closes on Mondays.")
    return at_browser(app, ada)


def test_an_empty_notebook_says_what_to_do(app: Flask, bob) -> None:
    assert "Write the first memory" in at_browser(app, bob).get("/search").text


def test_the_search_page_invites_a_question(reader: FlaskClient) -> None:
    assert "2 memories in 1 space" in " ".join(reader.get("/search").text.split())
    reader.post("/spaces", data={"name": "Garden"})
    assert "in one space: now in Default. Or <a" in " ".join(reader.get("/search").text.split())


def test_a_hit_is_shown_with_its_words_marked(reader: FlaskClient) -> None:
    assert "Ada is <mark>allergic</mark> to <mark>hazelnuts</mark>." in reader.get("/search?q=hazelnut+allergic").text


LONG_NOTE = " ".join(
    [
        *(f"On shelf {number} stands a box of letters." for number in range(60)),
        "Benedita gave the samovar to the museum.",
        *(f"Drawer {number} holds maps & plans." for number in range(60)),
    ]
)


def test_of_a_long_note_the_part_is_shown_that_speaks_of_the_question(app: Flask, ada) -> None:
    stored(ada, LONG_NOTE)
    stored(ada, "The samovar is of brass.")
    page = at_browser(app, ada).get("/search?q=samovar+museum").text
    found = re.search(r'entry-text"><span class="verbatim">(….*?…)</span>(.*?)<p class="entry-why">', page, re.S)
    assert "Benedita gave the <mark>samovar</mark> to the <mark>museum</mark>." in found[1]
    assert len(found[1]) < 1200
    whole = re.search(
        r"<details.*<summary>Show all of it</summary>.*verbatim\">(.*?)</span>.*</details>", found[2], re.S
    )
    assert "to the <mark>museum</mark>." in whole[1]
    assert html.unescape(re.sub(r"</?mark>", "", whole[1])) == LONG_NOTE
    assert page.count("Show all of it") == 1


@pytest.mark.parametrize(
    "part", ["Relevance", "Recency", "Importance", "Total", "Evidence", "Reading", "Likeness", "1st by words"]
)
def test_a_hit_explains_itself(reader: FlaskClient, part: str) -> None:
    assert part in reader.get("/search?q=hazelnuts").text


@pytest.mark.parametrize("part", ["health", "from D1:3", "<time datetime=", " tokens", "in all"])
def test_a_hit_says_where_it_comes_from_and_what_it_cost(reader: FlaskClient, part: str) -> None:
    assert part in reader.get("/search?q=hazelnuts").text


def test_the_fragment_is_the_part_of_the_page(reader: FlaskClient) -> None:
    page = reader.get("/search?q=hazelnuts").text
    # The last line says how long each took, which differs.
    fragment = reader.get("/search?q=hazelnuts", headers=HTMX).text.partition('<p class="stages">')[0]
    title, _, part = fragment.partition("\n")
    assert title == "<title>hazelnuts · Commonplace</title>"
    assert part.startswith('<section id="search-results"')
    assert part in page


@pytest.mark.parametrize("header", ["HX-Boosted", "HX-History-Restore-Request"])
def test_a_boosted_or_restored_page_is_whole(reader: FlaskClient, header: str) -> None:
    assert reader.get("/search?q=tea", headers={**HTMX, header: "true"}).text.startswith("<!DOCTYPE html>")


def test_caches_tell_page_and_fragment_apart(reader: FlaskClient) -> None:
    assert "HX-Request" in reader.get("/search?q=tea").headers["Vary"]


def test_no_match_shows_nothing_and_says_what_to_do(reader: FlaskClient) -> None:
    text = reader.get("/search?q=zeppelin+quartz").text
    assert "No memory matches" in text
    assert 'class="entry"' not in text


def test_what_was_kept_back_can_be_seen_all_the_same(reader: FlaskClient) -> None:
    asked = {"q": "Does the mill own zeppelins, yachts or submarines?", "limit": 5}
    page = reader.get("/search", query_string=asked).text
    assert "No memory seems to be about" in page
    assert 'class="entry"' not in page
    link = re.search(r'href="([^"]*nearest=true[^"]*)"', page)
    assert link is not None
    shown = reader.get(html.unescape(link[1])).text
    assert "The nearest, whether or not they are about the question." in shown
    assert "<mark>Mill</mark> Lane" in shown


def test_markup_in_a_question_stays_text(reader: FlaskClient) -> None:
    text = reader.get("/search", query_string={"q": "<script>alert(1)</script>"}).text
    assert "<script>alert" not in text


def test_markup_in_a_memory_stays_text(app: Flask, ada) -> None:
    stored(ada, "Write <b>bold</b> & <script>evil</script> in capitals.")
    text = at_browser(app, ada).get("/search?q=bold+capitals").text
    assert "&lt;b&gt;<mark>bold</mark>&lt;/b&gt; &amp; &lt;script&gt;" in text


@pytest.mark.parametrize(
    "query", ["q=a&limit=0", "q=a&limit=51", "q=a&types=poem", "q=a&policy=magic", "q=a&space=nowhere"]
)
def test_a_choice_that_does_not_exist_is_refused(reader: FlaskClient, query: str) -> None:
    assert reader.get(f"/search?{query}").status_code == 422


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("/search?q=a&nearest=maybe", "The nearest must be true or false"),
        ("/search?q=a&limit=lots", "The limit must be a whole number"),
        ("/search?q=a&limit=51", "The limit must be at most 50"),
        ("/search?q=a&policy=magic", "The policy must be one of balanced, specified"),
        ("/memories?status=forgotten", "The status must be one of active, superseded, archived, any"),
        ("/memories?q=%00", "The search text must not contain NUL bytes"),
        ("/record?until=9999-12-31", "The last day must be at most 9999-12-30"),
        ("/memories?pinned=maybe&older=soon", "The pinned must be true or false. The age must be a whole number"),
        ("/record?since=soon", "The first day must be a day, such as 2026-03-31"),
    ],
)
def test_what_does_not_fit_is_said_of_its_field_in_plain_words(reader: FlaskClient, address: str, said: str) -> None:
    response = reader.get(address)
    assert response.status_code == 422
    assert f"<p>{said}</p>" in response.text
    assert "That does not fit" in response.text


def test_a_program_gets_every_field_as_before(reader: FlaskClient) -> None:
    answer = reader.get("/memories?status=forgotten", headers={"Accept": "application/json"}).json
    assert {each["field"].partition(".")[0] for each in answer["errors"]} == {"status"}
    assert "Input should be" in answer["detail"]


@pytest.mark.parametrize("question", ["%00", "%ED%A0%80", "a" * 9000, "'%3B--", "\\", "😀"])
def test_odd_questions_are_answered(reader: FlaskClient, question: str) -> None:
    assert reader.get(f"/search?q={question}").status_code in {200, 422}


def test_types_narrow_the_search(reader: FlaskClient) -> None:
    assert "Mill Lane" not in reader.get("/search?q=bakery&types=fact&types=decision").text


def test_the_specified_ranking_can_be_chosen(reader: FlaskClient) -> None:
    assert "ranking: specified, rrf" in reader.get("/search?q=hazelnuts&policy=specified").text


def test_incognito_recalls_nothing_and_shows_it(reader: FlaskClient) -> None:
    reader.post("/incognito/start")
    text = reader.get("/search?q=hazelnuts").text
    assert "allergic" not in text
    assert "End incognito" in text


@pytest.mark.parametrize("path", ["/search", "/entities"])
def test_what_is_typed_into_an_older_page_while_incognito_is_not_in_its_address(reader: FlaskClient, path: str) -> None:
    asked = f"{path}?q=hazelnuts"
    before = reader.get(asked, headers=HTMX).headers
    assert "hazelnuts" in before.get("HX-Push-Url", before.get("HX-Replace-Url", ""))
    reader.post("/incognito/start")
    assert {"HX-Push-Url", "HX-Replace-Url"}.isdisjoint(reader.get(asked, headers=HTMX).headers.keys())


def test_ending_incognito_recalls_again(reader: FlaskClient) -> None:
    reader.post("/incognito/start")
    reader.post("/incognito/end", data={"next": "/search?q=hazelnuts"})
    assert "<mark>hazelnuts</mark>" in reader.get("/search?q=hazelnuts").text


def test_incognito_belongs_to_one_browser(app: Flask, reader: FlaskClient, ada) -> None:
    reader.post("/incognito/start")
    assert "<mark>hazelnuts</mark>" in at_browser(app, ada).get("/search?q=hazelnuts").text


def test_a_space_with_memory_off_says_so(reader: FlaskClient, ada) -> None:
    with user_session(ada.runtime.sessions, ada.id) as session:
        session.execute(update(Space).where(Space.user_id == ada.id).values(memory_enabled=False))
    assert "Memory is off in this space" in reader.get("/search?q=hazelnuts").text


@pytest.mark.parametrize("name", ["semantic", "rate_limited", "incognito", "memory_off", "database"])
def test_everything_skipped_is_said_in_words(name: str) -> None:
    assert explain(Result((), Policy(), degraded=(name,))).notices == (NOTICES[name],)


@pytest.mark.parametrize(
    ("legs", "degraded", "places"),
    [
        (("keyword", "semantic"), (), ("no match", "no vector yet")),
        (("keyword", "semantic"), ("semantic",), ("no match", "not asked")),
        (("keyword",), (), ("no match", "not asked")),
        (("semantic",), (), ("not asked", "no vector yet")),
    ],
)
def test_a_leg_that_was_not_asked_does_not_say_that_it_found_nothing(legs, degraded, places) -> None:
    memory = Candidate(UUID(int=1), "a", "note", "user", datetime(2024, 1, 1, tzinfo=UTC), 0.5)
    scored = Scored(memory, Score(0.5, 0.5, 0.5, 1.5), evidence=0.5, date_match=0.0)
    result = Result((Hit(Ranked(scored, 0.0, 1), "a"),), Policy(legs=legs), degraded=degraded)
    assert tuple(leg.place for leg in explain(result).hits[0].legs) == places


def judged(text: str = "a", question: str = "", **fields) -> str:
    """Return the reason that a page gives for a hit with these signals."""
    memory = Candidate(UUID(int=1), text, "note", "user", datetime(2024, 1, 1, tzinfo=UTC), 0.5, cosine=0.2)
    memory.sureness = fields.pop("sureness", None)
    fields = {"evidence": 0.5, "date_match": 0.0, **fields}
    scored = Scored(memory, Score(0.5, 0.5, 0.5, 1.5), **fields)
    return explain(Result((Hit(Ranked(scored, 0.0, 1), text),), Policy()), question).hits[0].reason


@pytest.mark.parametrize(
    ("signals", "reason"),
    [
        ({"date_match": 1.0}, "of the time you name"),
        ({"date_match": 0.4}, "near the time you name"),
        ({"sureness": 0.9}, "reads like an answer"),
        ({"sureness": 0.5}, "may be an answer"),
        ({"sureness": 0.1}, "a little like it by meaning"),
        (
            {"reading_penalty": 0.02, "date_match": 1.0},
            "of the time you name, moved down by 0.02 as another reads more like an answer",
        ),
        ({"reading_penalty": 0.01, "date_match": 1.0}, "of the time you name"),
        ({"reading_penalty": 0.02, "update_boost": 0.03, "date_match": 1.0}, "of the time you name"),
    ],
)
def test_a_reason_claims_no_more_than_is_so(signals, reason) -> None:
    assert judged(**signals) == reason


@pytest.mark.parametrize("lam", [1.0, 0.7, 0.3, 0.0])
def test_what_puts_a_hit_before_the_next_one_is_what_decided(lam: float) -> None:
    policy, alike = Policy(alpha=1.0, beta=0.0, gamma=0.0, mmr_lambda=lam), np.ones(2, dtype=np.float32)
    pool = [
        Scored(
            Candidate(UUID(int=number), "a", "note", "user", datetime(2024, 1, 1, tzinfo=UTC), 0.0, vector=vector),
            Score(total, 0.0, 0.0, total),
            evidence=total,
            date_match=0.0,
        )
        for number, (total, vector) in enumerate([(0.9, alike), (0.6, alike), (0.4, np.array([1.0, -1.0]))])
    ]
    ranked = select(pool, limit=3, lam=lam)
    told = explain(Result(tuple(Hit(each, "a") for each in ranked), policy)).hits
    for each, following in pairwise(told):
        gap = each.hit.ranked.scored.score.total - following.hit.ranked.scored.score.total
        by = (gap if lam else 0.0) + following.likeness - each.likeness
        assert each.lead.partition(":")[0] == (f"Before the next by {by:.2f}" if by > 0.005 else "Even with the next")
        assert ("relevance" in each.lead) == (lam > 0)
    assert told[2].likeness == (0.0 if lam == 1 else pytest.approx((1 - lam) / (lam or 1)))


@pytest.mark.parametrize(("years", "told"), [((2025, 2024), "newer"), ((2024, 2025), "older")])
def test_another_version_of_the_same_says_that_it_stands_there_for_that(years, told) -> None:
    memories = [Candidate(UUID(int=1), "a", "note", "user", datetime(year, 1, 1, tzinfo=UTC), 0.5) for year in years]
    hits = [
        Hit(Ranked(Scored(memory, Score(0.5, 0.5, 0.5, 0.5), 0.5, 0.0, 0.0, update_boost=gain), 0.0, rank), "a")
        for rank, (memory, gain) in enumerate(zip(memories, (0.2, 0.0), strict=True), 1)
    ]
    assert explain(Result(tuple(hits), Policy())).hits[0].lead == f"Before the next as it is {told}, and of the same"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("The office has moved to Graz.", True),
        ("The dentist has her practice there since May. " + "The office is in Graz. " * 30, False),
        ("The office has moved to Graz. " + "The dentist is in Linz. " * 30, True),
        ("- dentist: now in Linz\n- office: Graz\n" * 20, False),
    ],
)
def test_a_long_note_says_what_has_changed_only_beside_words_of_the_question(text: str, told: bool) -> None:
    assert ("says what has changed" in judged(text, "Where are the offices?", change_match=True)) == told


def test_a_time_alone_brings_what_was_kept_then_and_says_so(reader: FlaskClient) -> None:
    page = " ".join(reader.get("/search?q=what+happened+today").text.split())
    assert "You ask for a time and nothing else" in page
    assert page.count("of the time you name") == 2
    assert "no vector yet" not in page


# --- what a search means to the next command ---


def commanded(reader: FlaskClient, text: str) -> str:
    """Say something in a command cell of the first notebook, and return what is answered."""
    home = reader.get("/", follow_redirects=True).text
    made = reader.post(re.search(r'action="(/notebooks/[^"/]+/cells)"', home).group(1), data={"kind": "command"})
    run = re.findall(r'action="(/notebooks/[^"]+/run)"', reader.get(made.location).text)[-1]
    return reader.post(run, data={"text": text}, headers=HTMX).text


def texts_of(person) -> set[str]:
    return {row.text for row in rows(person, "SELECT text FROM memories")}


def test_the_word_that_means_what_the_search_page_found(reader: FlaskClient, ada) -> None:
    reader.get("/search?q=bakery")
    assert "I forgot “" in commanded(reader, "forget that")
    assert texts_of(ada) == {"Ada is allergic to hazelnuts."}


def test_the_first_one_is_the_first_hit_of_the_search_page(reader: FlaskClient, ada) -> None:
    stored(ada, "The bakery sells hazelnuts.")
    first = re.search(r'entry-text"><span class="verbatim">(.*?)</span>', reader.get("/search?q=hazelnuts").text, re.S)
    commanded(reader, "forget the first one")
    gone = re.sub(r"<.*?>", "", first.group(1))
    assert gone not in texts_of(ada)
    assert len(texts_of(ada)) == 2


def test_a_later_search_is_meant(reader: FlaskClient, ada) -> None:
    reader.get("/search?q=hazelnuts")
    reader.get("/search?q=bakery", headers=HTMX)
    commanded(reader, "forget that")
    assert texts_of(ada) == {"Ada is allergic to hazelnuts."}


def test_a_search_of_another_browser_user_is_not_meant(app: Flask, reader: FlaskClient, ada, bob) -> None:
    stored(bob, "Bob likes tea.")
    at_browser(app, bob).get("/search?q=tea")
    commanded(reader, "forget that")
    assert len(texts_of(ada)) == 2
    assert len(texts_of(bob)) == 1


def recorded(person) -> list[str]:
    found = "SELECT arguments ->> 'query' FROM tool_calls WHERE tool = 'memory_search' ORDER BY created_at, id"
    return [question for (question,) in rows(person, found)]


def test_every_question_that_is_asked_is_recorded(reader: FlaskClient, ada) -> None:
    for question in ("bakery", "bakery on Mondays", "bakery"):
        reader.get("/search", query_string={"q": question}, headers=HTMX)
    assert recorded(ada) == ["bakery", "bakery on Mondays", "bakery"]


def test_a_question_that_is_ranked_anew_with_the_same_answer_is_recorded_once(reader: FlaskClient, ada) -> None:
    for policy in ("", "specified"):
        reader.get("/search", query_string={"q": "bakery", "policy": policy}, headers=HTMX)
    assert recorded(ada) == ["bakery"]


def test_a_page_that_is_asked_again_is_recorded_again(reader: FlaskClient, ada) -> None:
    for _ in range(2):
        reader.get("/search?q=bakery")
    assert len(rows(ada, "SELECT FROM tool_calls")) == 2


def test_a_search_in_incognito_is_not_recorded(reader: FlaskClient, ada) -> None:
    reader.post("/incognito/start")
    reader.get("/search?q=bakery")
    assert rows(ada, "SELECT FROM tool_calls") == []


@pytest.mark.parametrize(
    ("before", "after", "step"),
    [
        ("localhost/search", "q=bees", True),
        ("localhost/search?q=be", "q=bees", True),
        ("localhost/search?q=bees+and", "q=bees", True),
        ("localhost/search?q=bees&policy=specified", "q=bees", False),
        ("localhost/search?q=honey", "q=bees", True),
        ("localhost/search?q=bees", "q=bees&types=fact&types=note&space=default&policy=&limit=", False),
        ("[", "q=bees", True),
    ],
)
def test_another_question_is_a_step_and_another_setting_is_none(app, ada, before: str, after: str, step: bool) -> None:
    headers = {**HTMX, "HX-Current-URL": f"http://{before}"}
    found = at_browser(app, ada).get(f"/search?{after}", headers=headers).headers
    address = found.get("HX-Push-Url" if step else "HX-Replace-Url", "")
    assert ("HX-Push-Url" in found, "HX-Replace-Url" in found) == (step, not step)
    assert address.startswith("/search?q=bees")
    assert ("limit" in address, "policy" in address, address.count("types=")) == (False, False, after.count("types="))


def test_who_names_no_number_gets_as_many_as_the_server_is_set_to(
    app: Flask, ada: Any, runtime: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        stored(ada, f"Ada keeps bees in hive {number}")
    monkeypatch.setitem(
        app.extensions, "commonplace", replace(runtime, settings=replace(runtime.settings, max_results=2))
    )
    browser = at_browser(app, ada)
    page = browser.get("/search?q=bees").text
    assert page.count('<article class="entry"') == 2
    assert 'placeholder="2"' in page
    assert browser.get("/search?q=bees&limit=3").text.count('<article class="entry"') == 3


def test_a_question_cannot_write_into_the_title(reader: FlaskClient) -> None:
    fragment = reader.get("/search", query_string={"q": "</title><b>bees"}, headers=HTMX).text
    assert fragment.startswith("<title>&lt;/title&gt;&lt;b&gt;bees · Commonplace</title>\n<section")
