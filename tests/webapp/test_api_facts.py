"""Facts over HTTP: a newer one ends what it contradicts, and nothing is lost but what is deleted or forgotten."""

from __future__ import annotations

from datetime import timedelta

import pytest
from api_agent import NOBODYS_ID, Agent, add_space, fields, rows
from api_facts import AUTUMN, FACTS, SPRING, SUMMER, stated, told
from api_talk import Talk
from sqlalchemy import select

from memory.clock import utc_now
from memory.facts.facts import Statement, state
from memory.forgetting.forget import UNDO_WINDOW
from memory.forgetting.purge import purge
from memory.models import Space
from memory.storage.database import user_session


def spans(agent, **query):
    return {
        fact["object"]: (fact["valid_from"], fact["valid_until"])
        for fact in agent.get(FACTS, ended=True, **query).json["facts"]
    }


def test_a_newer_fact_ends_what_it_contradicts(agent):
    older = stated(agent, "Bern", valid_from=SPRING)
    newer = stated(agent, "Lisbon", subject=" ROBIN ", predicate="Lives  in", valid_from=SUMMER)
    assert (older["created"], older["ended"], newer["ended"]) == (True, [], [older["id"]])
    assert told(agent) == ["Lisbon"]
    assert spans(agent) == {"Bern": (SPRING, SUMMER), "Lisbon": (SUMMER, None)}


def test_a_name_is_the_same_in_every_unicode_form(agent):
    older = stated(agent, "Bern", subject="Zoe\u0308", valid_from=SPRING)
    assert stated(agent, "Lisbon", subject="Zo\u00eb", valid_from=SUMMER)["ended"] == [older["id"]]
    assert agent.post(FACTS, {"subject": "\ufdfa" * 200, "predicate": "is", "object": "long"}).status_code == 422


def test_what_was_true_can_be_asked(agent):
    stated(agent, "Bern", valid_from=SPRING)
    stated(agent, "Lisbon", valid_from=SUMMER)
    asked = ["2024-02-01T00:00:00Z", SPRING, "2024-05-31T23:59:59Z", SUMMER]
    assert [told(agent, at=moment) for moment in asked] == [[], ["Bern"], ["Bern"], ["Lisbon"]]


def test_a_fact_that_is_told_late_ends_when_the_next_begins(agent):
    stated(agent, "Porto", valid_from=AUTUMN)
    stated(agent, "Bern", valid_from=SPRING)
    assert spans(agent) == {"Bern": (SPRING, AUTUMN), "Porto": (AUTUMN, None)}
    stated(agent, "Lisbon", valid_from=SUMMER)
    assert spans(agent) == {"Bern": (SPRING, SUMMER), "Lisbon": (SUMMER, AUTUMN), "Porto": (AUTUMN, None)}


def test_what_is_not_single_stays_true_beside_others(agent):
    for name in ("Ada", "Bob"):
        stated(agent, name, predicate="knows", single=False)
    assert sorted(told(agent, predicate="KNOWS")) == ["Ada", "Bob"]


@pytest.mark.parametrize("other", [{"subject": "Ada"}, {"predicate": "was born in"}, {"space": "work"}])
def test_what_is_about_something_else_contradicts_nothing(agent, ada, other):
    add_space(ada, "work")
    stated(agent, "Bern")
    assert stated(agent, "Lisbon", **other)["ended"] == []
    assert sorted(told(agent)) == ["Bern", "Lisbon"]


def test_a_fact_that_is_told_again_stays_one_with_the_higher_confidence(agent):
    first = stated(agent, "Bern", confidence=0.4)
    again = agent.post(FACTS, {"subject": "robin", "predicate": "lives in", "object": "BERN", "confidence": 0.8})
    assert (again.status_code, again.json) == (200, {**first, "created": False})
    stated(agent, "Bern", confidence=0.1)
    assert [fact["confidence"] for fact in agent.get(FACTS).json["facts"]] == [0.8]


