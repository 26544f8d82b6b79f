"""The database goes away while messages are posted: none that was acknowledged is lost, none is doubled."""

from __future__ import annotations

import random
import socket
import threading
import time
from dataclasses import replace

import pytest
from api_agent import Agent
from api_talk import CONVERSATIONS, Talk
from sqlalchemy import make_url, text

from memory.storage.database import Databases, make_engine
from tasks.app import configure
from webapp.factory import create_app

SOMEWHERE = f"{CONVERSATIONS}/01890000-0000-7000-8000-000000000000"
HEADERS = {"Authorization": "Bearer cp_anything"}


@pytest.fixture(scope="module")
def down(runtime):
    """A client of an app whose database URL leads to a port where nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    urls = (
        make_url(url).set(host="127.0.0.1", port=port, query={}).render_as_string(hide_password=False)
        for url in (runtime.databases.owner, runtime.databases.app)
    )
    application = create_app(replace(runtime, databases=Databases(*urls)))
    configure(runtime)
    return application.test_client()


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        (CONVERSATIONS, {"json": {}}),
        (f"{SOMEWHERE}/messages", {"json": {"message": {"role": "user", "content": "a"}}}),
        (f"{SOMEWHERE}/merge", {"json": {"messages": [{"role": "user", "content": "a"}]}}),
        (f"{SOMEWHERE}/messages/stream", {"data": b'{"role": "user"}\n{"delta": "a"}\n{"done": true}\n'}),
    ],
)
def test_a_write_says_that_nothing_was_stored(down, path, sent):
    response = down.post(path, headers=HEADERS, **sent)
    assert (response.status_code, response.mimetype) == (503, "application/problem+json")
    assert "nothing was stored" in response.json["detail"]
    assert response.headers["Retry-After"] == "2"


@pytest.fixture
def owner(database_url):
    engine = make_engine(database_url, pool_size=1)
    yield engine
    engine.dispose()


def kept_in(talk):
    """Return the messages, asked for as often as need be: the last connection that was killed may end meanwhile."""
    while (response := talk.agent.get(f"{talk.path}/messages", limit=1000)).status_code == 503:
        pass
    return response.json["messages"]


@pytest.mark.slow
def test_connections_that_are_killed_lose_and_double_nothing(app, ada, owner, runtime):
    talk = Talk(Agent(app.test_client(), ada.headers))
    acknowledged: dict[str, str] = {}
    refusals: list[str] = []
    stop = threading.Event()

    def write(name):
        agent = Agent(app.test_client(), ada.headers)
        for number in range(100):
            client_id = f"{name}-{number}"
            body = {"message": {"role": "user", "content": f"Said by {client_id}", "client_id": client_id}}
            # As a client does that was told to come again: the same message with the same id.
            while True:
                response = agent.post(f"{talk.path}/messages", body)
                if response.status_code in {200, 201}:
                    acknowledged[client_id] = response.json["results"][0]["id"]
                    break
                assert response.status_code == 503, response.json
                refusals.append(response.json["detail"])

    def kill():
        role = runtime.databases.app_role
        kill_all = text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = :role")
        chance, before = random.Random(7), 0
        while not stop.is_set():
            # By what was written and not by the clock: on a slow machine nobody would get anywhere between two kills.
            if len(acknowledged) > before:
                before = len(acknowledged)
                time.sleep(chance.uniform(0, 0.02))
                with owner.begin() as connection:
                    connection.execute(kill_all, {"role": role})
            time.sleep(0.001)

    killer = threading.Thread(target=kill)
    writers = [threading.Thread(target=write, args=[name]) for name in ("one", "two")]
    killer.start()
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
    stop.set()
    killer.join(10)
    kept = kept_in(talk)
    assert len(acknowledged) == 200
    assert {m["client_id"]: m["id"] for m in kept} == acknowledged
    assert [m["sequence"] for m in kept] == list(range(1, 201))
    assert talk.head()["message_count"] == 200
    assert len(refusals) > 0
