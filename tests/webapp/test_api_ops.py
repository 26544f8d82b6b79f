"""What operators and their machines ask, and what the interface says of itself."""

from __future__ import annotations

import re
from urllib.parse import urljoin

import pytest
from api_agent import Agent, add_space, embed
from api_talk import Talk
from huey import RedisHuey
from sqlalchemy import text

from memory.clock import utc_now
from memory.enrichment.enrich import Enricher
from memory.record.telemetry import telemetry
from memory.storage.schema_revision import NEWER, head_revision
from tasks.app import huey

METRICS = [
    "commonplace_embedding_backlog",
    "commonplace_embedding_backlog_age_seconds",
    "commonplace_enrichment_backlog",
    "commonplace_extraction_backlog",
    'commonplace_embed_seconds{quantile="0.5"}',
    'commonplace_embed_seconds{quantile="0.95"}',
    'commonplace_search_seconds{quantile="0.5"}',
    'commonplace_search_seconds{quantile="0.95"}',
    "commonplace_embedding_errors",
    "commonplace_embedding_failure_rate",
    'commonplace_queue_tasks{state="waiting"}',
    'commonplace_queue_tasks{state="scheduled"}',
    "commonplace_tool_failures_total",
    "commonplace_dedupe_saves_total",
    "commonplace_trims_total",
    "commonplace_tombstone_blocks_total",
    "commonplace_retrieval_hit_rate",
]


def test_a_living_process_says_so(client):
    assert (client.get("/healthz").status_code, client.get("/healthz").json) == (200, {"status": "ok"})


def test_a_migrated_database_is_ready(client):
    assert client.get("/readyz").json["status"] == "ready"


@pytest.mark.parametrize(("revision", "advice"), [("0043", "run `commonplace migrate`"), ("0999", NEWER)])
def test_who_runs_beside_another_version_is_told_which_of_the_two_is_to_change(client, runtime, revision, advice):
    change = text("UPDATE alembic_version SET version_num = :revision")
    with runtime.databases.as_owner() as engine:
        with engine.begin() as connection:
            connection.execute(change, {"revision": revision})
        answer = client.get("/readyz")
        with engine.begin() as connection:
            connection.execute(change, {"revision": head_revision()})
    assert answer.status_code == 503
    assert answer.json["detail"] == f"the schema is at {revision}, this code needs {head_revision()}: {advice}"


# --- metrics --------------------------------------------------------------------------------------------------------


def metrics(client, address="127.0.0.1", **headers):
    return client.get("/metrics", environ_overrides={"REMOTE_ADDR": address}, headers=headers)


@pytest.fixture
def numbers(client):
    """Return a function that reads the metrics as numbers by name."""

    def read():
        lines = [line for line in metrics(client).text.splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}

    return read


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_is_there(numbers, name):
    assert numbers()[name] >= 0


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"])
def test_metrics_are_open_on_this_machine(client, address):
    assert metrics(client, address).status_code == 200


@pytest.mark.parametrize("address", ["10.0.0.1", "192.168.1.5", "::ffff:10.0.0.1", "2001:db8::1", "", "unknown"])
def test_metrics_are_closed_to_others(client, address):
    assert metrics(client, address).status_code == 403


def test_metrics_are_closed_to_what_a_proxy_passes_on(client):
    assert metrics(client, **{"X-Forwarded-For": "10.0.0.1"}).status_code == 403


def test_metrics_are_text_for_prometheus(client):
    assert metrics(client).mimetype == "text/plain"


def test_what_waits_to_be_read_is_counted(client, ada, numbers):
    before = numbers()["commonplace_enrichment_backlog"]
    Agent(client, ada.headers).store("Something that names Beatrice")
    assert numbers()["commonplace_enrichment_backlog"] == before + 1
    enricher = Enricher(ada.runtime.sessions, utc_now)
    embed(ada)
    enricher.enrich_user(ada.id)
    assert numbers()["commonplace_enrichment_backlog"] == before