def test_a_fact_that_two_state_at_once_stays_one(agent, ada, runtime):
    """Who came first may be the second to have the space, by the moment at which it came."""
    known, earlier = stated(agent, "Bern"), utc_now() - timedelta(seconds=1)
    said = Statement("Robin", "lives in", "Bern")
    with user_session(runtime.sessions, ada.id) as session:
        (space_id,) = session.scalars(select(Space.id).where(Space.slug == "default"))
        again = state(session, ada.id, space_id, said, keys=runtime.keys, now=earlier, actor="test")
        assert (again.created, str(again.fact.id)) == (False, known["id"])
    # What was true before is another matter.
    assert stated(agent, "Bern", valid_from=SPRING)["created"]


def test_a_fact_that_comes_back_is_true_again_from_then(agent):
    for place, since in (("Bern", SPRING), ("Lisbon", SUMMER), ("Bern", AUTUMN)):
        stated(agent, place, valid_from=since)
    found = agent.get(FACTS, ended=True).json["facts"]
    assert [(fact["object"], fact["valid_until"]) for fact in found] == [
        ("Bern", None),
        ("Lisbon", AUTUMN),
        ("Bern", SUMMER),
    ]


def test_a_fact_has_the_message_that_said_it_until_that_is_deleted(agent):
    talk = Talk(agent)
    message = talk.say("I live in Bern now")["id"]
    fact = stated(agent, "Bern", source_message_id=message)["id"]
    assert agent.get(f"{FACTS}/{fact}").json["source_message_id"] == message
    agent.delete(talk.path)
    assert agent.get(f"{FACTS}/{fact}").json["source_message_id"] is None


def test_a_message_of_another_space_is_no_source(agent, ada):
    message = Talk(agent, space=add_space(ada, "work")).say("I live in Bern now")["id"]
    body = {"subject": "Robin", "predicate": "lives in", "object": "Bern", "source_message_id": message}
    assert fields(agent.post(FACTS, body)) == ["source_message_id"]


def correct(agent, fact, **changes):
    return agent.patch(f"{FACTS}/{fact}", changes)


def test_a_fact_that_is_ended_stays_on_record(agent):
    fact = stated(agent, "Bern", valid_from=SPRING)["id"]
    answer = {"id": fact, "valid_from": SPRING, "valid_until": SUMMER, "ended": []}
    assert correct(agent, fact, valid_until=SUMMER).json == answer
    assert (told(agent), told(agent, ended=True)) == ([], ["Bern"])


def test_a_fact_that_was_ended_can_be_made_true_again(agent):
    fact = stated(agent, "Bern", valid_from=SPRING)["id"]
    correct(agent, fact, valid_until=SUMMER)
    assert correct(agent, fact, valid_until=None).json["valid_until"] is None
    assert told(agent) == ["Bern"]


def test_what_is_wrong_is_put_right(agent, ada):
    fact = stated(agent, "Bremen", valid_from=SUMMER)["id"]
    assert correct(agent, fact, object="Bern", confidence=0.5, valid_from=SPRING).status_code == 200
    found = agent.get(f"{FACTS}/{fact}").json
    assert [found[name] for name in ("object", "confidence", "valid_from")] == ["Bern", 0.5, SPRING]
    (details,) = rows(ada, "SELECT details FROM audit_events WHERE action = 'fact.corrected'")
    assert details == ({"fields": ["confidence", "object", "valid_from"], "ended": []},)


