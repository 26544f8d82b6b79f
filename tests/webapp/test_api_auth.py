"""Tokens, scopes and request ids."""

from __future__ import annotations

import io
import json
import logging
from datetime import timedelta
from uuid import uuid4

import pytest
from api_agent import ENTRIES, Agent, fields, memories_of, rows

from memory.accounts.accounts import create_token, list_tokens, revoke_token
from memory.clock import utc_now
from webapp.extensions import db
from webapp.tools import TOOLS


@pytest.fixture(scope="module")
def ada(new_person):
    """One owner for the whole file: nothing here is stored."""
    return new_person("ada")


@pytest.fixture(scope="module")
def root(new_person):
    return new_person("root", role="admin")


# --- tokens ---------------------------------------------------------------------------------------------------------


def expired(person):
    with person.session() as session:
        gone = utc_now() - timedelta(seconds=1)
        return create_token(session, person.id, "old", ["read"], now=utc_now(), expires_at=gone)


def revoked(person):
    with person.session() as session:
        secret = create_token(session, person.id, "lost", ["read"], now=utc_now())
        token = next(
            token for token in list_tokens(session, person.id) if token.name == "lost" and not token.revoked_at
        )
        revoke_token(session, person.id, token.id, now=utc_now(), actor="test")
    return secret


CREDENTIALS = {
    "none": lambda person: None,
    "empty": lambda person: "Bearer ",
    "wrong": lambda person: f"Bearer cp_{'x' * 43}",
    "expired": lambda person: f"Bearer {expired(person)}",
    "revoked": lambda person: f"Bearer {revoked(person)}",
    "basic": lambda person: f"Basic {person.token}",
    "cut": lambda person: f"Bearer {person.token[:-1]}",
    "odd": lambda person: "Bearer \xff\xfe",
    "alone": lambda person: person.token,
}


@pytest.mark.parametrize("kind", sorted(CREDENTIALS))
def test_without_a_valid_token_the_answer_is_401(client, ada, kind):
    credential = CREDENTIALS[kind](ada)
    response = client.get(ENTRIES, headers={"Authorization": credential} if credential else {})
    assert (response.status_code, response.mimetype) == (401, "application/problem+json")
    # Codex tells nothing but this header. RFC 6750: what was wrong is said where anything was sent.
    said = f', error="invalid_token", error_description="{response.json["detail"]}"' if credential else ""
    assert response.headers["WWW-Authenticate"] == f'Bearer realm="commonplace"{said}'
    assert "as in Authorization: Bearer cp_..." in response.json["detail"]


@pytest.mark.parametrize("kind", sorted(set(CREDENTIALS) - {"none"}))
def test_every_bad_token_is_answered_alike(client, ada, kind):
    plain = client.get(ENTRIES).json
    answer = client.get(ENTRIES, headers={"Authorization": CREDENTIALS[kind](ada)}).json
    assert {**answer, "request_id": 0} == {**plain, "request_id": 0}


def test_the_scheme_may_be_in_any_case(client, ada):
    assert client.get(ENTRIES, headers={"Authorization": f"bearer {ada.token}"}).status_code == 200


def test_a_huge_body_is_not_read_before_the_token(client):
    assert client.post(ENTRIES, data=b"x" * 1000, content_type="text/plain").status_code == 401


@pytest.mark.parametrize("revoked_meanwhile", [False, True])
def test_a_token_is_free_while_a_long_body_comes_and_asked_for_again(client, new_person, revoked_meanwhile):
    owner = new_person("eve")

    class Body(io.BytesIO):
        def readinto(self, buffer):
            rows(owner, "SELECT id FROM tokens FOR UPDATE NOWAIT")
            if revoked_meanwhile:
                rows(owner, "UPDATE tokens SET revoked_at = now() RETURNING id")
            return super().readinto(buffer)

    body = json.dumps({"text": "The heron is violet. " * 1000}).encode()
    sent = {"input_stream": Body(body), "content_length": len(body), "content_type": "application/json"}
    status = client.post(ENTRIES, headers=owner.headers, **sent).status_code
    assert (status, memories_of(owner)) == ((401, 0) if revoked_meanwhile else (201, 1))


