"""With a real Redis: states of conversations, cached vectors, the queue, and what happens while Redis is away."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace

import pytest
from redis import Redis
from redis_server import redis_server
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from memory.clock import utc_now
from memory.conversations.conversations import delete_conversation, open_conversation
from memory.conversations.session_state import SessionStates
from memory.drafts.drafts import Draft
from memory.embedding.cache import drop_cached
from memory.embedding.models import active_model
from memory.embedding.providers import Providers
from memory.forgetting.forget import forget
from memory.messages.drafts import MessageDraft
from memory.messages.messages import Scribe, append
from memory.models import Conversation
from memory.remote.redis_link import MOST_OWED, RedisLink
from memory.spaces.spaces import get_space
from memory.storage.database import user_session
from memory.writing.remember import remember
from retrieval.words.tokens import count

# Caches are each process's own here, and not the model.
pytestmark = pytest.mark.usefixtures("one_bundled_model")

DAY = 24 * 60 * 60


@pytest.fixture(scope="module")
def server():
    with redis_server() as running:
        yield running


@pytest.fixture
def redis(server):
    server.stop()
    server.start()
    return server.client()


@pytest.fixture
def link(redis, server):
    link = RedisLink(server.url, pause=0.05)
    yield link
    link.close()


@pytest.fixture
def states(link):
    return SessionStates(link)


class Desk:
    """One conversation of Ada's and its state, a transaction per call."""

    def __init__(self, runtime, person, states):
        self.runtime, self.user_id, self.states = runtime, person.id, states
        with self.session() as session:
            space = get_space(session, self.user_id, "default")
            opened, _ = open_conversation(session, self.user_id, space, now=utc_now(), actor="t")
            self.id = opened.id
        self.key = f"session:{self.user_id}:{self.id}"

    def session(self):
        return user_session(self.runtime.sessions, self.user_id)

    def say(self, *texts):
        scribe = Scribe(self.runtime.keys, count, utc_now(), "t", "-")
        with self.session() as session:
            append(session, self.user_id, self.id, [MessageDraft("user", text) for text in texts], scribe)

    def standing(self):
        with self.session() as session:
            return self.states.standing(session, session.get_one(Conversation, (self.user_id, self.id)), now=utc_now())

    def aim(self, goal):
        with self.session() as session:
            conversation = session.get_one(Conversation, (self.user_id, self.id))
            self.states.set_goal(session, conversation, goal, now=utc_now(), actor="t")
        with self.session() as session:
            conversation = session.get_one(Conversation, (self.user_id, self.id))
            self.states.copy_goal(session, conversation, now=utc_now())

    def delete(self, session):
        keys = self.runtime.keys
        delete_conversation(session, self.user_id, self.id, keys=keys, now=utc_now(), actor="t")

    def said(self):
        return [message["content"] for message in self.standing().messages]


@pytest.fixture
def desk(runtime, ada, states):
    return Desk(runtime, ada, states)


# --- states of conversations ------------------------------------------------------------------------------------------


def test_a_state_is_a_hash_that_lives_for_a_day(desk, redis):
    desk.say("Hello", "Where are the bees?")
    desk.aim("Find the bees")
    desk.standing()
    found = redis.hgetall(desk.key)
    assert found[b"goal"] == b"Find the bees"
    assert [message["content"] for message in json.loads(found[b"messages"])] == ["Hello", "Where are the bees?"]
    assert DAY - 60 < redis.ttl(desk.key) <= DAY


def test_messages_come_from_redis_while_nothing_was_said(desk, redis):
    desk.say("Hello")
    desk.standing()
    kept = json.loads(redis.hget(desk.key, "messages"))
    kept[0]["content"] = "Hello from Redis"
    redis.hset(desk.key, "messages", json.dumps(kept))
    assert desk.said() == ["Hello from Redis"]
    desk.say("And again")
    assert desk.said() == ["Hello", "And again"]


def test_what_is_no_state_in_redis_is_made_anew(desk, redis):
    desk.say("Hello")
    desk.standing()
    for field in ("seen", "messages"):
        redis.hset(desk.key, field, "{not json")
        assert desk.said() == ["Hello"]


def test_a_redis_that_forgot_everything_loses_no_goal(desk, redis):
    desk.say("Hello")
    desk.aim("Find the bees")
    redis.flushall()
    assert (desk.standing().goal, desk.said()) == ("Find the bees", ["Hello"])


