"""A backup is taken while a client writes, and served."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from secrets_of_tests import PASSWORD, SECRET
from sqlalchemy import make_url

import config
from memory.server.embedded import EmbeddedServer
from tasks.runtime import build
from webapp.extensions import db
from webapp.factory import create_app

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_bundled_model")]

MEANT = "My physician advised me to give up dairy products"


@pytest.fixture
def folder():
    place = Path(tempfile.mkdtemp(prefix="commonplace-backup-"))
    place.chmod(0o711)
    yield place / "whole"
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def kept_key(home):
    """The key of the server, in its data folder."""
    (home / "secret.key").write_text(SECRET)
    yield
    (home / "secret.key").unlink()


@contextmanager
def writing(client, headers):
    """Write memories one after the other, and yield the texts of those that were acknowledged."""
    acknowledged, ending = [], threading.Event()

    def write():
        for number in range(100_000):
            text = f"Observation {number} is of station {number * 7 % 1000}"
            if client.post("/v1/memory/entries", json={"text": text}, headers=headers).status_code == 201:
                acknowledged.append(text)
            if ending.is_set():
                return

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield acknowledged
    finally:
        ending.set()
        thread.join()


@contextmanager
def served(folder, database):
    """Serve the data folder, as `web` does."""
    server = EmbeddedServer(folder, database)
    environment = {"COMMONPLACE_HOME": str(folder), "DATABASE_URL": server.url, "COMMONPLACE_SEARCHES_PER_MINUTE": "0"}
    restored = build(config.load(environment))
    application = create_app(restored)
    try:
        yield application.test_client()
    finally:
        with application.app_context():
            db.engine.dispose()
        restored.close()
        server.release()


def growing(texts, by):
    goal, deadline = len(texts) + by, time.monotonic() + 60
    while len(texts) < goal:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def stored(client, headers):
    found, cursor = set(), None
    while True:
        page = client.get("/v1/memory/entries", query_string={"cursor": cursor} if cursor else {}, headers=headers).json
        found |= {entry["text"] for entry in page["entries"]}
        if (cursor := page["next_cursor"]) is None:
            return found


@pytest.mark.skipif("DATABASE_URL" in os.environ, reason="what is not in the data folder is not in its backup")
def test_a_backup_of_what_is_written_to_serves_all_that_was_acknowledged_before(
    command_line, app, client, ada, home, kept_key, database_url, folder
):
    client.patch("/v1/spaces/default", json={"soft_cap": 1_000_000}, headers=ada.headers)
    meant = client.post("/v1/memory/entries", json={"text": MEANT}, headers=ada.headers).json["id"]
    ada.embed()
    with writing(app.test_client(), ada.headers) as acknowledged:
        growing(acknowledged, 10)
        before = {MEANT, *acknowledged}
        done = command_line(["backup", str(folder)], {**os.environ, "COMMONPLACE_HOME": str(home)})
        assert (done.returncode, done.stderr) == (0, "")
        growing(acknowledged, 10)
    with served(folder, make_url(database_url).database) as restored:
        found = stored(restored, ada.headers)
        assert before - found == set()
        asked = {"query": "What did the doctor say about milk?"}
        hit = restored.post("/v1/tools/memory_search", json=asked, headers=ada.headers).json["results"][0]
        assert (hit["id"], hit["signals"]) == (meant, {"fts": False, "semantic": True})
        answer = restored.post("/login", data={"email": ada.email, "password": PASSWORD})
        assert (answer.status_code, answer.headers["Location"]) == (303, "/")
    # The one that it was taken of has what came since.
    everything = {MEANT, *acknowledged}
    assert stored(client, ada.headers) == everything > found
