"""The page of facts: stated, as of a day, ended, deleted, and closed while incognito."""

from __future__ import annotations

import re
from html import escape, unescape
from uuid import UUID

import pytest
from api_agent import add_space, rows
from api_talk import Talk
from pages_browser import at_browser
from pages_markup import names_of, words_of

from memory.clock import utc_now
from memory.facts.facts import Statement, state
from memory.spaces.spaces import get_space

FACT = {"subject": "Robin", "predicate": "lives in", "object": "Bern"}


@pytest.fixture
def reader(app, ada):
    add_space(ada, "work")
    return at_browser(app, ada)


def stated(reader, **more):
    response = reader.post("/facts", data={**FACT, **more}, follow_redirects=True)
    assert response.status_code == 200
    return words_of(response.text)


def the_id(ada) -> str:
    return str(rows(ada, "SELECT id FROM facts ORDER BY id")[-1][0])


def test_a_newer_fact_takes_the_place_of_an_older_one(reader):
    assert "It is kept. " in stated(reader, since="2024-03-01")
    page = stated(reader, object="Lisbon", since="2024-06-01")
    assert "It is kept. 1 fact ended for it." in page
    assert ("lives in Lisbon" in page, "lives in Bern" in page) == (True, False)


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ({"day": "2024-02-29"}, set()),
        ({"day": "2024-03-01"}, {"Bern"}),
        ({"day": "2024-05-31"}, {"Bern"}),
        ({"day": "2024-06-01"}, {"Lisbon"}),
        ({"ended": "yes"}, {"Bern", "Lisbon"}),
        ({"subject": "robin"}, {"Lisbon"}),
        ({"subject": "Ada"}, set()),
        ({"space": "work"}, set()),
    ],
)
def test_what_was_true_on_a_day_is_shown(reader, query, shown):
    stated(reader, since="2024-03-01")
    stated(reader, object="Lisbon", since="2024-06-01")
    text = words_of(reader.get("/facts", query_string=query).text)
    assert {place for place in ("Bern", "Lisbon") if f"lives in {place}" in text} == shown


def test_facts_stay_true_beside_one_that_is_said_to_be_one_of_many(reader):
    for name in ("Ada", "Bob"):
        page = stated(reader, predicate="knows", object=name, beside="true")
    assert ("knows Ada" in page, "knows Bob" in page) == (True, True)


def test_what_is_known_is_said_so(reader):
    stated(reader)
    assert "That was known." in stated(reader, object="bern")


def test_a_fact_is_ended_and_stays_on_record(reader, ada):
    stated(reader)
    page = words_of(reader.post(f"/facts/{the_id(ada)}/end", follow_redirects=True).text)
    assert ("stays on record" in page, "lives in Bern" in page) == (True, False)
    assert "lives in Bern" in words_of(reader.get("/facts?ended=yes").text)
    assert "Nothing is known yet." not in page
    assert "Nothing of it is true now. It has ended, or is still to begin: all there were ." in page
    assert "No fact fits these filters." in words_of(reader.get("/facts?subject=ada").text)


def test_what_is_still_to_begin_is_said_to_be_so(reader):
    page = stated(reader, since="2199-03-01")
    assert ("It is kept, and true from 2199-03-01 on." in page, "lives in Bern" in page) == (True, False)
    shown = reader.get("/facts?day=2199-02-28")
    assert "Nothing of it is true on that day." in words_of(shown.text)
    links = re.findall(r'<a href="(/facts[?][^"]*)">all there were</a>', shown.text)
    assert ["lives in Bern" in words_of(reader.get(each).text) for each in links] == [True]


def test_what_is_done_to_a_fact_says_to_which(reader, read):
    stated(reader, object='"Lisbon"')
    page = reader.get("/facts").text
    both = ['Robin lives in "Lisbon"', "user lives in Bern"]
    for said in ("Put it right", "True no longer", "Delete…", "Delete for good"):
        assert names_of(page, said) == [f"{said}: {each}" for each in both]
    assert names_of(page, "That is right") == ["That is right: user lives in Bern"]


def test_a_fact_is_deleted(reader, ada):
    stated(reader)
    assert "The fact is deleted." in words_of(reader.post(f"/facts/{the_id(ada)}/delete", follow_redirects=True).text)
    assert rows(ada, "SELECT 1 FROM facts") == []