def test_a_goal_whose_commit_fails_is_not_in_redis(desk, redis, served):
    desk.aim("Find the bees")

    def fail(_session):
        raise OperationalError("COMMIT", {}, Exception("the database is away"))

    path = f"/conversations/{desk.id}/state"
    event.listen(Session, "before_commit", fail)
    try:
        served("PUT", path, {"goal": "Sell the bees"}, answers=503)
    finally:
        event.remove(Session, "before_commit", fail)
    assert (redis.hget(desk.key, "goal"), desk.standing().goal) == (b"Find the bees", "Find the bees")
    served("PUT", path, {"goal": "Sell the bees"})
    assert redis.hget(desk.key, "goal") == b"Sell the bees"


def test_a_deleted_conversation_leaves_no_key(desk, redis):
    desk.say("Hello")
    desk.aim("Find the bees")
    desk.standing()
    with desk.session() as session:
        desk.delete(session)
        assert redis.exists(desk.key)
    assert not redis.exists(desk.key)


def test_a_deletion_that_is_rolled_back_keeps_the_key(desk, redis):
    desk.standing()
    with suppress(RuntimeError), desk.session() as session:
        desk.delete(session)
        raise RuntimeError
    assert redis.exists(desk.key)


# --- over HTTP --------------------------------------------------------------------------------------------------------


@pytest.fixture
def served(app, client, runtime, ada, link, states):
    """Ask as Ada a server that has its copies in Redis."""
    providers = Providers(runtime.providers.system, runtime.keys, link)
    app.extensions["commonplace"] = replace(runtime, redis=link, states=states, providers=providers)

    def ask(method, path, body=None, answers=None, **headers):
        response = client.open(f"/v1{path}", method=method, json=body, headers={**ada.headers, **headers})
        assert response.status_code == answers if answers else response.status_code < 500
        return response.json

    yield ask
    app.extensions["commonplace"] = runtime


@pytest.fixture
def talk(served):
    """The path of a conversation of forty messages."""
    path = f"/conversations/{served('POST', '/conversations', {})['id']}"
    said = [{"role": ("user", "assistant")[n % 2], "content": f"Message {n} about bees in Basel."} for n in range(40)]
    served("POST", f"{path}/messages", {"messages": said})
    return path


def test_a_server_keeps_states_and_summaries_in_redis(served, talk, redis):
    served("PUT", f"{talk}/state", {"goal": "Find the bees"})
    history = served("GET", f"{talk}/context?token_budget=200")
    assert history["summary"]["covers"]["to_sequence"] == history["left_out"] > 0
    (key,) = redis.keys("session:*")
    assert set(redis.hgetall(key)) == {b"goal", b"seen", b"messages", b"summary"}
    assert b"Basel" not in redis.hget(key, "summary")
    assert served("GET", f"{talk}/context?token_budget=200") == history
    served("DELETE", talk)
    assert redis.keys("session:*") == []


def test_an_incognito_session_leaves_nothing_in_redis(served, talk, redis):
    hidden = {"X-Commonplace-Session": "hidden"}
    served("POST", "/memory/incognito/start", {}, **hidden)
    for method, path, body in (
        ("GET", f"{talk}/state", None),
        ("PUT", f"{talk}/state", {"goal": "Find the bees"}),
        ("GET", f"{talk}/context?token_budget=200", None),
        ("POST", "/tools/memory_search", {"query": "Where are the bees?"}),
    ):
        served(method, path, body, **hidden)
    assert redis.keys("*") == []


def test_a_server_whose_redis_is_away_answers_as_before(served, talk, server):
    served("PUT", f"{talk}/state", {"goal": "Find the bees"})
    before = served("GET", f"{talk}/context?token_budget=200"), served("GET", f"{talk}/state")
    server.stop()
    assert (served("GET", f"{talk}/context?token_budget=200"), served("GET", f"{talk}/state")) == before
    assert served("POST", "/tools/memory_search", {"query": "Where are the bees?"})["count"] == 0


# --- away and back ----------------------------------------------------------------------------------------------------


def test_without_redis_everything_goes_on_and_one_line_says_so(desk, server, caplog):
    desk.say("Hello")
    desk.standing()
    server.stop()
    desk.aim("Find the bees")
    desk.say("Still there?")
    for _ in range(5):
        assert (desk.standing().goal, desk.said()) == ("Find the bees", ["Hello", "Still there?"])
    assert caplog.text.count("Redis is away") == 1


def test_a_redis_that_hangs_is_waited_for_once(runtime, ada, redis, server):
    desk = Desk(runtime, ada, SessionStates(RedisLink(server.url)))
    server.hang()
    began = time.perf_counter()
    for _ in range(20):
        desk.standing()
    # Each wait is of half a second, and there are two in a try.
    assert time.perf_counter() - began < 10


