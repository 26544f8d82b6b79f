"""`/v1/preferences` over HTTP."""

from __future__ import annotations

import pytest
from api_agent import Agent, add_space, fields, rows

PREFERENCES = "/v1/preferences"
DOCUMENT = """---
date_format: "YYYY-MM-DD"
response_style:
  verbosity: concise
  tone: warm
---

I use the PARA method.
"""
BAD = "---\ndate_format: 5\nresponse_style:\n  verbosity: loud\n---\n"


@pytest.fixture
def confined(client, ada):
    add_space(ada, "work")
    return Agent(client, ada.new_token("read", "write", space="work"))


def put(agent, document):
    return agent.ask("PUT", PREFERENCES, json={"document": document})


def test_a_document_is_put_in_force_and_read_back(agent):
    answer = put(agent, DOCUMENT)
    assert (answer.status_code, answer.json["version"], answer.json["new"]) == (200, 1, True)
    read = agent.get(PREFERENCES).json
    assert (read["document"], read["body"], read["source"]) == (DOCUMENT, "I use the PARA method.", "api")
    assert read["preferences"] == {
        "date_format": "YYYY-MM-DD",
        "time_format": "HH:mm",
        "time_zone": "UTC",
        "default_folders": {"meeting_notes": None, "daily_notes": None, "projects": None},
        "response_style": {"verbosity": "concise", "use_bullet_points": True, "include_timestamps": False},
    }


def test_unknown_keys_are_reported_with_their_line(agent):
    assert put(agent, DOCUMENT).json["unknown"] == [{"field": "response_style.tone", "line": 5}]


def test_the_same_document_again_is_the_same_version(agent):
    put(agent, DOCUMENT)
    again = put(agent, DOCUMENT).json
    assert (again["version"], again["new"]) == (1, False)


def test_a_bad_document_is_refused_by_line_and_field(agent):
    put(agent, DOCUMENT)
    answer = put(agent, BAD)
    assert (answer.status_code, fields(answer)) == (422, ["date_format", "response_style.verbosity"])
    assert [error["line"] for error in answer.json["errors"]] == [2, 4]
    assert answer.json["detail"].startswith("line 2: date_format: must be text")
    assert agent.get(PREFERENCES).json["document"] == DOCUMENT


def test_a_time_zone_is_put_in_force_and_an_unknown_one_refused_by_its_field(agent):
    assert put(agent, "---\ntime_zone: Asia/Tokyo\n---\n").json["preferences"]["time_zone"] == "Asia/Tokyo"
    answer = put(agent, "---\ntime_zone: Mars/Olympus\n---\n")
    assert (answer.status_code, fields(answer)) == (422, ["time_zone"])
    assert answer.json["detail"] == "line 2: time_zone: is not a time zone; write one such as Europe/Berlin"


@pytest.mark.parametrize("document", ["", "a\x00b", "x" * 65_537, "---\na: b", "---\n\ta: b\n---\n"])
def test_what_is_no_document_is_refused(agent, document):
    answer = put(agent, document)
    assert (answer.status_code, fields(answer)) == (422, ["document"])
    assert agent.get(PREFERENCES).status_code == 404


@pytest.mark.parametrize("body", [{}, {"document": None}, {"document": 5}, {"document": "x", "source": "me"}])
def test_a_body_of_another_shape_is_refused(agent, body):
    assert agent.ask("PUT", PREFERENCES, json=body).status_code == 422


def test_without_preferences_there_is_nothing_to_read(agent):
    assert agent.get(PREFERENCES).status_code == 404
    assert agent.get(f"{PREFERENCES}/versions").json == {"versions": [], "next_before": None}


def test_versions_are_listed_without_their_documents(agent):
    put(agent, "One.")
    put(agent, "Two!!")
    listed = agent.get(f"{PREFERENCES}/versions").json["versions"]
    assert [(each["version"], each["size"], each["source"]) for each in listed] == [(2, 5, "api"), (1, 4, "api")]
    assert "document" not in listed[0]


def test_versions_come_in_pages(agent):
    for number in range(3):
        put(agent, f"Document {number}")
    page = agent.get(f"{PREFERENCES}/versions", limit=2).json
    rest = agent.get(f"{PREFERENCES}/versions", limit=2, before=page["next_before"]).json
    assert ([each["version"] for each in rest["versions"]], rest["next_before"]) == ([1], None)


def test_a_version_is_read_by_its_number(agent):
    put(agent, "One.")
    put(agent, "Two.")
    assert agent.get(f"{PREFERENCES}/versions/1").json["document"] == "One."


@pytest.mark.parametrize("version", [2, 2**31 - 1])
def test_a_version_that_never_was_is_not_found(agent, version):
    put(agent, "One.")
    assert agent.get(f"{PREFERENCES}/versions/{version}").status_code == 404
    assert agent.post(f"{PREFERENCES}/versions/{version}/restore").status_code == 404
    assert agent.delete(f"{PREFERENCES}/versions/{version}").status_code == 404


@pytest.mark.parametrize("version", [0, 2**31, 10**30])
def test_a_number_that_no_version_can_have_is_refused(agent, version):
    assert agent.get(f"{PREFERENCES}/versions/{version}").status_code == 422


def test_restoring_adds_a_version(agent):
    put(agent, "One.")
    put(agent, "Two.")
    restored = agent.post(f"{PREFERENCES}/versions/1/restore").json
    assert (restored["version"], restored["document"], restored["source"]) == (3, "One.", "restore:1")