@pytest.mark.parametrize("revoked_meanwhile", [False, True])
def test_a_token_is_free_while_a_short_body_comes_and_asked_for_after_it(client, new_person, revoked_meanwhile):
    owner = new_person("eve")

    class Body(io.BytesIO):
        def readinto(self, buffer):
            assert not db.engine.pool.checkedout()
            rows(owner, "SELECT id FROM tokens FOR UPDATE NOWAIT")
            if revoked_meanwhile:
                rows(owner, "UPDATE tokens SET revoked_at = now() RETURNING id")
            return super().readinto(buffer)

    body = b'{"text": "The heron is violet."}'
    sent = {"input_stream": Body(body), "content_length": len(body), "content_type": "application/json"}
    status = client.post(ENTRIES, headers=owner.headers, **sent).status_code
    assert (status, memories_of(owner)) == ((401, 0) if revoked_meanwhile else (201, 1))


@pytest.mark.parametrize("blanks", [0, 24_000])
def test_a_body_that_is_cut_off_is_not_taken_for_none(client, new_person, blanks):
    agent = Agent(client, new_person("eve").headers)
    agent.post("/v1/memory/incognito/start")

    class Cut(io.BytesIO):
        def readinto(self, buffer):
            return 0

    # As gunicorn has it: the body ends where the connection does. What was to be ended is another session.
    body = b'{"session": "chat-1"}' + b" " * blanks
    sent = {"input_stream": Cut(body), "environ_overrides": {"wsgi.input_terminated": True}}
    response = agent.post("/v1/memory/incognito/end", content_type="application/json", **sent)
    assert (response.status_code, response.mimetype) == (400, "application/problem+json")
    assert agent.post(ENTRIES, {"text": "The heron is violet."}).json["outcome"] == "refused"


def test_a_token_that_is_revoked_while_an_empty_body_comes_does_nothing_more(client, new_person):
    owner = new_person("eve")
    memory_id = client.post(ENTRIES, headers=owner.headers, json={"text": "The heron is violet."}).json["id"]

    class Body(io.BytesIO):
        def readinto(self, buffer):
            rows(owner, "UPDATE tokens SET revoked_at = now() RETURNING id")
            return super().readinto(buffer)

    sent = {"input_stream": Body(), "environ_overrides": {"wsgi.input_terminated": True}}
    headers = {**owner.headers, "Transfer-Encoding": "chunked"}
    response = client.delete(f"{ENTRIES}/{memory_id}", headers=headers, **sent)
    assert (response.status_code, memories_of(owner)) == (401, 1)


@pytest.mark.parametrize(
    ("method", "path"), [("GET", ENTRIES), ("POST", "/v1/tools/memory_search"), ("GET", "/v1/tools")]
)
def test_the_last_use_is_kept(client, bob, method, path):
    Agent(client, bob.headers).ask(method, path, **({"json": {"query": "a"}} if method == "POST" else {}))
    used = rows(bob, "SELECT last_used_at FROM tokens")[0].last_used_at
    assert utc_now() - used < timedelta(seconds=30)


# --- scopes ---------------------------------------------------------------------------------------------------------

