"""Episodes and entities are found by the code that finds memories."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memory.embedding.models import active_model
from memory.ids import new_id
from memory.models import Conversation, Entity, EntityMention, Episode, Message
from memory.spaces.spaces import create_space, get_space
from memory.storage.database import user_session
from memory.storage.shelves import ENTITIES, EPISODES
from retrieval.policy import NAMED
from retrieval.query import Dense, Query
from retrieval.search import search

NOW = datetime(2025, 6, 1, tzinfo=UTC)


class Shelves:
    """One person's conversations, written row by row."""

    def __init__(self, runtime, person):
        self.runtime = runtime
        self.user_id = person.id
        self.person = person

    def session(self):
        return user_session(self.runtime.sessions, self.user_id)

    def space(self, slug):
        with self.session() as session:
            if slug != "default":
                create_space(session, self.user_id, slug, soft_cap=100, now=NOW, actor="test")
            return get_space(session, self.user_id, slug).id

    def talk(self, space_id, *turns, archived=False):
        """Add a conversation of (said, answered) pairs; returns its id and those of its episodes."""
        with self.session() as session:
            conversation = Conversation(user_id=self.user_id, id=new_id(), external_id=str(new_id()), space_id=space_id)
            conversation.created_at = conversation.updated_at = NOW
            conversation.archived_at = NOW if archived else None
            session.add(conversation)
            session.flush()
            episodes, previous = [], None
            for place, (said, answered) in enumerate(turns):
                ends = [self._message(conversation.id, 2 * place + n, text) for n, text in ((1, said), (2, answered))]
                session.add_all(ends)
                session.flush()
                text = f"user: {said}\nassistant: {answered}"
                episode = Episode(user_id=self.user_id, id=new_id(), conversation_id=conversation.id)
                episode.message_id, episode.reply_id = ends[0].id, ends[1].id
                episode.text, episode.searched, episode.created_at = text, text, NOW - timedelta(days=1)
                episode.previous_id = previous
                session.add(episode)
                session.flush()
                previous = episode.id
                episodes.append(episode.id)
            return conversation.id, episodes

    def _message(self, conversation_id, sequence, text):
        role = "user" if sequence % 2 else "assistant"
        message = Message(user_id=self.user_id, id=new_id(), conversation_id=conversation_id, sequence=sequence)
        message.role, message.content, message.token_count = role, text, len(text.split())
        message.correlation_id, message.created_at = "", NOW
        return message

    def entity(self, space_id, name, kind, *sentences, episode_id):
        with self.session() as session:
            entity = Entity(user_id=self.user_id, id=new_id(), space_id=space_id, name=name, name_key=name.lower())
            entity.type, entity.created_at, entity.updated_at = kind, NOW, NOW
            session.add(entity)
            session.flush()
            for sentence in sentences:
                mention = EntityMention(user_id=self.user_id, id=new_id(), entity_id=entity.id, episode_id=episode_id)
                mention.sentence, mention.confidence, mention.created_at = sentence, 0.9, NOW
                session.add(mention)
            return entity.id

    def find(self, text, space_id, shelf=EPISODES, **fields):
        with self.session() as session:
            model = active_model(session, self.user_id)
            dense = Dense.by(model, self.runtime.providers.embedder(model, asked=True)) if model else None
            query = Query(self.user_id, space_id, text, shelf=shelf, **fields)
            result = search(session, query, NAMED["balanced"], dense=dense, now=NOW)
            assert not result.error
            return result

    def ids(self, *args, **named):
        return [hit.ranked.scored.candidate.id for hit in self.find(*args, **named).hits]


@pytest.fixture
def shelves(runtime, ada):
    made = Shelves(runtime, ada)
    runtime.backfill.adopt(ada.id)
    return made


BIKE = ("My bicycle was stolen at the station", "I am sorry. Did you report it to the police?")
SOUP = ("How long do lentils cook?", "About twenty-five minutes.")


def test_an_episode_is_found_by_its_words_and_by_its_meaning(shelves):
    pool = shelves.space("default")
    _, (bike, _) = shelves.talk(pool, BIKE, SOUP)
    shelves.person.embed()
    hits = shelves.find("Was a bike theft ever mentioned?", pool).hits
    first = hits[0].ranked.scored.candidate
    assert (first.id, first.keyword_rank) == (bike, None)
    assert first.cosine > 0.3
    by_word = shelves.find("bicycle", pool).hits[0].ranked.scored.candidate
    assert (by_word.id, by_word.keyword_rank) == (bike, 1)
    assert by_word.text.startswith("user: My bicycle")
    assert by_word.is_turn


def test_the_keyword_leg_alone_finds_what_has_no_vector_yet(shelves):
    pool = shelves.space("default")
    _, (bike, _) = shelves.talk(pool, BIKE, SOUP)
    assert shelves.ids("bicycle", pool) == [bike]