def test_a_fact_that_is_moved_after_what_contradicts_it_ends_that(agent):
    bern, lisbon = (
        stated(agent, place, valid_from=since)["id"] for place, since in (("Bern", SPRING), ("Lisbon", SUMMER))
    )
    assert correct(agent, bern, valid_from=AUTUMN, valid_until=None).json["ended"] == [lisbon]
    assert spans(agent) == {"Lisbon": (SUMMER, AUTUMN), "Bern": (AUTUMN, None)}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"valid_until": None}, "valid_until"),
        ({"valid_until": AUTUMN}, "valid_until"),
        ({"valid_until": "2024-02-01T00:00:00Z"}, "valid_until"),
        ({"valid_from": AUTUMN}, "valid_from"),
        ({"valid_from": None}, "valid_from"),
        ({"object": " "}, "object"),
        ({"object": None}, "object"),
        ({"confidence": 2}, "confidence"),
        ({"subject": "Ada"}, "subject"),
        ({}, "body"),
    ],
)
def test_a_correction_that_does_not_fit_changes_nothing(agent, changes, field):
    fact = stated(agent, "Bern", valid_from=SPRING)["id"]
    stated(agent, "Lisbon", valid_from=SUMMER)
    before = agent.get(FACTS, ended=True).json
    response = correct(agent, fact, **changes)
    assert (response.status_code, fields(response)) == (422, [field])
    assert agent.get(FACTS, ended=True).json == before


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        (
            {"valid_from": "2024-02-01T00:00:00Z"},
            "valid_from: must be after 2024-06-01 00:00 UTC, when another fact of this began",
        ),
        ({"valid_from": "2024-02-01T00:00:00Z", "valid_until": None}, "valid_from: must be after 2024-06-01 00:00 UTC"),
        (
            {"valid_from": "2024-02-01T00:00:00Z", "valid_until": AUTUMN},
            "valid_until: must not be after 2024-03-01 00:00 UTC",
        ),
        ({"valid_from": AUTUMN, "valid_until": SUMMER}, "valid_until: must not be before it began"),
    ],
)
def test_of_two_moments_the_one_that_does_not_fit_is_named(agent, changes, refused):
    for place, since in (("Bern", SPRING), ("Lisbon", SUMMER)):
        stated(agent, place, valid_from=since)
    fact = stated(agent, "Porto", valid_from=AUTUMN)["id"]
    assert refused in correct(agent, fact, **changes).json["detail"]


def test_an_end_that_is_said_as_it_was_is_not_what_is_refused(agent):
    fact = stated(agent, "Bern", valid_from=SPRING, valid_until=SUMMER)["id"]
    response = correct(agent, fact, valid_from=AUTUMN, valid_until=SUMMER)
    assert response.json["detail"] == "valid_from: must not be after it ended"


def test_what_is_known_already_is_not_made_of_another(agent):
    for name in ("Ada", "Bob"):
        fact = stated(agent, name, predicate="knows", single=False)["id"]
    assert fields(correct(agent, fact, object="ADA")) == ["object"]
    assert correct(agent, fact, object="BOB").status_code == 200
    assert sorted(told(agent)) == ["Ada", "BOB"]


def test_a_correction_that_changes_nothing_is_no_event(agent, ada):
    fact = stated(agent, "Bern", valid_from=SPRING)["id"]
    assert correct(agent, fact, object="Bern", confidence=1, valid_from=SPRING, valid_until=None).status_code == 200
    assert rows(ada, "SELECT 1 FROM audit_events WHERE action = 'fact.corrected'") == []


def test_what_was_put_right_is_in_no_call_any_more(agent, ada):
    fact = agent.tool("fact_add", subject="Robin", predicate="lives in", object="Bremen").json["id"]
    correct(agent, fact, confidence=0.5)
    assert "Bremen" in str(rows(ada, "SELECT arguments FROM tool_calls"))
    correct(agent, fact, object="Bern")
    assert rows(ada, "SELECT arguments FROM tool_calls") == [({"redacted": True},)]


def test_all_there_were_and_those_of_a_moment_are_not_asked_at_once(agent):
    assert fields(agent.get(FACTS, at=SPRING, ended=True)) == ["ended"]


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("Where does ROBIN  live?", {"Bern"}),
        ("Who lives in Bern?", {"Bern"}),
        ("What of Ada, and of Robin's?", {"Bern", "C++"}),
        ("Is c++ still used?", {"C++"}),
        ("Robinson and MacRobin, Bernese, a hibernbern, Adamant, c+", set()),
        ("Wer war in der STRASSE?", {"Straße"}),
        ("Kde je Jose\u0301, a co je \u0130zmir?", {"\u0130zmir"}),
        ("私は東京に住む", {"東京"}),
        ("東に京都", set()),
    ],
)
def test_a_question_brings_the_facts_of_what_it_names(agent, question, named):
    stated(agent, "Bern")
    stated(agent, "C++", subject="Ada", predicate="writes")
    stated(agent, "Straße", subject="Wege", predicate="heißt")
    stated(agent, "\u0130zmir", subject="Jos\u00e9", predicate="comes from")
    stated(agent, "東京", subject="Yuki", predicate="lives in")
    assert set(told(agent, q=question)) == named