SCOPES = {
    "api_entries.list_": "read",
    "api_entries.create": "write",
    "api_entries.create_batch": "write",
    "api_entries.read": "read",
    "api_entries.patch": "write",
    "api_entries.delete": "forget",
    "api_entries.undo": "forget",
    "api_entries.pin": "write",
    "api_entries.unpin": "write",
    "api_facts.list_": "read",
    "api_facts.add": "write",
    "api_facts.read": "read",
    "api_facts.change": "write",
    "api_facts.delete": "forget",
    "api_entities.list_": "read",
    "api_entities.read": "read",
    "api_entities.delete": "forget",
    "api_entities.retag": "write",
    "api_conversations.list_": "read",
    "api_conversations.create": "write",
    "api_conversations.read": "read",
    "api_conversations.patch": "write",
    "api_conversations.delete": "forget",
    "api_conversations.read_messages": "read",
    "api_conversations.read_message": "read",
    "api_conversations.read_episodes": "read",
    "api_conversations.append": "write",
    "api_conversations.stream": "write",
    "api_conversations.merge": "write",
    "api_memory.summary": "read",
    "api_memory.settings": "write",
    "api_memory.read_settings": "read",
    "api_memory.start_incognito": "write",
    "api_memory.end_incognito": "write",
    "api_memory.themes": "read",
    "api_memory.add_theme": "write",
    "api_memory.change_theme": "write",
    "api_memory.remove_theme": "forget",
    "api_memory.prompt": "read",
    "api_memory.context": "read",
    "api_spaces.list_": "read",
    "api_spaces.create": "write",
    "api_spaces.read": "read",
    "api_spaces.patch": "write",
    "api_spaces.policies": "read",
    "api_spaces.shares": "read",
    "api_spaces.add_share": "write",
    "api_spaces.drop_share": "write",
    "api_audit.list_": "read",
    "api_audit.check": "read",
    "api_context.context": "read",
    "api_context.read_state": "read",
    "api_context.put_state": "write",
    "api_preferences.put": "write",
    "api_preferences.read": "read",
    "api_preferences.versions": "read",
    "api_preferences.read_version": "read",
    "api_preferences.restore": "write",
    "api_preferences.delete": "forget",
    "api_preferences.delete_older": "forget",
    "api_preferences.prompt": "read",
    "api_spaces.contents": "read",
    "api_spaces.delete": "write",
    "api_entries.list_uses": "read",
    "api_entries.revisions": "read",
    "api_updates.list_": "read",
    "api_updates.decide": "write",
    "api_entries.restore_revision": "write",
    "api_tool-calls.list_": "read",
    "api_tool-calls.paths": "read",
    "api_tool-calls.report": "write",
    "api_account.export": "read",
    "api_providers.read": "read",
    "api_providers.put": "write",
    "api_providers.delete": "write",
    "api_providers.test": "write",
    "api_admin.backfill": "admin",
    "api_admin.progress": "admin",
    "api_admin.telemetry": "admin",
    "api_admin.users": "admin",
    "api_admin.set_role": "admin",
    "api_admin.access": "admin",
    "api_admin.jobs": "admin",
    "api_admin.retry_job": "admin",
    # Any token may ask which tools there are; each tool asks for a scope of its own.
    "api_tools.list_": None,
    "api_tools.call": None,
    # Each command asks for the scope of what it does.
    "api_command.command": None,
}


def rules(app):
    """Return every address under /v1 but those of the documentation, with its method."""
    for rule in app.url_map.iter_rules():
        if rule.rule.startswith("/v1/") and not rule.endpoint.startswith(("openapi", "static", "swagger")):
            for method in sorted(rule.methods - {"HEAD", "OPTIONS"}):
                values = {name: str(uuid4()) if name.endswith("_id") else "1" for name in rule.arguments}
                path = rule.build(values)[1]
                yield rule.endpoint, method, path


def test_the_scope_of_every_endpoint_is_known(app):
    assert {endpoint for endpoint, _, _ in rules(app)} == set(SCOPES)


@pytest.mark.parametrize("endpoint", sorted(SCOPES))
def test_an_endpoint_needs_a_token(app, client, endpoint):
    for _, method, path in [rule for rule in rules(app) if rule[0] == endpoint]:
        assert client.open(path, method=method).status_code == 401


@pytest.fixture(scope="module")
def lacking(root):
    """Headers of tokens that hold every scope but one."""
    scopes = {"read", "write", "forget", "admin", "service"}
    return {scope: root.new_token(*scopes - {scope}) for scope in scopes}