def test_a_field_that_does_not_fit_brings_the_form_back_as_it_was_filled(reader, ada):
    response = reader.post("/facts", data={**FACT, "predicate": " "})
    assert (response.status_code, 'value="Bern"' in response.text) == (422, True)
    assert "What of it: must not be empty." in words_of(response.text)
    assert rows(ada, "SELECT 1 FROM facts") == []


def test_with_memory_off_the_form_comes_back_and_says_so(reader, agent, ada):
    agent.patch("/v1/spaces/work", {"memory_enabled": False})
    response = reader.post("/facts", data={**FACT, "space": "work"})
    assert (response.status_code, 'value="Bern"' in response.text) == (409, True)
    assert "memory is off" in words_of(response.text)
    assert rows(ada, "SELECT 1 FROM facts") == []


def test_incognito_shows_and_keeps_nothing(reader, ada):
    stated(reader)
    reader.post("/incognito/start")
    assert "lives in Bern" not in words_of(reader.get("/facts").text)
    response = reader.post("/facts", data={**FACT, "object": "Porto"})
    assert (response.status_code, "lives in" in words_of(response.text).replace("as “lives in”", "")) == (409, False)
    assert reader.post(f"/facts/{the_id(ada)}/end").status_code == 409
    assert [each for (each,) in rows(ada, "SELECT object FROM facts")] == ["Bern"]


def test_further_facts_are_loaded(reader):
    for number in range(21):
        stated(reader, predicate="has seen", object=f"island {number}", beside="true")
    first = reader.get("/facts")
    further = re.search(r'hx-get="(/facts\?cursor=[^"]*)"', first.text)
    assert further is not None
    part = reader.get(further[1].replace("&amp;", "&"), headers={"HX-Request": "true"})
    assert (first.text.count("has seen <strong>"), part.text.count("has seen <strong>")) == (20, 1)


def test_the_page_of_entities_leads_there(reader):
    assert 'href="/facts"' in reader.get("/entities").text


@pytest.fixture
def fact(reader, ada):
    stated(reader, since="2024-03-01")
    return f"/facts/{the_id(ada)}"


def shown(reader, fact) -> dict[str, str]:
    """Return what the form of a fact has in its fields."""
    page = reader.get(fact).text.partition('<form method="post" action="/facts/')[2].partition("</form>")[0]
    return dict(re.findall(r'<input[^>]*name="(\w+)"[^>]*value="([^"]*)"', page))


def test_a_fact_is_put_right(reader, fact, ada):
    form = reader.get(fact).text
    assert ('value="Bern"' in form, 'value="2024-03-01"' in form) == (True, True)
    page = words_of(reader.post(fact, data={**shown(reader, fact), "object": "Berne"}, follow_redirects=True).text)
    assert ("It is put right." in page, "lives in Berne" in page) == (True, True)
    (details,) = rows(ada, "SELECT details FROM audit_events WHERE action = 'fact.corrected'")
    assert details == ({"fields": ["object"], "ended": []},)


def test_what_is_left_in_the_form_as_it_was_stays_as_it_is_by_now(reader, agent, fact, ada):
    agent.patch(f"/v1{fact}", {"valid_from": "2024-03-01T10:30:00Z"})
    form = shown(reader, fact)
    agent.patch(f"/v1{fact}", {"valid_until": "2024-06-01T12:00:00Z"})
    assert reader.post(fact, data={**form, "object": "Berne"}).status_code == 303
    told = agent.get(f"/v1{fact}").json
    assert [told[name] for name in ("object", "valid_from", "valid_until")] == [
        "Berne",
        "2024-03-01T10:30:00+00:00",
        "2024-06-01T12:00:00+00:00",
    ]


def test_a_fact_that_has_ended_does_not_end_once_more(reader, agent, fact):
    agent.patch(f"/v1{fact}", {"valid_until": "2024-06-01T12:00:00Z"})
    assert "It had ended already, on 2024-06-01." in words_of(reader.post(f"{fact}/end", follow_redirects=True).text)
    assert agent.get(f"/v1{fact}").json["valid_until"] == "2024-06-01T12:00:00+00:00"