def test_what_waits_to_be_read_for_facts_is_counted_where_a_space_wants_it(client, ada, numbers):
    agent, before = Agent(client, ada.headers), numbers()["commonplace_extraction_backlog"]
    Talk(agent).turn("I moved to Lisbon", "How nice!")
    assert numbers()["commonplace_extraction_backlog"] == before
    agent.patch("/v1/spaces/default", {"extract_facts": True})
    assert numbers()["commonplace_extraction_backlog"] == before + 2
    agent.patch("/v1/spaces/default", {"extract_facts": False})
    assert numbers()["commonplace_extraction_backlog"] == before
    # What waits for a vector is counted by others.
    embed(ada)


def test_the_backlog_is_counted(client, ada, numbers):
    before = numbers()["commonplace_embedding_backlog"]
    Agent(client, ada.headers).store("Something that waits")
    assert numbers()["commonplace_embedding_backlog"] == before + 1
    embed(ada)
    assert numbers()["commonplace_embedding_backlog"] == before


def test_what_waits_for_no_model_is_no_backlog(client, ada, bob, numbers, nothing_embeds):
    def found():
        return [numbers()[f"commonplace_embedding_backlog{each}"] for each in ("", "_age_seconds")]

    before, _ = found()
    Agent(client, ada.headers).store("Something that waits for nothing")
    assert found()[0] == before
    own = {"provider_type": "custom_http", "endpoint_url": "http://127.0.0.1:9/embed", "model": "tiny"}
    agent = Agent(client, bob.headers)
    agent.ask("PUT", "/v1/providers", json=own)
    agent.store("Something that waits for an endpoint")
    with bob.session() as session:
        session.execute(text("UPDATE embeddings SET created_at = created_at - interval '1 hour'"))
    assert (found()[0], found()[1] >= 3600) == (before + 1, True)
    nothing_embeds.undo()
    assert found()[0] == before + 2


def test_episodes_and_entities_wait_for_a_vector_as_memories_do(client, ada, numbers):
    def waiting_and_made():
        with ada.session() as session:
            return numbers()["commonplace_embedding_backlog"], telemetry(session, utc_now())["embed"]["count"]

    waited, made = waiting_and_made()
    add_space(ada, "trip")
    Talk(Agent(client, ada.headers), space="trip").turn("My sister Beatrice takes the ferry", "I see.")
    assert waiting_and_made() == (waited + 1, made)
    embed(ada)
    assert waiting_and_made() == (waited, made + 1)
    Enricher(ada.runtime.sessions, utc_now).enrich_user(ada.id)
    with ada.session() as session:
        entities = session.scalar(text("SELECT count(*) FROM entities"))
    assert (waiting_and_made(), entities > 0) == ((waited + entities, made + 1), True)
    embed(ada)
    assert waiting_and_made() == (waited, made + 1 + entities)


@pytest.mark.parametrize("vectors", ["embeddings", "episode_embeddings"])
def test_the_share_of_failures_is_that_of_the_last_hour(client, ada, numbers, vectors):
    fate = f"UPDATE {vectors} SET state = 'error', vector = NULL, updated_at = now() - make_interval(mins => :ago)"
    Agent(client, ada.headers).store("Something that cannot be embedded")
    Talk(Agent(client, ada.headers)).turn("Can this be embedded?", "No.")
    embed(ada)
    before = numbers()["commonplace_embedding_errors"]

    def rate_of_a_failure(ago):
        with ada.session() as session:
            session.execute(text(fate), {"ago": ago})
        return numbers()["commonplace_embedding_failure_rate"]

    assert 1 >= rate_of_a_failure(59) > rate_of_a_failure(61) >= 0
    assert numbers()["commonplace_embedding_errors"] == before + 1


def test_contexts_count_for_the_hit_rate_and_what_was_not_searched_does_not(client, ada):
    agent = Agent(client, ada.headers)

    def made_and_found():
        with ada.session() as session:
            search = telemetry(session, utc_now())["search"]
        return search["count"], round(search["count"] * (search["hit_rate"] or 0))

    def ask(query):
        agent.tool("memory_search", query=query)
        agent.tool("query_memory", query=query)
        agent.post("/v1/memory/context", {"query": query})
        return made_and_found()

    agent.store("Ada keeps bees on the roof")
    embed(ada)
    made, found = made_and_found()
    assert ask("Who keeps bees?") == (made + 3, found + 3)
    assert ask("Which ferry goes to Lofoten?") == (made + 6, found + 3)
    agent.post("/v1/memory/settings", {"memory_enabled": False})
    assert ask("Who keeps bees?") == (made + 6, found + 3)
    agent.post("/v1/memory/settings", {"memory_enabled": True})
    agent.post("/v1/memory/incognito/start", {})
    assert ask("Who keeps bees?") == (made + 6, found + 3)


