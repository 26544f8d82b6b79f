"""kill -9 of the database while several clients post messages: none acknowledged is lost, none is doubled."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter

import httpx
import psutil
import pytest
from real_server import Server, wait_for

pytestmark = pytest.mark.slow

CONVERSATIONS = 2
CLIENTS_EACH = 2
# Whether all processes of the database are killed, or the first alone.
KILLS = (False, True, True)
# Of so many turns one is given up at a refusal, unless its fate was unknown before: what was refused must not be there.
GIVEN_UP = 5


class Poster:
    """A client of one conversation: posts turn after turn, again with the same ids until it is told that they stand."""

    def __init__(self, url: str, token: str, name: str, stop: threading.Event) -> None:
        self.name = name
        self.acknowledged: dict[str, str] = {}
        self.given_up: set[str] = set()
        self.refusals: list[str] = []
        self.strange: list[str] = []
        self._url, self._token, self._stop = url, token, stop
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def _run(self) -> None:
        number = 0
        with httpx.Client(headers={"Authorization": f"Bearer {self._token}"}, timeout=20) as client:
            while not self._stop.is_set():
                number += 1
                self._say(client, number)

    def _say(self, client: httpx.Client, number: int) -> None:
        ids = [f"{self.name}-{number}-{role}" for role in ("user", "assistant")[: 1 + number % 2]]
        roles = [client_id.rpartition("-")[2] for client_id in ids]
        body = {
            "messages": [
                {"role": role, "client_id": client_id, "content": f"Said as {client_id}"}
                for role, client_id in zip(roles, ids, strict=True)
            ]
        }
        unknown = False
        while True:
            try:
                answer = client.post(self._url, json=body)
            except httpx.HTTPError:
                unknown = True
                time.sleep(0.05)
                continue
            if answer.status_code in {200, 201}:
                results = answer.json()["results"]
                self.acknowledged |= dict(zip(ids, [result["id"] for result in results], strict=True))
                return
            if answer.status_code != 503:
                self.strange.append(f"{answer.status_code} {answer.text}")
                return
            self.refusals.append(answer.json()["detail"])
            unknown = unknown or "nothing was stored" not in self.refusals[-1]
            if number % GIVEN_UP == 0 and not unknown:
                self.given_up.update(ids)
                return
            time.sleep(0.05)


def all_messages(client: httpx.Client, path: str) -> list[dict]:
    found, cursor = [], None
    while True:
        page = client.get(path, params={"limit": 1000, **({"cursor": cursor} if cursor else {})}).json()
        found += page["messages"]
        cursor = page["next_cursor"]
        if cursor is None:
            return found


def kill_the_database(server: Server, posters: list[Poster], *, whole: bool) -> None:
    """Kill it, with all of its processes or the first alone, and wait until every client was acknowledged again."""
    before = {poster: len(poster.acknowledged) for poster in posters}
    postmaster = psutil.Process(server.postmaster())
    for process in [postmaster, *(postmaster.children() if whole else [])]:
        os.kill(process.pid, signal.SIGKILL)
    wait_for(lambda: all(len(poster.acknowledged) >= before[poster] + 20 for poster in posters), 90, "posting again")


def test_a_killed_database_loses_and_doubles_no_message(server: Server) -> None:
    server.run("user", "create", "--email", "load@example.org", "--password", "a long password")
    token = server.run("token", "create", "--email", "load@example.org", "--name", "load", "--scopes", "read,write")
    stop = threading.Event()
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=60) as client:
        paths = [
            f"/v1/conversations/{client.post('/v1/conversations', json={}).json()['id']}" for _ in range(CONVERSATIONS)
        ]
        posters = {
            path: [
                Poster(f"{server.url}{path}/messages", token, f"client{n}of{place}", stop) for n in range(CLIENTS_EACH)
            ]
            for place, path in enumerate(paths)
        }
        everyone = [poster for group in posters.values() for poster in group]
        for poster in everyone:
            poster.thread.start()
        try:
            wait_for(lambda: all(len(poster.acknowledged) >= 20 for poster in everyone), 60, "posting")
            for whole in KILLS:
                kill_the_database(server, everyone, whole=whole)
        finally:
            stop.set()
            for poster in everyone:
                poster.thread.join(60)
        for path, group in posters.items():
            check(client, path, group)
    refusals = Counter(detail for poster in everyone for detail in poster.refusals)
    assert [strange for poster in everyone for strange in poster.strange] == []
    assert any("nothing was stored" in detail for detail in refusals)
    assert all("stored" in detail for detail in refusals), refusals
    assert server.stop() == 0


def check(client: httpx.Client, path: str, group: list[Poster]) -> None:
    """Check that a conversation holds what was acknowledged, once, in places that leave no gap, and nothing refused."""
    kept = all_messages(client, f"{path}/messages")
    acknowledged = {client_id: message_id for poster in group for client_id, message_id in poster.acknowledged.items()}
    names = Counter(message["client_id"] for message in kept)
    assert [name for name, times in names.items() if times > 1] == []
    assert {message["client_id"]: message["id"] for message in kept} == acknowledged
    assert [message["sequence"] for message in kept] == list(range(1, len(kept) + 1))
    assert client.get(path).json()["message_count"] == len(kept)
    assert not {name for poster in group for name in poster.given_up} & set(names)