def test_a_name_is_found_by_its_signs_on_any_shelf(shelves):
    pool = shelves.space("default")
    _, (phone, course, _) = shelves.talk(
        pool, ("AT&T sent a bill", "Noted."), ("The course in C# began", "Good luck."), ("Vitamin C is out", "Oh.")
    )
    entity = shelves.entity(pool, "AT&T", "organisation", "AT&T sent a bill.", episode_id=phone)
    assert shelves.ids("AT&T", pool) == [phone]
    assert shelves.ids("C#", pool, created_after=NOW - timedelta(days=2)) == [course]
    assert shelves.ids("C#", pool, created_after=NOW) == []
    assert shelves.ids("AT&T", pool, ENTITIES) == [entity]


def test_what_was_said_has_a_time_and_an_entity_has_none(shelves):
    pool = shelves.space("default")
    _, (bike, soup) = shelves.talk(pool, BIKE, SOUP)
    # Made now, which was when it was first named, and no time of its own.
    shelves.entity(pool, "Porto", "place", "Porto was warm.", episode_id=bike)
    assert sorted(shelves.ids("What happened in May 2025?", pool)) == sorted([bike, soup])
    assert shelves.ids("What happened in June 2025?", pool, ENTITIES) == []


def test_a_conversation_is_searched_where_it_is_at_this_moment(shelves):
    pool, work = shelves.space("default"), shelves.space("work")
    moved, (bike, _) = shelves.talk(pool, BIKE, SOUP)
    _, (meeting,) = shelves.talk(work, ("The bicycle budget is 300 euros", "Noted."))
    shelves.person.embed()
    assert shelves.ids("bicycle", pool) == [bike]
    assert shelves.ids("bicycle", work) == [meeting]
    with shelves.session() as session:
        session.get_one(Conversation, (shelves.user_id, moved)).space_id = work
    assert shelves.ids("bicycle", pool) == []
    assert set(shelves.ids("bicycle", work)) == {bike, meeting}


def test_an_archived_conversation_is_not_searched(shelves):
    pool = shelves.space("default")
    shelves.talk(pool, BIKE, archived=True)
    shelves.person.embed()
    assert shelves.ids("bicycle", pool) == []


def test_a_search_can_stay_within_one_conversation(shelves):
    pool = shelves.space("default")
    first, (bike,) = shelves.talk(pool, BIKE)
    second, (other,) = shelves.talk(pool, ("I sold my bicycle", "For how much?"))
    shelves.person.embed()
    assert set(shelves.ids("bicycle", pool)) == {bike, other}
    assert shelves.ids("bicycle", pool, conversation_id=first) == [bike]
    assert shelves.ids("bicycle", pool, conversation_id=second) == [other]


def test_the_age_of_an_episode_can_be_asked_for(shelves):
    pool = shelves.space("default")
    _, (bike,) = shelves.talk(pool, BIKE)
    assert shelves.ids("bicycle", pool, created_after=NOW - timedelta(days=2)) == [bike]
    assert shelves.ids("bicycle", pool, created_after=NOW) == []


def test_deleting_a_conversation_takes_its_words_and_vectors_along(shelves):
    pool = shelves.space("default")
    conversation_id, _ = shelves.talk(pool, BIKE, SOUP)
    shelves.person.embed()
    with shelves.session() as session:
        session.delete(session.get_one(Conversation, (shelves.user_id, conversation_id)))
    with shelves.session() as session:
        for table in ("episodes", "episode_postings", "episode_embeddings"):
            left = session.connection().exec_driver_sql(f"SELECT count(*) FROM {table}").scalar()
            assert (table, left) == (table, 0)


def test_an_entity_is_found_by_name_and_by_what_is_said_of_it(shelves):
    work = shelves.space("work")
    _, (bike,) = shelves.talk(work, BIKE)
    zoe = shelves.entity(work, "Zoë", "PERSON", "Zoë repairs violins.", "Zoë lives in Ghent.", episode_id=bike)
    shelves.entity(work, "Acme", "ORG", "Acme sells anvils.", episode_id=bike)
    shelves.person.embed()
    assert shelves.ids("Zoë", work, ENTITIES) == [zoe]
    hits = shelves.find("Who mends musical instruments?", work, ENTITIES).hits
    assert hits[0].ranked.scored.candidate.id == zoe
    assert not hits[0].ranked.scored.candidate.is_turn
    assert "repairs violins" in hits[0].snippet
    assert shelves.ids("Zoë", shelves.space("other"), ENTITIES) == []


def test_an_entity_that_is_noted_again_is_embedded_again(shelves):
    work = shelves.space("work")
    _, (bike,) = shelves.talk(work, BIKE)
    entity_id = shelves.entity(work, "Acme", "ORG", "Acme sells anvils.", episode_id=bike)
    shelves.person.embed()
    with shelves.session() as session:
        mention = EntityMention(user_id=shelves.user_id, id=new_id(), entity_id=entity_id, episode_id=bike)
        mention.sentence, mention.confidence, mention.created_at = "Acme went bankrupt.", 0.9, NOW
        session.add(mention)
    with shelves.session() as session:
        entity = session.get_one(Entity, (shelves.user_id, entity_id))
        assert (entity.needs_embedding, entity.mentions) == (True, 2)
    shelves.person.embed()
    with shelves.session() as session:
        assert not session.get_one(Entity, (shelves.user_id, entity_id)).needs_embedding
    assert shelves.ids("a company that is insolvent", work, ENTITIES) == [entity_id]