def test_a_fact_that_is_deleted_is_gone(agent, ada):
    fact = stated(agent, "Bern")["id"]
    assert agent.delete(f"{FACTS}/{fact}").json == {"id": fact, "deleted": True}
    assert (told(agent, ended=True), agent.get(f"{FACTS}/{fact}").status_code) == ([], 404)
    actions = [
        action for (action,) in rows(ada, "SELECT action FROM audit_events WHERE action LIKE 'fact.%' ORDER BY id")
    ]
    assert actions == ["fact.stated", "fact.deleted"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"subject": " "}, "subject"),
        ({"object": "\u200b"}, "object"),
        ({"predicate": "x" * 201}, "predicate"),
        ({"object": "x" * 2001}, "object"),
        ({"object": "a\x00b"}, "object"),
        ({"confidence": 1.5}, "confidence"),
        ({"valid_from": "2024-05-01T10:00:00"}, "valid_from"),
        ({"source_message_id": NOBODYS_ID}, "source_message_id"),
        ({"space": "nowhere"}, "space"),
        ({"certainty": 1}, "certainty"),
    ],
)
def test_a_bad_field_states_nothing(agent, ada, body, field):
    response = agent.post(FACTS, {"subject": "Robin", "predicate": "lives in", "object": "Bern", **body})
    assert (response.status_code, fields(response)) == (422, [field])
    assert rows(ada, "SELECT 1 FROM facts") == []


def test_pages_have_each_fact_once(agent):
    for number in range(5):
        stated(agent, f"island {number}", predicate="has seen", single=False)
    first = agent.get(FACTS, limit=3).json
    rest = agent.get(FACTS, limit=3, cursor=first["next_cursor"]).json
    assert [fact["object"][-1] for fact in first["facts"] + rest["facts"]] == list("43210")
    assert rest["next_cursor"] is None
    assert agent.get(FACTS, limit=5).json["next_cursor"] is None, "nothing comes after a page that is just full"


# --- who is told ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_nobody_else_meets_a_fact(agent, stranger, client, ada, method):
    fact = stated(agent, "Bern")["id"]
    confined = Agent(client, ada.new_token("read", "write", "forget", space=add_space(ada, "work")))
    for who in (stranger, confined):
        body = {"json": {"object": "Lisbon"}} if method == "PATCH" else {}
        assert who.ask(method, f"{FACTS}/{fact}", **body).status_code == 404
        assert told(who) == []
    assert told(agent) == ["Bern"]


def test_a_confined_token_learns_of_no_message_of_another_space(agent, client, ada):
    work = add_space(ada, "work")
    confined = Agent(client, ada.new_token("read", space=work))
    talk = Talk(agent, space=work)
    said = talk.say("Robin lives in Bern")["id"]
    fact = stated(agent, "Bern", space=work, source_message_id=said)["id"]

    def sources(who):
        each = (who.get(f"{FACTS}/{fact}").json, *who.get(FACTS).json["facts"])
        return {f["source_message_id"] for f in (*each, *who.tool("fact_search", query="Robin").json["facts"])}

    assert (sources(confined), told(confined, conversation=talk.id)) == ({said}, ["Bern"])
    assert talk.change(space="default").status_code == 200
    assert (sources(confined), told(confined, conversation=talk.id)) == ({None}, [])
    assert (sources(agent), told(agent, conversation=talk.id)) == ({said}, ["Bern"])


def test_the_database_shows_nobody_the_facts_of_others(agent, bob):
    stated(agent, "Bern")
    assert rows(bob, "SELECT 1 FROM facts") == []


def test_incognito_states_and_tells_nothing(agent):
    fact = stated(agent, "Bern")["id"]
    hidden = agent.in_session("s")
    hidden.post("/v1/memory/incognito/start", {"session": "s"})
    body = {"subject": "Robin", "predicate": "lives in", "object": "Lisbon"}
    refused = [hidden.post(FACTS, body), hidden.get(f"{FACTS}/{fact}"), correct(hidden, fact, object="Porto")]
    assert [answer.status_code for answer in refused] == [409, 409, 409]
    assert hidden.get(FACTS).json == {"facts": [], "next_cursor": None, "skipped": "incognito"}
    assert told(agent) == ["Bern"]


def test_a_space_that_is_incognito_by_default_tells_none(agent, ada):
    add_space(ada, "diary")
    stated(agent, "Bern", space="diary")
    agent.patch("/v1/spaces/diary", {"incognito_default": True})
    assert told(agent) == []