def test_a_queue_that_is_out_of_reach_is_not_told_to_be_empty(numbers, monkeypatch):
    monkeypatch.setattr(huey, "storage", RedisHuey("nowhere", port=1).storage)
    assert "commonplace_queue_tasks" not in str(numbers())


def test_a_merge_is_counted(client, ada, numbers):
    before = numbers()["commonplace_dedupe_saves_total"]
    for _ in range(2):
        Agent(client, ada.headers).post("/v1/memory/entries", {"text": "Something said twice"})
    assert numbers()["commonplace_dedupe_saves_total"] == before + 1


@pytest.mark.parametrize(
    ("name", "method", "address", "body"),
    [
        ("pins", "post", "/v1/memory/entries/{}/pin", None),
        ("unpins", "delete", "/v1/memory/entries/{}/pin", None),
        ("forgets", "delete", "/v1/memory/entries/{}", None),
        ("memory_offs", "post", "/v1/memory/settings", {"memory_enabled": False}),
        ("incognito_starts", "post", "/v1/memory/incognito/start", {}),
    ],
)
def test_what_a_user_does_is_counted(client, ada, numbers, name, method, address, body):
    agent = Agent(client, ada.headers)
    memory_id = agent.store("Something to act on")
    if name == "unpins":
        agent.post(f"/v1/memory/entries/{memory_id}/pin")
    before = numbers()[f"commonplace_{name}_total"]
    for _ in range(2):
        call = getattr(agent, method)
        call(address.format(memory_id), *([body] if body is not None else []))
    assert numbers()[f"commonplace_{name}_total"] == before + 1


def test_memory_that_is_switched_on_again_is_counted(client, ada, numbers):
    agent, before = Agent(client, ada.headers), numbers()["commonplace_memory_ons_total"]
    for enabled in (False, True, True):
        agent.post("/v1/memory/settings", {"memory_enabled": enabled})
    assert numbers()["commonplace_memory_ons_total"] == before + 1


def test_metrics_name_nobody(client, ada):
    assert str(ada.id) not in metrics(client).text


# --- the description of the interface -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def described(app):
    return app.test_client().get("/v1/openapi.json").json


def operations(described):
    for path, item in described["paths"].items():
        for method, operation in item.items():
            yield f"{method.upper()} {path}", operation


def test_the_description_is_openapi_3_1(described):
    assert described["openapi"].startswith("3.1")
    assert {"title", "version"} <= set(described["info"])


def test_every_address_is_described(app, described):
    hidden = ("openapi", "static", "swagger")
    wanted = {
        (re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule), method.lower())
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/v1/") and not rule.endpoint.startswith(hidden)
        for method in rule.methods - {"HEAD", "OPTIONS"}
    }
    assert wanted == {(path, method) for path, item in described["paths"].items() for method in item}


@pytest.mark.parametrize("path", ["/v1/memories", "/v1/memory/entries/4711", "/v1/conversations/thread-1"])
def test_an_address_that_is_not_there_names_the_description_of_all_there_are(client, path):
    answer = client.get(path)
    (address,) = re.findall(r"\S*openapi\S*", answer.json["detail"])
    assert (answer.status_code, client.get(address).json["openapi"]) == (404, "3.1.0")
    assert answer.json["detail"].endswith("an id in one must be whole")


def test_every_operation_has_a_summary(described):
    assert [name for name, operation in operations(described) if not operation.get("summary")] == []


def test_every_operation_has_an_id_of_its_own(described):
    ids = [operation["operationId"] for _, operation in operations(described)]
    assert len(ids) == len(set(ids))


