"""Vectors that are kept for seven days in the database, and who may find them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from local_provider import openai_shape
from sqlalchemy import text as sql

from memory.clock import utc_now
from memory.embedding.backfill import Backfill
from memory.embedding.base import EmbeddingError
from memory.embedding.models import active_model
from memory.embedding.providers import Providers, System, save_setting
from memory.forgetting.forget import forget, set_aside_expired
from memory.forgetting.purge import purge
from memory.writing.edit import update

QUESTION = "Where do the bees go in winter?"
WEEK = timedelta(days=7)


class Reader:
    """One person whose texts are embedded by an endpoint, by as many processes as are asked for."""

    def __init__(self, runtime: Any, book: Any, provider: Any) -> None:
        self.runtime, self.book, self.provider, self.now = runtime, book, provider, utc_now()
        self.processes = [self.process()]

    def process(self) -> Providers:
        return Providers(System("none"), self.runtime.keys)

    def use(self, model: str, dimensions: int | None = None) -> None:
        fields = {"enabled": True, "provider_type": "openai", "endpoint_url": self.provider.url, "model": model}
        with self.book.session() as session:
            fields |= {"api_key": None, "dimensions": dimensions}
            save_setting(session, self.book.user_id, fields, keys=self.runtime.keys, now=self.now)
        self.embed()

    def embed(self) -> None:
        backfill = OneUser(self.runtime.sessions, self.processes[0], lambda: self.now)
        backfill.user_id = self.book.user_id
        backfill.adopt(self.book.user_id)
        backfill.run()

    def ask(self, question: str = QUESTION, process: int = 0) -> tuple[Any, bool]:
        with self.book.session() as session:
            model = active_model(session, self.book.user_id)
            assert model is not None
            return self.processes[process].query_embedder(model, session, self.now).embed_one(question)

    def write(self, words: str) -> Any:
        return self.book.write(words, now=self.now).id

    def asked(self) -> list[str]:
        """Return the texts that the endpoint was asked for, in order."""
        return [words for method, _, _, body in self.provider.requests if method == "POST" for words in body["input"]]

    def kept(self) -> int:
        return int(self.book.one("SELECT count(*) FROM cached_embeddings"))


class OneUser(Backfill):
    """A backfill for one person alone: other tests leave rows behind that are no business of this one."""

    user_id: Any

    def _across_users(self, function: Any) -> list[Any]:
        return [self.user_id]


@pytest.fixture
def reader(runtime: Any, book: Any, provider: Any) -> Reader:
    reader = Reader(runtime, book, provider)
    reader.use("tiny")
    return reader


# --- questions --------------------------------------------------------------------------------------------------------


def test_another_process_finds_what_one_has_embedded(reader):
    first, _ = reader.ask()
    reader.processes.append(reader.process())
    again, cached = reader.ask(process=1)
    assert (cached, reader.asked()) == (True, [QUESTION])
    assert np.allclose(first, again, atol=1e-3)


def test_the_process_itself_asks_nobody(reader):
    reader.ask()
    with reader.book.session() as session:
        session.execute(sql("DELETE FROM cached_embeddings"))
    assert reader.ask()[1] is True


def test_a_vector_is_kept_for_seven_days_and_no_longer(reader):
    reader.ask()
    reader.processes.append(reader.process())
    reader.now += WEEK - timedelta(seconds=1)
    assert reader.ask(process=1)[1] is True
    reader.processes.append(reader.process())
    reader.now += timedelta(seconds=2)
    assert reader.ask(process=2)[1] is False


def test_expired_vectors_are_purged(reader):
    reader.ask()
    with reader.book.session() as session:
        session.scalar(sql("SELECT purge_caches(:now)"), {"now": reader.now + WEEK - timedelta(seconds=1)})
    assert reader.kept() == 1
    with reader.book.session() as session:
        session.scalar(sql("SELECT purge_caches(:now)"), {"now": reader.now + WEEK})
    assert reader.kept() == 0


def test_nothing_of_the_question_is_in_the_table(reader):
    reader.ask()
    assert "bees" not in reader.book.one("SELECT row_to_json(c)::text FROM cached_embeddings c")


def test_what_one_user_asked_is_not_faster_for_another(reader, runtime, bobs_book, provider):
    reader.ask()
    other = Reader(runtime, bobs_book, provider)
    other.processes = reader.processes
    other.use("tiny")
    assert other.ask()[1] is False


def test_digests_of_the_same_question_differ_between_users(reader, runtime, bobs_book, provider):
    reader.ask()
    other = Reader(runtime, bobs_book, provider)
    other.use("tiny")
    other.ask()
    digests = [book.one("SELECT digest FROM cached_embeddings") for book in (reader.book, bobs_book)]
    assert digests[0] != digests[1]


def test_another_model_has_other_vectors(reader):
    reader.ask()
    reader.use("large")
    assert reader.ask()[1] is False


def test_a_vector_of_other_dimensions_is_not_used(reader):
    reader.write("The hives face south-east")
    reader.embed()
    reader.ask()
    with reader.book.session() as session:
        session.execute(sql("UPDATE cached_embeddings SET vector = '[1,0]'"))
    reader.processes.append(reader.process())
    vector, cached = reader.ask(process=1)
    assert (vector.shape, cached) == ((3,), False)


def of_two(body):
    answer = openai_shape(body)
    for each in answer["data"]:
        del each["embedding"][2:]
    return answer


def test_a_process_does_not_take_the_vector_of_another_size_that_it_made(reader):
    reader.ask()
    reader.provider.answer = of_two
    reader.use("tiny", dimensions=2)
    vector, cached = reader.ask()
    assert (vector.shape, cached) == ((2,), False)
    assert reader.ask()[1] is True


def test_vectors_of_the_size_that_a_name_stood_for_before_are_made_anew(reader, caplog):
    """Whoever comes back to a model may find another one by its name."""
    for words in ("The hives face south-east", "The smoker is in the shed"):
        reader.write(words)
    reader.embed()
    reader.provider.answer = of_two
    reader.use("large")
    reader.use("tiny")
    assert reader.book.all("SELECT vector_dims(vector) FROM embeddings") == [2, 2]
    assert caplog.messages == [], "nothing failed on the way"


def test_a_failure_is_not_kept(reader):
    reader.provider.status = 503
    with pytest.raises(EmbeddingError):
        reader.ask()
    assert reader.kept() == 0


# --- texts ------------------------------------------------------------------------------------------------------------


def test_a_text_that_is_stored_again_is_not_embedded_again(reader, second_space):
    for space in ("default", second_space):
        reader.book.write("Ada keeps bees behind the house", space=space, now=reader.now)
        reader.embed()
    assert reader.asked() == ["Ada keeps bees behind the house"]
    assert reader.book.all("SELECT state FROM embeddings") == ["ready", "ready"]


@pytest.fixture
def away_from_tiny(reader):
    """Three texts that one model has embedded, and another one serves now."""
    for each in ("Ada keeps bees behind the house", "The hives face south-east", "There are nine of them"):
        reader.write(each)
    reader.embed()
    reader.use("large")
    assert len(reader.asked()) == 6
    return reader


def test_going_back_to_a_model_embeds_one_text_again(away_from_tiny):
    reader = away_from_tiny
    reader.use("tiny")
    assert len(reader.asked()) == 7
    assert reader.book.one("SELECT model FROM embedding_models") == "tiny"
    assert reader.book.all("SELECT state FROM embeddings") == ["ready"] * 3


def test_a_model_that_makes_other_vectors_by_now_embeds_all_anew(away_from_tiny):
    reader = away_from_tiny
    reader.provider.answer = lambda body: {"data": [{"embedding": [1.0, 2, 3, 4]} for _ in body["input"]]}
    reader.use("tiny")
    assert reader.book.all("SELECT vector_dims(vector) FROM embeddings") == [4] * 3
    assert reader.ask()[0].shape == (4,)


def test_only_what_is_new_is_embedded(reader):
    reader.write("Ada keeps bees behind the house")
    reader.embed()
    reader.write("The hives face south-east")
    reader.embed()
    assert reader.asked() == ["Ada keeps bees behind the house", "The hives face south-east"]


def test_the_vector_of_a_memory_serves_the_same_question(reader):
    reader.write(QUESTION)
    reader.embed()
    assert reader.ask()[1] is True


# --- forgetting -------------------------------------------------------------------------------------------------------


def forget_(reader, memory_id, **options):
    with reader.book.session() as session:
        forget(
            session,
            reader.book.user_id,
            memory_id,
            keys=reader.runtime.keys,
            now=reader.now,
            actor="test",
            **options,
        )


@pytest.mark.parametrize("options", [{}, {"undo": timedelta(minutes=10)}])
def test_forgetting_drops_the_vector_of_the_text(reader, options):
    memory_id = reader.write("Ada keeps bees behind the house")
    reader.write("The hives face south-east")
    reader.embed()
    reader.ask("Ada keeps bees behind the house")
    forget_(reader, memory_id, **options)
    assert reader.kept() == 1
    assert reader.ask("Ada keeps bees behind the house")[1] is False


def test_what_was_asked_in_the_words_of_a_forgotten_memory_goes_when_it_is_purged(reader):
    memory_id = reader.write("Ada keeps bees behind the house")
    reader.embed()
    forget_(reader, memory_id, undo=timedelta(minutes=10))
    reader.ask("Ada keeps bees behind the house")
    with reader.book.session() as session:
        purge(session, reader.book.user_id, keys=reader.runtime.keys, now=reader.now + timedelta(minutes=11))
    assert reader.kept() == 0


def test_a_corrected_memory_leaves_no_vector_of_what_it_said(reader):
    memory_id = reader.write("Ada keeps bees behind the house")
    reader.embed()
    changes = {"text": "Ada keeps bees on the roof"}
    reader.book.do(update, memory_id, changes)
    assert reader.kept() == 0


def test_an_expired_memory_takes_its_vector_along(reader):
    reader.book.write("Ada keeps bees until May", now=reader.now, expires_at=reader.now + timedelta(hours=1))
    reader.embed()
    assert reader.kept() == 1
    with reader.book.session() as session:
        set_aside_expired(session, reader.book.user_id, now=reader.now + timedelta(hours=2))
        purge(session, reader.book.user_id, keys=reader.runtime.keys, now=reader.now + timedelta(hours=2))
    assert reader.kept() == 0


def test_a_text_that_is_forgotten_while_it_is_embedded_is_not_kept(reader):
    memory_id = reader.write("Ada keeps bees behind the house")

    def forget_meanwhile(body: dict[str, Any]) -> dict[str, Any]:
        forget_(reader, memory_id)
        return openai_shape(body)

    reader.provider.answer = forget_meanwhile
    reader.embed()
    assert reader.asked() == ["Ada keeps bees behind the house"]
    assert reader.kept() == 0