def test_with_memory_off_nothing_is_stated(agent, ada):
    add_space(ada, "work")
    agent.patch("/v1/spaces/work", {"memory_enabled": False})
    body = {"subject": "Robin", "predicate": "lives in", "object": "Bern", "space": "work"}
    assert (agent.post(FACTS, body).status_code, rows(ada, "SELECT 1 FROM facts")) == (409, [])


def test_with_memory_off_what_is_there_stays_as_it_is(agent, ada):
    add_space(ada, "work")
    fact = stated(agent, "Bern", space="work")["id"]
    agent.patch("/v1/spaces/work", {"memory_enabled": False})
    assert correct(agent, fact, object="Lisbon").status_code == 409
    assert told(agent) == ["Bern"]


# --- what is forgotten, and what is removed -------------------------------------------------------------------------


def test_what_is_forgotten_for_good_is_no_fact(agent, ada):
    memory = agent.store("Robin lives in Bern, near the river")
    stated(agent, "Bern, near the river")
    stated(agent, "Ada", predicate="knows")
    agent.delete(f"/v1/memory/entries/{memory}")
    assert [each for (each,) in rows(ada, "SELECT object FROM facts")] == ["Ada"]


@pytest.mark.parametrize("corrected", [False, True])
def test_what_was_forgotten_is_not_stated(agent, ada, corrected):
    memory = agent.store("Robin lives in Bern, near the river.")
    fact = stated(agent, "Lisbon")["id"]
    agent.delete(f"/v1/memory/entries/{memory}")
    body = {"subject": "Robin", "predicate": "lives in", "object": "Bern, near the River"}
    refused = correct(agent, fact, object=body["object"]) if corrected else agent.post(FACTS, body)
    assert (refused.status_code, refused.json["reason"]) == (409, "tombstone")
    assert agent.tool("fact_add", **body).status_code == 409
    assert told(agent) == ["Lisbon"]
    assert "River" not in str(rows(ada, "SELECT arguments, error FROM tool_calls"))


@pytest.mark.parametrize("said", [{"space": "work"}, {"object": "Bern, near the river, and keeps bees"}])
def test_what_would_go_with_a_forgotten_text_is_not_stated(agent, ada, said):
    """It would be out of sight at once, and deleted as soon as the memory cannot be brought back any more."""
    add_space(ada, "work")
    memory = agent.store("Robin lives in Bern, near the river")
    agent.delete(f"/v1/memory/entries/{memory}", undo=True)
    body = {"subject": "Robin", "predicate": "lives in", "object": "Bern, near the river", **said}
    refused = agent.post(FACTS, body)
    assert (refused.status_code, refused.json["reason"]) == (409, "tombstone")
    assert agent.post(FACTS, {**body, "object": "Bern"}).status_code == 201
    agent.post(f"/v1/memory/entries/{memory}/restore")
    assert agent.post(FACTS, body).status_code == 201


def test_what_is_marked_as_recalled_is_not_stated(agent):
    body = {"subject": "<memory a1b2c3d4e5 id=1>", "predicate": "lives in", "object": "Bern"}
    refused = agent.post(FACTS, body)
    assert (refused.status_code, refused.json["reason"], told(agent)) == (409, "recalled", [])


def test_what_can_be_brought_back_is_told_by_no_fact_until_then(agent, ada, runtime):
    memory = agent.store("Robin lives in Bern, near the river")
    fact = stated(agent, "Bern, near the river")["id"]
    agent.delete(f"/v1/memory/entries/{memory}", undo=True)
    assert (told(agent), agent.get(f"{FACTS}/{fact}").status_code) == ([], 404)
    assert "river" not in agent.get("/v1/export").text
    agent.post(f"/v1/memory/entries/{memory}/restore")
    assert told(agent) == ["Bern, near the river"]
    agent.delete(f"/v1/memory/entries/{memory}", undo=True)
    with user_session(runtime.sessions, ada.id) as session:
        purge(session, ada.id, keys=runtime.keys, now=utc_now() + UNDO_WINDOW + timedelta(seconds=1))
    assert rows(ada, "SELECT 1 FROM facts") == []