def test_redis_comes_back_by_itself_and_knows_the_newest(desk, server, caplog):
    desk.aim("Find the bees")
    server.stop()
    desk.aim("Count the bees")
    desk.say("Hello")
    assert desk.said() == ["Hello"]
    server.start()
    time.sleep(0.1)
    desk.say("One more")
    assert (desk.standing().goal, desk.said()) == ("Count the bees", ["Hello", "One more"])
    assert server.client().exists(desk.key)
    server.stop()
    desk.standing()
    assert caplog.text.count("Redis is away") == 2


@contextmanager
def away(client):
    """Let the link find no place, though all keys stay: the one connection that may be is the test's own."""
    client.config_set("maxclients", "1")
    client.client_kill_filter(_type="normal", skipme=True)
    yield
    client.config_set("maxclients", "100")
    time.sleep(0.1)


def test_what_could_not_be_dropped_is_dropped_when_redis_is_back(link, redis, caplog):
    redis.set("session:left", "behind")
    with away(redis):
        link.drop({"session:left"})
        assert redis.exists("session:left")
    link.ask(lambda client: client.ping(), None)
    assert not redis.exists("session:left")
    assert caplog.text.count("Redis is away") == 1


def test_what_is_dropped_anew_while_it_is_being_dropped_is_dropped_again(link, redis, monkeypatch):
    """The answer to a deletion is under way while another thread writes the key, and is to drop it, in an outage."""
    delete, under_way = Redis.delete, ExitStack()

    def slow(client, *names):
        deleted = delete(client, *names)
        monkeypatch.undo()
        redis.set("session:left", "again")
        under_way.enter_context(away(redis))
        link.drop({"session:left"})
        return deleted

    monkeypatch.setattr(Redis, "delete", slow)
    link.drop({"session:left"})
    under_way.close()
    link.ask(lambda client: client.ping(), None)
    assert not redis.exists("session:left")


@pytest.fixture
def many():
    """Names of more copies than may be owed."""
    return [f"session:{number}" for number in range(MOST_OWED + 1)]


def test_more_than_may_be_owed_is_dropped_while_redis_answers(link, redis, many, caplog):
    redis.mset(dict.fromkeys(many, "left"))
    link.drop(many)
    assert (redis.dbsize(), caplog.text) == (0, "")


def test_what_can_be_owed_is_and_what_cannot_is_said(link, redis, many, caplog):
    redis.mset(dict.fromkeys(many, "left"))
    with away(redis):
        link.drop(many)
        link.drop(many[:10])
    link.ask(lambda client: client.ping(), None)
    assert redis.dbsize() == 1
    assert caplog.text.count("1 copies") == caplog.text.count("copies") == 1


# --- cached vectors ---------------------------------------------------------------------------------------------------


@pytest.fixture
def providers(runtime, link):
    return Providers(runtime.providers.system, runtime.keys, link)


@pytest.fixture
def ask(runtime):
    """Embed a question for a person with the providers of some process; tells whether it was in a cache."""

    def _ask(providers, person, question="Where do the bees go in winter?"):
        runtime.backfill.adopt(person.id)
        with user_session(runtime.sessions, person.id) as session:
            model = active_model(session, person.id)
            return providers.query_embedder(model, session, utc_now()).embed_one(question)

    return _ask


def cached_keys(redis):
    return redis.keys("embedding_cache:*")


def test_a_vector_is_kept_for_seven_days_under_a_name_that_tells_nothing(ask, providers, ada, redis):
    ask(providers, ada)
    (key,) = cached_keys(redis)
    assert 7 * DAY - 60 < redis.ttl(key) <= 7 * DAY
    assert b"bees" not in key + b"".join(redis.hgetall(key).values())
    assert str(ada.id).encode() not in key


def test_another_process_finds_the_vector(ask, providers, runtime, ada, link):
    first, _ = ask(providers, ada)
    again, cached = ask(Providers(runtime.providers.system, runtime.keys, link), ada)
    assert cached
    assert abs(float(first @ again) - 1) < 1e-3


def test_what_one_user_asked_is_not_faster_for_another(ask, providers, ada, bob):
    ask(providers, ada)
    assert ask(providers, bob)[1] is False


def test_the_database_keeps_no_vector_where_redis_does(ask, providers, ada, runtime):
    from sqlalchemy import text

    ask(providers, ada)
    with user_session(runtime.sessions, ada.id) as session:
        assert session.scalar(text("SELECT count(*) FROM cached_embeddings")) == 0


def test_without_redis_questions_are_embedded_all_the_same(ask, providers, ada, server):
    server.stop()
    vector, cached = ask(providers, ada)
    assert (vector.shape, cached) == ((384,), False)


