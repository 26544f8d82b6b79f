"""The search page."""

from __future__ import annotations

import pytest
from flask import Flask
from flask.testing import FlaskClient
from pages_browser import HTMX, at_browser, stored
from sqlalchemy import update

from memory.database import user_session
from memory.models import Space
from retrieval.policy import Policy
from retrieval.query import Result
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


def test_a_hit_is_shown_with_its_words_marked(reader: FlaskClient) -> None:
    assert "Ada is <mark>allergic</mark> to <mark>hazelnuts</mark>." in reader.get("/search?q=hazelnut+allergic").text


@pytest.mark.parametrize(
    "part", ["Relevance", "Recency", "Importance", "Total", "Evidence", "Likeness", "1st by words"]
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
    assert fragment.startswith('<section id="search-results"')
    assert fragment in page


@pytest.mark.parametrize("header", ["HX-Boosted", "HX-History-Restore-Request"])
def test_a_boosted_or_restored_page_is_whole(reader: FlaskClient, header: str) -> None:
    assert reader.get("/search?q=tea", headers={**HTMX, header: "true"}).text.startswith("<!DOCTYPE html>")


def test_caches_tell_page_and_fragment_apart(reader: FlaskClient) -> None:
    assert "HX-Request" in reader.get("/search?q=tea").headers["Vary"]


def test_no_match_shows_nothing_and_says_what_to_do(reader: FlaskClient) -> None:
    text = reader.get("/search?q=zeppelin+quartz").text
    assert "No memory matches" in text
    assert 'class="entry"' not in text


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