@pytest.mark.parametrize(
    ("contents", "true_now", "ever"),
    [
        ("move", ["Lisbon"], ["Lisbon", "Bern"]),
        ("archive", ["Bern"], ["Lisbon", "Bern"]),
        ("forget", ["Bern"], ["Bern"]),
    ],
)
def test_facts_of_a_removed_space_move_end_or_go(agent, ada, contents, true_now, ever):
    add_space(ada, "work")
    stated(agent, "Bern", valid_from=SPRING)
    stated(agent, "Lisbon", valid_from=SUMMER, space="work")
    expect = agent.get("/v1/spaces/work/contents").json["expect"]
    removed = agent.delete("/v1/spaces/work", contents=contents, expect=expect)
    assert removed.status_code == 200, removed.json
    assert (told(agent), told(agent, ended=True)) == (true_now, ever)


# --- the tools ------------------------------------------------------------------------------------------------------


def test_a_tool_states_and_another_finds(agent, ada):
    first = agent.tool("fact_add", subject="Robin", predicate="lives in", object="Bern", valid_from=SPRING)
    second = agent.tool("fact_add", subject="Robin", predicate="lives in", object="Lisbon", valid_from=SUMMER)
    again = agent.tool("fact_add", subject="Robin", predicate="lives in", object="Lisbon")
    assert [(each.status_code, each.json["created"]) for each in (first, second, again)] == [
        (201, True),
        (201, True),
        (200, False),
    ]
    assert second.json["ended"] == [first.json["id"]]
    found = agent.tool("fact_search", query="Where does Robin live?").json
    assert ([each["object"] for each in found["facts"]], found["more"], found["degraded"]) == (["Lisbon"], False, [])
    assert [each["object"] for each in agent.tool("fact_search", at=SPRING).json["facts"]] == ["Bern"]
    for asked in ({"query": "Where does Ada live?"}, {"subject": "Ada"}, {"predicate": "knows"}):
        assert agent.tool("fact_search", **asked).json["facts"] == []
    calls = rows(ada, "SELECT operation, affected_ids::text[], hits FROM tool_calls ORDER BY id LIMIT 4")
    ids = [[first.json["id"]], [second.json["id"]], [second.json["id"]], [second.json["id"]]]
    assert calls == [
        (kind, each, hits)
        for kind, each, hits in zip(("create", "create", "create", "search"), ids, (None, None, None, 1), strict=True)
    ]


@pytest.mark.parametrize(
    ("question", "places"),
    [
        ("Where did Robin live in 2019?", ["Bern"]),
        ("Where did Robin live in 2021?", ["Lisbon", "Bern"]),
        ("Where did Robin live before 2021?", ["Faro"]),
        ("Where does Robin live?", ["Faro"]),
        # Nothing was stated of that time.
        ("Where did Robin live in 1999?", ["Faro"]),
    ],
)
def test_a_question_about_the_past_is_answered_with_what_was_true_then(agent, question, places):
    for place, year in (("Bern", 2015), ("Lisbon", 2021), ("Faro", 2024)):
        stated(agent, place, valid_from=f"{year}-06-01T00:00:00Z")
    assert [each["object"] for each in agent.tool("fact_search", query=question).json["facts"]] == places


def test_a_moment_that_is_given_holds_against_the_one_that_is_named(agent):
    for place, year in (("Bern", 2015), ("Faro", 2024)):
        stated(agent, place, valid_from=f"{year}-06-01T00:00:00Z")
    asked = "Where did Robin live in 2016?"
    for year, places in ((2025, ["Faro"]), (2000, [])):
        found = agent.tool("fact_search", query=asked, at=f"{year}-01-01T00:00:00Z").json["facts"]
        assert [each["object"] for each in found] == places


@pytest.mark.parametrize("subject", ["user", "The user", "I", "me"])
@pytest.mark.parametrize(
    "question", ["Where do I live?", "Where does the user live?", "What's my address?", "the user's town"]
)
def test_the_user_is_found_by_whatever_they_are_called(agent, subject, question):
    stated(agent, "Porto", subject=subject)
    stated(agent, "Faro", subject="Ida")
    assert [each["object"] for each in agent.tool("fact_search", query=question).json["facts"]] == ["Porto"]
    assert [each["object"] for each in agent.tool("fact_search", query="Where does Ida live?").json["facts"]] == [
        "Faro"
    ]