def test_every_operation_needs_the_bearer_token(described):
    assert [name for name, operation in operations(described) if operation.get("security") != [{"bearer": []}]] == []


def test_errors_are_described_as_problems(described):
    wrong = [
        (name, status)
        for name, operation in operations(described)
        for status, response in operation["responses"].items()
        if status.startswith(("4", "5")) and "application/problem+json" not in response["content"]
    ]
    assert wrong == []


def test_every_operation_says_what_it_answers_when_all_is_well(described):
    silent = [
        name
        for name, operation in operations(described)
        if not any(status.startswith("2") and r.get("content") for status, r in operation["responses"].items())
    ]
    assert silent == []


def test_every_reference_leads_somewhere(described):
    references = set(re.findall(r"#/components/(\w+)/([\w-]+)", str(described)))
    assert {kind for kind, _ in references} == {"schemas", "parameters"}
    assert references <= {(kind, name) for kind, named in described["components"].items() for name in named}


def test_every_variable_of_a_path_is_described(described):
    for path, item in described["paths"].items():
        for operation in item.values():
            named = {p["name"] for p in operation.get("parameters", []) if p.get("in") == "path"}
            assert named == set(re.findall(r"{(\w+)}", path))


HEADERS = [
    "X-Commonplace-Session",
    "X-Commonplace-User",
    "X-Commonplace-Conversation",
    "X-Commonplace-Message",
    "X-Commonplace-Space",
]
PLACED = {
    "GET /v1/tools",
    "POST /v1/tools/{name}",
    "POST /v1/memory/context",
    "POST /v1/command",
    "POST /v1/memory/entries",
    "POST /v1/memory/entries/batch",
    "POST /v1/facts",
    "POST /v1/conversations",
    "POST /v1/memory/settings",
    "GET /v1/memory/entries",
    "GET /v1/facts",
    "GET /v1/conversations",
    "GET /v1/entities",
    "GET /v1/memory/updates",
    "GET /v1/memory/summary",
    "GET /v1/memory/settings",
    "GET /v1/memory/themes",
    "GET /v1/memory/prompt",
}


def test_every_operation_describes_the_headers_that_it_reads(described):
    for name, operation in operations(described):
        references = [p["$ref"] for p in operation["parameters"] if "$ref" in p]
        read = HEADERS if name in PLACED else HEADERS[:2]
        assert references == [f"#/components/parameters/{header}" for header in read], name


@pytest.mark.parametrize("header", HEADERS)
def test_a_header_is_described(described, header):
    parameter = described["components"]["parameters"][header]
    schema = {"type": "string", "format": "uuid"} if header in HEADERS[2:4] else {"type": "string"}
    assert (parameter["name"], parameter["in"], parameter["schema"]) == (header, "header", schema)
    assert parameter["description"]


def test_incognito_says_that_each_request_must_name_the_session(described):
    assert HEADERS[0] in described["paths"]["/v1/memory/incognito/start"]["post"]["description"]


def test_the_description_can_be_browsed_offline(client):
    page = client.get("/v1/swagger")
    page = client.get(page.headers["Location"]) if page.status_code in {301, 302, 308} else page
    assert page.status_code == 200
    assert re.findall(r"""(?:src|href)=["'](?:https?:)?//[^"']+""", page.text) == []


def test_everything_that_the_page_loads_is_there(client):
    page = client.get("/v1/swagger", follow_redirects=True)
    assets = {
        urljoin(page.request.path, asset) for asset in re.findall(r"""(?:src|href)=["']([^"'#]+)["']""", page.text)
    }
    assert assets
    assert [asset for asset in assets if client.get(asset).status_code != 200] == []


def test_the_page_shows_the_description_to_no_validator(client):
    assert '"validatorUrl": null' in client.get("/v1/swagger").text


@pytest.mark.parametrize(("method", "path"), [("POST", "/v1"), ("POST", "/v1/"), ("GET", "/v1/nowhere")])
def test_what_is_asked_of_the_interface_is_refused_as_a_problem(client, method, path):
    response = client.open(path, method=method)
    assert (response.status_code in {404, 405}, response.mimetype) == (True, "application/problem+json")