def test_a_fact_that_has_not_begun_is_not_true_and_cannot_end(reader):
    page = stated(reader, since="2924-03-01")
    assert "lives in Bern" not in page
    text = words_of(reader.get("/facts?ended=yes").text)
    assert ("lives in Bern" in text, "True no longer" in text) == (True, False)


def test_a_fact_ends_on_a_day_and_is_made_true_again(reader, fact):
    reader.post(fact, data={**shown(reader, fact), "until": "2024-06-01"})
    days = [words_of(reader.get(f"/facts?day={day}").text) for day in ("2024-05-31", "2024-06-01")]
    assert ["lives in Bern" in page for page in days] == [True, False]
    assert 'value="2024-06-01"' in reader.get(fact).text
    reader.post(fact, data={**shown(reader, fact), "until": ""})
    assert "lives in Bern" in words_of(reader.get("/facts").text)


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"object": " "}, "object", "Where, whom or what: must not be empty."),
        ({"since": "2024-07-01"}, "since", "Since: must not be after it ended."),
        ({"until": "2024-02-01"}, "until", "The day it ended: must not be before it began."),
        ({"until": "2024-07-01"}, "until", "The day it ended: must not be after 2024-06-01"),
        ({"since": "soon"}, "since", "Since: "),
    ],
)
def test_a_correction_that_does_not_fit_brings_the_form_back(reader, fact, given, field, said):
    stated(reader, object="Lisbon", since="2024-06-01")
    before = words_of(reader.get("/facts?ended=yes").text)
    response = reader.post(fact, data={**shown(reader, fact), **given})
    assert (response.status_code, said in words_of(response.text)) == (422, True)
    assert re.search(rf'<input id="{field}"[^>]*aria-invalid="true"', response.text)
    assert words_of(reader.get("/facts?ended=yes").text) == before


def test_nobody_elses_fact_is_shown_or_put_right(app, fact, bob):
    other = at_browser(app, bob)
    answers = [other.get(fact), other.post(fact, data={"object": "Porto", "since": "2024-03-01"})]
    assert [answer.status_code for answer in answers] == [404, 404]


def test_while_incognito_no_fact_is_shown_or_put_right(reader, fact):
    reader.post("/incognito/start")
    answers = [reader.get(fact), reader.post(fact, data={"object": "Porto", "since": "2024-03-01"})]
    assert [(answer.status_code, "Bern" in answer.text) for answer in answers] == [(409, False)] * 2


def test_a_day_before_the_calendar_in_the_zone_brings_the_form_back(reader, agent):
    agent.ask("PUT", "/v1/preferences", json={"document": "---\ntime_zone: Pacific/Auckland\n---\n"})
    assert reader.post("/facts", data={**FACT, "since": "0001-01-01"}).status_code == 422


# What a model has read


@pytest.fixture
def read(agent, ada):
    """A fact that was read out of the second message of a conversation."""
    talk = Talk(agent)
    talk.turn("Hello", "Hello!")
    message = UUID(talk.say("I live in Bern now")["id"])
    with ada.session() as session:
        space = get_space(session, ada.id, "default")
        said = Statement("user", "lives in", "Bern", 0.7, source_message_id=message)
        keys, now = ada.runtime.keys, utc_now()
        state(session, ada.id, space.id, said, keys=keys, now=now, actor="test", extracted=True)
    return talk


def test_what_a_model_has_read_leads_to_where_it_was_said(reader, read):
    page = reader.get("/facts").text
    assert "read by a model out of" in page
    assert f'href="{read.page}?at=3#m-3"' in page
    stated(reader, object="Lisbon")
    only = words_of(reader.get("/facts", query_string={"extracted": "yes"}).text)
    assert ("lives in Bern" in only, "lives in Lisbon" in only) == (True, False)


def test_who_confirms_it_has_stated_it(reader, read, ada):
    fact = the_id(ada)
    assert "That is right" in reader.get("/facts").text
    page = words_of(reader.post(f"/facts/{fact}/confirm", follow_redirects=True).text)
    assert ("It counts as stated by you." in page, "That is right" in page, "from message 3" in page) == (
        True,
        False,
        True,
    )
    assert rows(ada, "SELECT extracted FROM facts") == [(False,)]