def test_a_tool_ends_a_fact_that_nothing_follows(agent):
    fact = agent.tool("fact_add", subject="Robin", predicate="works at", object="Acme", valid_from=SPRING).json["id"]
    ended = agent.tool("fact_update", fact_id=fact, valid_until=SUMMER).json
    assert ended == {"id": fact, "valid_from": SPRING, "valid_until": SUMMER, "ended": []}
    assert agent.tool("fact_search", query="Robin").json["facts"] == []
    assert [each["id"] for each in agent.tool("fact_search", query="Robin", at=SPRING).json["facts"]] == [fact]
    assert fields(agent.tool("fact_update", fact_id=fact, valid_until="2024-01-01T00:00:00Z")) == ["valid_until"]


def test_a_tool_states_what_is_over(agent):
    stated(agent, "Lisbon", valid_from=AUTUMN)
    over = {"subject": "Robin", "predicate": "lives in", "valid_from": SPRING, "valid_until": SUMMER}
    assert agent.tool("fact_add", object="Bern", **over).json["ended"] == []
    assert spans(agent) == {"Bern": (SPRING, SUMMER), "Lisbon": (AUTUMN, None)}
    assert agent.tool("fact_add", object="Bern", **over).json["created"] is False
    assert told(agent) == ["Lisbon"]


def test_what_is_stated_ends_at_the_latest_when_the_next_begins(agent):
    stated(agent, "Lisbon", valid_from=SUMMER)
    for created in (True, False):
        kept = stated(agent, "Bern", valid_from=SPRING, valid_until=AUTUMN)
        assert (kept["valid_until"], kept["created"]) == (SUMMER, created)


@pytest.mark.parametrize("more", [{"valid_from": SUMMER}, {"valid_from": AUTUMN}, {}])
def test_no_fact_ends_before_it_begins(agent, more):
    refused = agent.tool("fact_add", subject="Robin", predicate="lives in", object="Bern", valid_until=SUMMER, **more)
    said = "valid_until: must be after valid_from, which is now unless it is given"
    assert (refused.json["detail"], spans(agent)) == (said, {})


def test_what_goes_on_is_not_ended_by_stating_it_again(agent):
    fact = stated(agent, "Bern", valid_from=SPRING)["id"]
    again = {"subject": "Robin", "predicate": "lives in", "object": "Bern", "valid_from": SPRING}
    assert fact in agent.tool("fact_add", **again, valid_until=SUMMER).json["detail"]
    assert spans(agent) == {"Bern": (SPRING, None)}


def test_a_tool_puts_right_what_was_never_so(agent, ada):
    fact = agent.tool("fact_add", subject="Robin", predicate="works at", object="Acne Ltd").json["id"]
    agent.tool("fact_update", fact_id=fact, object="Acme Ltd", confidence=0.5)
    (found,) = agent.tool("fact_search", query="Robin").json["facts"]
    assert (found["object"], found["confidence"]) == ("Acme Ltd", 0.5)
    assert "Acne" not in str(rows(ada, "SELECT arguments FROM tool_calls"))


def test_a_tool_deletes_a_fact_for_good(agent, ada):
    fact = agent.tool("fact_add", subject="Robin", predicate="takes", object="ramipril").json["id"]
    assert agent.tool("fact_delete", fact_id=fact).json == {"id": fact, "deleted": True}
    assert spans(agent) == {}
    assert "ramipril" not in str(rows(ada, "SELECT arguments FROM tool_calls"))
    calls = rows(ada, "SELECT operation, success FROM tool_calls ORDER BY id")
    assert calls == [("create", True), ("delete", True)]
    assert agent.tool("fact_delete", fact_id=fact).status_code == 404


@pytest.mark.parametrize(("tool", "change"), [("fact_update", {"object": "Porto"}), ("fact_delete", {})])
def test_no_tool_changes_a_fact_that_its_caller_does_not_see(client, ada, bob, agent, tool, change):
    fact = stated(agent, "Bern")["id"]
    scopes = ("read", "write", "forget")
    confined = Agent(client, ada.new_token(*scopes, space=add_space(ada, "work")))
    for other in (confined, Agent(client, bob.new_token(*scopes))):
        refused = other.tool(tool, fact_id=fact, **change)
        assert (refused.status_code, refused.json["detail"][:21]) == (404, "there is no such fact")
    assert told(agent) == ["Bern"]