def test_forgetting_a_memory_drops_its_vector_here_and_there(ask, providers, runtime, ada, redis):
    text = "Ada keeps bees behind the house"
    with user_session(runtime.sessions, ada.id) as session:
        drafts = Draft(text)
        memory = remember(session, ada.id, "default", drafts, keys=runtime.keys, now=utc_now(), actor="t").id
    ask(providers, ada, text)
    with user_session(runtime.sessions, ada.id) as session:
        forget(session, ada.id, memory, keys=runtime.keys, now=utc_now(), actor="t")
    assert cached_keys(redis) == []
    assert ask(providers, ada, text)[1] is False


def test_a_forgetting_that_is_rolled_back_drops_nothing(ask, providers, runtime, ada, redis):
    ask(providers, ada)
    with suppress(RuntimeError), user_session(runtime.sessions, ada.id) as session:
        drop_cached(session, ada.id, ["Where do the bees go in winter?"], runtime.keys)
        raise RuntimeError
    assert len(cached_keys(redis)) == 1


def test_a_savepoint_that_is_rolled_back_does_not_save_what_goes(ask, providers, runtime, ada, redis):
    ask(providers, ada)
    with user_session(runtime.sessions, ada.id) as session:
        drop_cached(session, ada.id, ["Where do the bees go in winter?"], runtime.keys)
        session.begin_nested().rollback()
        session.begin_nested().commit()
        assert len(cached_keys(redis)) == 1
    assert cached_keys(redis) == []


# --- the queue --------------------------------------------------------------------------------------------------------

# A process that writes and nudges, as the web does.
WRITE = """
import sys
import time
from uuid import UUID
from memory.storage.database import user_session
from memory.drafts.drafts import Draft
from memory.clock import utc_now
from memory.writing.remember import remember
from tasks.embedding import nudge
from webapp.cli.running import migrated_runtime

runtime, user_id = migrated_runtime(), UUID(sys.argv[1])
with user_session(runtime.sessions, user_id) as session:
    remember(session, user_id, "default", Draft(sys.argv[2]), keys=runtime.keys, now=utc_now(), actor="t")
began = time.perf_counter()
nudge()
print(time.perf_counter() - began)
"""


class Queue:
    """Processes that have their queue in Redis and their data in the tests' database."""

    def __init__(self, runtime, database_url, server):
        self.environment = {
            **os.environ,
            "REDIS_URL": server.url,
            "DATABASE_URL": database_url,
            "COMMONPLACE_HOME": str(runtime.settings.home),
            "COMMONPLACE_SECRET_KEY": runtime.settings.secret_key.decode(),
        }
        self.worker = None

    def write(self, person, text):
        """Store a memory and nudge; return how many seconds the nudge took."""
        command = [sys.executable, "-c", WRITE, str(person.id), text]
        done = subprocess.run(command, env=self.environment, check=True, capture_output=True)
        return float(done.stdout)

    def work(self):
        command = [sys.executable, "-m", "webapp.cli", "worker"]
        self.worker = subprocess.Popen(command, env=self.environment, stderr=subprocess.DEVNULL)

    def stop(self):
        if self.worker is not None:
            self.worker.terminate()
            self.worker.wait(60)


@pytest.fixture
def queue(runtime, database_url, server, redis):
    queue = Queue(runtime, database_url, server)
    yield queue
    queue.stop()


def embedded(runtime, person):
    from sqlalchemy import text

    with user_session(runtime.sessions, person.id) as session:
        return session.scalar(text("SELECT count(*) FROM embeddings WHERE state = 'ready'"))


def wait_for(what, seconds=120):
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.slow  # A whole worker, which embeds what every other test left waiting before it comes to this one.
def test_a_nudge_travels_through_redis_and_outlives_its_restart(queue, runtime, ada, server):
    queue.write(ada, "Ada keeps bees behind the house")
    assert server.client().llen("huey.redis.commonplace") == 1
    queue.work()
    wait_for(lambda: embedded(runtime, ada) == 1)
    # What the clock put in at this minute goes too.
    wait_for(lambda: server.client().llen("huey.redis.commonplace") == 0)
    server.stop()
    time.sleep(2)
    server.start()
    queue.write(ada, "The hives face south-east")
    wait_for(lambda: embedded(runtime, ada) == 2)
    assert queue.worker.poll() is None


def test_a_write_does_not_wait_for_a_queue_that_is_away(queue, server, ada):
    server.stop()
    assert queue.write(ada, "Ada keeps bees behind the house") < 2