def test_who_confirms_it_is_told_what_ended_for_it(reader, read, ada):
    stated(reader, subject="user", object="Porto", since="2020-03-01")
    (fact,) = (str(each) for (each,) in rows(ada, "SELECT id FROM facts WHERE extracted"))
    page = words_of(reader.post(f"/facts/{fact}/confirm", follow_redirects=True).text)
    assert "It counts as stated by you. 1 fact ended for it." in page


def test_all_that_a_model_has_read_in_a_space_is_deleted_at_once(reader, read, ada, agent):
    stated(reader, object="Lisbon")
    agent.tool("fact_search", query="Where do I live?")
    listed = "/facts?space=default&extracted=yes"
    offer = "1 fact in default goes for good"
    assert [
        offer in words_of(reader.get(each).text) for each in (listed, "/facts?extracted=yes", "/facts?space=default")
    ] == [
        True,
        False,
        False,
    ]
    assert reader.post("/facts/read/delete").status_code == 422
    assert reader.post("/facts/read/delete", data={"space": "work"}).status_code == 303
    assert len(rows(ada, "SELECT 1 FROM facts")) == 2
    page = words_of(reader.post("/facts/read/delete", data={"space": "default"}, follow_redirects=True).text)
    assert "1 fact that a model had read is deleted." in page
    assert rows(ada, "SELECT object FROM facts") == [("Lisbon",)]
    assert rows(ada, "SELECT arguments FROM tool_calls WHERE tool = 'fact_search'") == [({"redacted": True},)]
    assert rows(ada, "SELECT count FROM audit_events WHERE action = 'fact.deleted'") == [(1,)]
    # The next conversation may say it again.
    again = reader.post("/facts", data={**FACT, "subject": "user"})
    assert (again.status_code, "forgotten less than 24 hours ago" in words_of(again.text)) == (409, True)


def test_who_goes_through_a_list_stays_in_it(reader, read, ada):
    fact, listed = the_id(ada), "http://localhost/facts?extracted=yes"
    for address, before, after in (
        (f"/facts/{fact}/confirm", listed, "/facts?extracted=yes"),
        (f"/facts/{fact}/end", f"http://localhost/facts/{fact}", "/facts"),
        (f"/facts/{fact}/delete", "http://elsewhere.example/facts?x=1", "/facts"),
    ):
        assert reader.post(address, headers={"Referer": before}).location == after


def test_who_puts_a_fact_right_comes_back_to_the_list_that_it_was_in(reader, ada):
    stated(reader)
    listed = "/facts?subject=robin&ended=yes"
    (link,) = re.findall(r'href="([^"]*)"[^>]*>Put it right<', reader.get(listed).text)
    form = reader.get(unescape(link)).text
    assert f'href="{escape(listed)}">facts<' in form
    (back,) = re.findall(r'name="next" value="(/facts[?][^"]*)"', form)
    fields = {"object": "Porto", "since": "", "next": unescape(back)}
    refused = reader.post(f"/facts/{the_id(ada)}", data=fields)
    assert (refused.status_code, f'name="next" value="{back}"' in refused.text) == (422, True)
    saved = reader.post(f"/facts/{the_id(ada)}", data={**fields, "since": "2024-03-01"})
    assert (saved.status_code, saved.location) == (303, listed)


@pytest.mark.parametrize("query", ["day=never", "next=//elsewhere.example"])
def test_an_address_that_is_no_list_leads_back_to_all_facts(reader, ada, query):
    stated(reader)
    assert '<a href="/facts">facts</a>' in reader.get(f"/facts/{the_id(ada)}?{query}").text
    fields = {"object": "Porto", "since": "2024-03-01", "next": "//elsewhere.example"}
    assert reader.post(f"/facts/{the_id(ada)}", data=fields).location == "/facts"


def test_a_conversation_leads_to_the_facts_of_it_and_says_that_they_go_along(reader, read, ada):
    (link,) = re.findall(r'href="(/facts[^"]*)">1 fact<', reader.get(read.page).text)
    page = words_of(reader.get(unescape(link)).text)
    assert ("lives in Bern" in page, "Of one conversation" in page) == (True, True)
    assert "1 fact that a model read out of it goes, too." in words_of(reader.get(f"{read.page}/delete").text)
    gone = words_of(reader.post(f"{read.page}/delete", follow_redirects=True).text)
    assert "1 fact that a model had read out of it went, too." in gone
    assert rows(ada, "SELECT 1 FROM facts") == []