@pytest.mark.parametrize("endpoint", sorted(name for name, scope in SCOPES.items() if scope))
def test_an_endpoint_needs_its_scope(app, client, lacking, endpoint):
    scope = SCOPES[endpoint]
    for _, method, path in [rule for rule in rules(app) if rule[0] == endpoint]:
        response = client.open(path, method=method, headers=lacking[scope])
        assert (response.status_code, scope in response.json["detail"]) == (403, True)


@pytest.mark.parametrize("endpoint", sorted(name for name, scope in SCOPES.items() if scope))
def test_an_endpoint_needs_no_other_scope(app, client, root, endpoint):
    scope = SCOPES[endpoint]
    headers = root.new_token(scope)
    for _, method, path in [rule for rule in rules(app) if rule[0] == endpoint]:
        assert client.open(path, method=method, headers=headers).status_code not in {401, 403}


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_a_tool_needs_its_scope(client, lacking, name):
    response = client.post(f"/v1/tools/{name}", headers=lacking[TOOLS[name].scope], json={})
    assert (response.status_code, response.mimetype) == (403, "application/problem+json")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (ENTRIES, "the token lacks the scope write, it has forget, read; one with it is made on the page Tokens"),
        ("/v1/admin/backfill", "the token lacks the scope admin, it has forget, read; one with it is made by an admin"),
    ],
)
def test_who_lacks_a_scope_is_told_what_there_is_and_how_to_come_by_it(client, ada, path, said):
    detail = client.post(path, headers=ada.new_token("read", "forget"), json={}).json["detail"]
    assert detail.startswith(said)
    assert detail.endswith("or by commonplace token create")


def test_the_scope_is_asked_before_the_arguments(client, lacking):
    response = client.post(ENTRIES, headers=lacking["write"], json={"text": "", "nonsense": 1})
    assert response.status_code == 403


def test_a_user_cannot_hold_the_admins_scopes(client, ada):
    assert Agent(client, ada.headers).get("/v1/admin/telemetry").status_code == 403


# --- request ids ----------------------------------------------------------------------------------------------------


def test_a_request_id_is_echoed(agent):
    assert agent.ask("GET", ENTRIES, headers={"X-Request-Id": "trace-1.a_B"}).headers["X-Request-Id"] == "trace-1.a_B"


def test_a_request_id_is_made(client):
    first, second = (client.get("/healthz").headers["X-Request-Id"] for _ in range(2))
    assert len(first) == 36
    assert first != second


@pytest.mark.parametrize("given", ["a\nb", "a b", "x" * 65, "", "ü", "<script>", "a\x00"])
def test_a_harmful_request_id_is_ignored(app, given):
    environ = {"HTTP_X_REQUEST_ID": given}
    assert len(app.test_client().get("/healthz", environ_overrides=environ).headers["X-Request-Id"]) == 36


def test_a_problem_carries_the_request_id(client):
    response = client.get(ENTRIES, headers={"X-Request-Id": "trace-1"})
    assert (response.json["request_id"], response.json["instance"]) == ("trace-1", ENTRIES)


def test_no_path_breaks_a_log_line(agent, caplog):
    caplog.set_level(logging.INFO, "webapp.access")
    agent.get("/v1/spaces/a%0Aforged%20line")
    assert "\n" not in caplog.records[-1].getMessage()


def test_no_query_is_in_the_log(agent, caplog):
    caplog.set_level(logging.INFO)
    agent.found("very secret question")
    agent.texts(tag="very-secret")
    assert "secret" not in caplog.text


def test_no_field_of_a_problem_repeats_a_token(client, ada):
    assert ada.token not in client.get(ENTRIES, headers={"Authorization": f"Basic {ada.token}"}).text


def test_a_confined_token_may_not_be_turned_by_a_header(client, ada, bob):
    response = client.get(ENTRIES, headers={**bob.headers, "X-Commonplace-User": str(ada.id)})
    assert (response.status_code, fields(response)) == (403, [])