@pytest.mark.parametrize(
    ("tool", "scopes", "status"),
    [
        ("fact_update", ("read", "forget"), 403),
        ("fact_delete", ("read", "write"), 403),
        ("fact_update", ("write",), 200),
        ("fact_delete", ("forget",), 200),
    ],
)
def test_a_tool_of_facts_needs_the_scope_of_what_it_does(client, ada, agent, tool, scopes, status):
    change = {"confidence": 0.5} if tool == "fact_update" else {}
    response = Agent(client, ada.new_token(*scopes)).tool(tool, fact_id=stated(agent, "Bern")["id"], **change)
    assert response.status_code == status
    assert "Bern" not in response.text


def test_in_incognito_a_tool_changes_no_fact_but_deletes_it(agent):
    fact = stated(agent, "Bern")["id"]
    hidden = agent.in_session("s")
    hidden.post("/v1/memory/incognito/start", {"session": "s"})
    assert hidden.tool("fact_update", fact_id=fact, object="Porto").json["reason"] == "incognito"
    assert told(agent) == ["Bern"]
    assert hidden.tool("fact_delete", fact_id=fact).status_code == 200
    assert told(agent) == []


def test_there_is_more_than_was_asked_for(agent):
    for name in ("Ada", "Bob"):
        stated(agent, name, predicate="knows", single=False)
    found = agent.tool("fact_search", limit=1).json
    assert (len(found["facts"]), found["more"]) == (1, True)


def test_incognito_finds_nothing_by_a_tool(agent, ada):
    stated(agent, "Bern")
    hidden = agent.in_session("s")
    hidden.post("/v1/memory/incognito/start", {"session": "s"})
    assert hidden.tool("fact_search", query="Robin").json == {"facts": [], "more": False, "degraded": ["incognito"]}
    assert hidden.tool("fact_add", subject="Robin", predicate="lives in", object="Porto").status_code == 409
    assert "Robin" not in str(rows(ada, "SELECT arguments, error FROM tool_calls"))


def test_with_memory_off_a_tool_finds_nothing_and_the_list_is_its_owners(agent, ada):
    add_space(ada, "work")
    stated(agent, "Bern", space="work")
    stated(agent, "Ada", predicate="knows")
    agent.patch("/v1/spaces/work", {"memory_enabled": False})
    off = {"facts": [], "more": False, "degraded": ["memory_off"]}
    assert agent.tool("fact_search", query="Robin", space="work").json == off
    found = agent.tool("fact_search", query="Robin").json
    assert ([each["object"] for each in found["facts"]], found["degraded"]) == (["Ada"], [])
    assert (told(agent, space="work"), sorted(told(agent))) == (["Bern"], ["Ada", "Bern"])


@pytest.mark.parametrize("by", ["delete", "forget"])
def test_what_is_gone_is_in_no_call_either(agent, ada, by):
    memory = agent.store("Robin lives in Bern, near the river")
    fact = agent.tool("fact_add", subject="Robin", predicate="lives in", object="Bern, near the river").json["id"]
    assert "river" in str(rows(ada, "SELECT arguments FROM tool_calls"))
    agent.delete(f"{FACTS}/{fact}" if by == "delete" else f"/v1/memory/entries/{memory}")
    assert rows(ada, "SELECT arguments FROM tool_calls") == [({"redacted": True},)]


def test_what_can_be_brought_back_is_told_by_no_call_that_stated_it(agent):
    memory = agent.store("Robin lives in Bern, near the river")
    agent.tool("fact_add", subject="Robin", predicate="lives in", object="Bern, near the river")
    agent.delete(f"/v1/memory/entries/{memory}", undo=True)
    assert ["river" in agent.get(path).text for path in ("/v1/tool-calls", "/v1/export")] == [False, False]
    agent.post(f"/v1/memory/entries/{memory}/restore")
    assert "river" in agent.get("/v1/tool-calls").text


def test_a_space_that_is_incognito_by_default_shows_no_call_that_found_a_fact_of_it(agent, ada):
    add_space(ada, "diary")
    stated(agent, "Bern", space="diary")
    agent.tool("fact_search", query="Robin")
    assert "Robin" in agent.get("/v1/tool-calls").text
    agent.patch("/v1/spaces/diary", {"incognito_default": True})
    assert "Robin" not in agent.get("/v1/tool-calls").text