@pytest.mark.parametrize(("which", "left"), [("", [3]), ("/1", [3, 2])])
def test_versions_are_deleted_for_good(agent, ada, which, left):
    for document in ("One.", "Two.", "Three."):
        put(agent, document)
    answer = agent.delete(f"{PREFERENCES}/versions{which}")
    assert (answer.status_code, answer.json) == (200, {"deleted": 3 - len(left)})
    assert [each["version"] for each in agent.get(f"{PREFERENCES}/versions").json["versions"]] == left
    assert rows(ada, "SELECT 1 FROM preferences WHERE document = 'One.'") == []


def test_the_version_in_force_is_not_deleted_before_the_others(agent):
    put(agent, "One.")
    put(agent, "Two.")
    assert agent.delete(f"{PREFERENCES}/versions/2").status_code == 409
    assert agent.get(PREFERENCES).json["document"] == "Two."


def test_versions_are_deleted_by_who_may_forget_alone(client, ada, agent):
    put(agent, "One.")
    put(agent, "Two.")
    add_space(ada, "work")
    for headers in (ada.new_token("read", "write"), ada.new_token("read", "write", "forget", space="work")):
        for which in ("", "/1"):
            assert Agent(client, headers).delete(f"{PREFERENCES}/versions{which}").status_code == 403
    assert len(agent.get(f"{PREFERENCES}/versions").json["versions"]) == 2


def test_the_prompt_is_in_natural_language(agent):
    put(agent, DOCUMENT)
    answer = agent.get(f"{PREFERENCES}/prompt").json
    assert answer["version"] == 1
    assert 20 < answer["token_count"] < 60
    assert answer["prompt"] == (
        "How this user likes things done:\n- Write dates as YYYY-MM-DD.\n- Keep answers concise.\n\n"
        "In the user's own words:\n\nI use the PARA method."
    )


def test_without_preferences_the_prompt_is_empty_and_the_log_warns(agent, caplog):
    answer = agent.get(f"{PREFERENCES}/prompt")
    assert (answer.status_code, answer.json) == (200, {"prompt": "", "token_count": 0, "version": None})
    assert any("has no preferences" in record.getMessage() for record in caplog.records)


def test_a_stranger_sees_none_of_it(agent, client, bob):
    put(agent, DOCUMENT)
    stranger = Agent(client, bob.headers)
    assert stranger.get(PREFERENCES).status_code == 404
    assert stranger.get(f"{PREFERENCES}/versions/1").status_code == 404
    assert stranger.post(f"{PREFERENCES}/versions/1/restore").status_code == 404
    assert stranger.get(f"{PREFERENCES}/prompt").json["prompt"] == ""


def test_a_confined_token_reads_the_prompt(agent, confined):
    put(agent, "Be brief.")
    assert confined.get(f"{PREFERENCES}/prompt").json["prompt"].endswith("Be brief.")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", ""),
        ("GET", ""),
        ("GET", "/versions"),
        ("GET", "/versions/1"),
        ("POST", "/versions/1/restore"),
    ],
)
def test_a_confined_token_does_nothing_else(agent, confined, method, path):
    put(agent, "Be brief.")
    body = {"json": {"document": "Be rude."}} if method == "PUT" else {}
    assert confined.ask(method, PREFERENCES + path, **body).status_code == 403
    assert agent.get(PREFERENCES).json["document"] == "Be brief."


def test_reading_and_writing_need_their_scopes(client, ada, agent):
    put(agent, "Be brief.")
    reader, writer = Agent(client, ada.new_token("read")), Agent(client, ada.new_token("write"))
    assert put(reader, "Be rude.").status_code == 403
    assert reader.post(f"{PREFERENCES}/versions/1/restore").status_code == 403
    assert writer.get(f"{PREFERENCES}/prompt").status_code == 403
    assert client.get(PREFERENCES).status_code == 401


def test_an_incognito_session_stores_and_recalls_none(agent, ada):
    put(agent, "Be brief.")
    hidden = agent.in_session("hidden")
    hidden.post("/v1/memory/incognito/start")
    answer = put(hidden, "Be rude.")
    assert (answer.status_code, answer.json["reason"]) == (409, "incognito")
    assert hidden.get(f"{PREFERENCES}/prompt").json["skipped"] == "incognito"
    assert hidden.get(PREFERENCES).json["reason"] == "incognito"
    assert hidden.post("/v1/memory/incognito/end").json["refused_writes"] == 1
    assert agent.get(PREFERENCES).json["document"] == "Be brief."


def test_saving_is_in_the_audit_and_the_text_is_not(agent, ada):
    put(agent, DOCUMENT)
    found = rows(ada, "SELECT actor, details FROM audit_events WHERE action = 'preferences.saved'")
    assert [tuple(row) for row in found] == [(f"token:{ada.token[:11]}", {"version": 1, "bytes": len(DOCUMENT)})]


def test_the_description_names_the_endpoints(client):
    described = client.get("/v1/openapi.json").json
    paths = described["paths"]
    assert {"get", "put"} <= set(paths[PREFERENCES])
    assert "line" in described["components"]["schemas"]["FieldError"]["properties"]


def test_a_kept_document_whose_zone_is_not_known_is_shown(agent, ada):
    document = put(agent, "---\ntime_zone: Asia/Tokyo\n---\n").json["document"].replace("Asia/Tokyo", "Tokyo time")
    assert rows(ada, "UPDATE preferences SET document = :document RETURNING version", document=document)
    read = agent.get(PREFERENCES).json
    assert (read["document"], read["preferences"]["time_zone"]) == (document, "UTC")
