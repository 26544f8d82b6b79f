"""Entities of a space: merged by name and type, listed, read, moved on request, deleted."""

from __future__ import annotations

import threading
from datetime import timedelta
from uuid import UUID

import pytest
from enrichment_desk import Desk, embed_all
from sqlalchemy import select, text
from sqlalchemy import update as update_rows
from sqlalchemy.exc import OperationalError

from memory.clock import utc_now
from memory.cursors import to_cursor
from memory.embedding import queue
from memory.enrichment.findings import Name
from memory.enrichment.mentions import Origin, mention
from memory.errors import InvalidError, NotFoundError
from memory.facts.entities import EntityFilters, delete_entity, get_entity, list_entities, list_mentions, retag_entity
from memory.forgetting.forget import forget
from memory.models import AuditEvent, Entity
from memory.spaces.spaces import get_space, lock_spaces
from memory.writing.edit import update


@pytest.fixture
def desk(book):
    desk = Desk(book)
    desk.space("trip")
    desk.space("work")
    return desk


def name(word, type_="person", confidence=0.9, sentence=None):
    return Name(word, type_, sentence or f"{word} was here.", confidence)


def tell(desk, *names, space="trip", memory_id=None):
    """Write names as found in a memory, a new one by default; returns its id."""
    memory_id = memory_id or desk.book.write(f"a text of {desk.book.one('SELECT gen_random_uuid()')}", space=space).id
    with desk.book.session() as session:
        space_id = get_space(session, desk.user_id, space).id
        lock_spaces(session, desk.user_id, {space_id})
        mention(session, desk.user_id, space_id, [(Origin(memory_id=memory_id), names)], now=utc_now())
    return memory_id


def listed(desk, *, limit=50, cursor=None, **filters):
    if "space" in filters:
        with desk.book.session() as session:
            filters["space_id"] = get_space(session, desk.user_id, filters.pop("space")).id
    with desk.book.session() as session:
        page = list_entities(session, desk.user_id, EntityFilters(**filters), limit=limit, cursor=cursor, now=utc_now())
        return [(named.entity.name, named.space, named.entity.mentions) for named in page.entities], page.next_cursor


def entity_id(desk, word, space="trip"):
    return desk.book.one(
        "SELECT e.id FROM entities e JOIN spaces s ON s.id = e.space_id WHERE e.name = :name AND s.slug = :space",
        name=word,
        space=space,
    )


def test_an_entity_that_is_named_again_while_its_vector_is_asked_for_gets_one(desk):
    tell(desk, name("Anna"))
    embed_all(desk.book)
    tell(desk, name("Anna", sentence="Anna sold the boat."))
    with desk.book.session() as session:
        # Whoever asks has read the notes, and not committed yet.
        assert queue.enqueue_missing(session, desk.user_id, utc_now())
        tell(desk, name("Anna", sentence="Anna bought a piano."))
    embed_all(desk.book)
    vectors = "SELECT state || ' of ' || x.version - e.version FROM entity_embeddings x JOIN entities e ON id = item_id"
    assert (desk.book.all(vectors), desk.book.one("SELECT needs_embedding FROM entities")) == (["ready of 0"], False)


# Merging


def test_names_that_differ_in_case_title_and_possessive_are_one(desk):
    tell(desk, name("Smith"))
    tell(desk, name("SMITH's", sentence="SMITH's dog."))
    tell(desk, name("Dr. Smith", sentence="Dr. Smith called."))
    assert listed(desk)[0] == [("Smith", "trip", 3)]


@pytest.mark.parametrize(
    ("one", "other"),
    [("D'Angelo", "D\u2019Angelo"), ("D\u2019Angelo", "D'Angelo"), ("Jos\u00e9", "Jose\u0301")],
    ids=["typed-first", "typeset-first", "composed-first"],
)
def test_a_name_is_one_however_its_signs_are_written(desk, one, other):
    tell(desk, name(one))
    tell(desk, name(other, sentence=f"{other} called."))
    assert listed(desk)[0] == [(one, "trip", 2)]
    assert listed(desk, q=other)[0] == [(one, "trip", 2)]


def test_a_name_that_was_kept_with_its_signs_takes_what_is_said_of_it(desk):
    tell(desk, name("D\u2019Angelo"))
    with desk.book.session() as session:
        session.execute(update_rows(Entity).values(name_key="d\u2019angelo"))
    tell(desk, name("D'Angelo", sentence="D'Angelo called."))
    assert listed(desk)[0] == [("D\u2019Angelo", "trip", 2)]


def test_another_type_is_another_entity(desk):
    tell(desk, name("Paris"), name("Paris", "place", sentence="Paris is big."))
    assert desk.book.all("SELECT type FROM entities ORDER BY type") == ["person", "place"]


def test_another_space_is_another_entity(desk):
    tell(desk, name("Ann"))
    tell(desk, name("Ann"), space="work")
    assert sorted(listed(desk)[0]) == [("Ann", "trip", 1), ("Ann", "work", 1)]


def test_a_guess_takes_the_kind_that_is_known(desk):
    tell(desk, name("Nate"))
    tell(desk, name("Nate", "organisation", 0.5, sentence="It was awesome, Nate."))
    assert desk.book.all("SELECT type FROM entities") == ["person"]


def test_a_guess_without_anything_known_stands(desk):
    tell(desk, name("Nike", "organisation", 0.5))
    assert desk.book.all("SELECT type FROM entities") == ["organisation"]


def test_an_entity_is_seen_in_the_sentences_that_name_it(desk):
    tell(desk, name("Ann", sentence="Ann came."))
    tell(desk, name("Ann", sentence="Ann left."))
    assert desk.book.one("SELECT notes FROM entities") == "Ann came.\nAnn left."


def test_what_is_found_again_replaces_what_was_found_before(desk):
    memory_id = tell(desk, name("Ann"), name("Bob"))
    tell(desk, name("Bob"), name("Cleo"), memory_id=memory_id)
    assert sorted(listed(desk)[0]) == [("Bob", "trip", 1), ("Cleo", "trip", 1)]


def test_workers_that_name_the_same_at_once_make_one_entity(desk):
    ids = [desk.book.write(f"text number {n} of several", space="trip").id for n in range(8)]
    failures = []

    def work(memory_id):
        try:
            tell(desk, name("Ann"), name("Bob"), memory_id=memory_id)
        except OperationalError as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=[memory_id]) for memory_id in ids]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sorted(listed(desk)[0]) == [("Ann", "trip", 8), ("Bob", "trip", 8)]


def test_whoever_makes_vectors_waits_for_no_entity_and_makes_it_later(desk, owner):
    """Who trims or forgets takes entities in no order: of two in a circle one is refused, and not always the worker."""
    tell(desk, name("Ann"), name("Bob"), name("Cleo"))
    first, held, last = desk.book.all("SELECT id FROM entities ORDER BY id")
    taken = text("SELECT id FROM entities WHERE id = :id FOR NO KEY UPDATE NOWAIT")
    worker = threading.Thread(target=embed_all, args=[desk.book])
    with owner.begin() as writer:
        writer.execute(taken, {"id": held})
        worker.start()
        worker.join(10)
        assert not worker.is_alive()
        writer.execute(taken, {"id": first})
    ready = "SELECT item_id FROM entity_embeddings WHERE state = 'ready' ORDER BY item_id"
    assert desk.book.all(ready) == [first, last]
    assert desk.book.all("SELECT id FROM entities WHERE needs_embedding") == [held]
    desk.book.all("UPDATE entity_embeddings SET due_at = now() WHERE state = 'pending' RETURNING 1")
    embed_all(desk.book)
    assert desk.book.all(ready) == [first, held, last]


def test_forgetting_while_others_are_named_blocks_nobody(desk):
    ids = [tell(desk, name("Ann"), name("Bob"), name("Cleo")) for _ in range(6)]
    failures = []

    def run(action):
        try:
            action()
        except OperationalError as error:
            failures.append(error)

    actions = [lambda m=m: desk.book.do(forget, m) for m in ids]
    actions += [lambda: tell(desk, name("Cleo"), name("Bob"), name("Ann")) for _ in range(6)]
    threads = [threading.Thread(target=run, args=[action]) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert {mentions for _, _, mentions in listed(desk)[0]} == {6}


# Reading


def test_the_most_mentioned_come_first_page_by_page(desk):
    for names in (["Ann"], ["Ann", "Bob"], ["Ann", "Bob", "Cleo"]):
        tell(desk, *map(name, names))
    first, cursor = listed(desk, limit=2)
    second, end = listed(desk, limit=2, cursor=cursor)
    assert [word for word, _, _ in first + second] == ["Ann", "Bob", "Cleo"]
    assert end is None


def test_entities_of_equal_mentions_are_each_on_one_page(desk):
    tell(desk, *(name(f"Ann{n}") for n in range(7)))
    seen, cursor = listed(desk, limit=3)
    while cursor:
        more, cursor = listed(desk, limit=3, cursor=cursor)
        seen += more
    assert sorted(word for word, _, _ in seen) == sorted(f"Ann{n}" for n in range(7))


def test_filters_narrow_the_list(desk):
    tell(desk, name("Ann Lee"), name("Lisbon", "place"))
    tell(desk, name("Ann Lee"), space="work")
    assert listed(desk, space="trip", type="place")[0] == [("Lisbon", "trip", 1)]
    assert listed(desk, q="LEE", space="work")[0] == [("Ann Lee", "work", 1)]
    assert listed(desk, q="%")[0] == []


@pytest.mark.parametrize("part", ["lady", "Lady G", "LADY  GAGA", "gaga", "Gaga's"])
def test_a_name_is_found_by_each_part_that_is_shown(desk, part):
    tell(desk, name("Lady Gaga"), name("Smith"))
    assert [row[0] for row in listed(desk, q=part)[0]] == ["Lady Gaga"]


@pytest.mark.parametrize(
    "cursor", ["x", "n1", "n1~x", f"nTrue~{'A' * 22}", to_cursor(0.5, UUID(int=1)), to_cursor(1 << 31, UUID(int=1))]
)
def test_a_foreign_cursor_is_refused(desk, cursor):
    with pytest.raises(InvalidError, match="cursor"):
        listed(desk, cursor=cursor)


def test_mentions_tell_where_they_stand(desk):
    memory_id = desk.book.write("My sister Beatrice wrote", space="trip").id
    desk.read()
    conversation = desk.conversation("trip")
    episode_id = desk.turn(conversation, "My sister Beatrice called.")
    desk.read()
    with desk.book.session() as session:
        page = list_mentions(session, desk.user_id, entity_id(desk, "Beatrice"), limit=50, cursor=None, now=utc_now())
        session.expunge_all()
    first, second = page.mentions
    assert (first.mention.episode_id, first.conversation.id) == (episode_id, conversation)
    assert (second.mention.memory_id, second.conversation) == (memory_id, None)


def test_mentions_come_page_by_page(desk):
    for n in range(5):
        tell(desk, name("Ann", sentence=f"Ann came {n} times."))
    seen, cursor = [], None
    while True:
        with desk.book.session() as session:
            page = list_mentions(session, desk.user_id, entity_id(desk, "Ann"), limit=2, cursor=cursor, now=utc_now())
            seen += [found.mention.sentence for found in page.mentions]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == [f"Ann came {n} times." for n in (4, 3, 2, 1, 0)]


def test_another_persons_entity_is_none(desk, bobs_book):
    tell(desk, name("Ann"))
    with bobs_book.session() as session, pytest.raises(NotFoundError):
        get_entity(session, bobs_book.user_id, entity_id(desk, "Ann"), now=utc_now())


# Moving and deleting


def retag(desk, word, space, start="trip"):
    return desk.book.do(retag_entity, entity_id(desk, word, start), space)


def test_an_entity_moves_with_its_words_and_vectors(desk):
    tell(desk, name("Ann"))
    embed_all(desk.book)
    retag(desk, "Ann", "work")
    work = desk.book.one("SELECT id FROM spaces WHERE slug = 'work'")
    assert listed(desk)[0] == [("Ann", "work", 1)]
    for table in ("entity_postings", "entity_embeddings"):
        assert desk.book.all(f"SELECT DISTINCT scope_id FROM {table}") == [work]


def test_a_namesake_takes_the_mentions_over(desk):
    tell(desk, name("Ann", sentence="Ann came."))
    tell(desk, name("Ann", sentence="Ann left."), space="work")
    kept = retag(desk, "Ann", "work")
    assert kept.id == entity_id(desk, "Ann", "work")
    assert listed(desk)[0] == [("Ann", "work", 2)]
    assert set(kept.notes.splitlines()) == {"Ann came.", "Ann left."}


def test_moving_to_where_it_is_changes_nothing(desk):
    tell(desk, name("Ann"))
    events = "SELECT count(*) FROM audit_events"
    before = desk.book.one(events)
    retag(desk, "Ann", "trip")
    assert desk.book.one(events) == before


@pytest.mark.parametrize("space", ["default", "nowhere"])
def test_an_entity_cannot_move_to_the_pool_or_nowhere(desk, space):
    tell(desk, name("Ann"))
    with pytest.raises(InvalidError, match="space"):
        retag(desk, "Ann", space)


def test_moving_is_audited_in_ids(desk):
    tell(desk, name("Ann"))
    moved = entity_id(desk, "Ann")
    retag(desk, "Ann", "work")
    action, subject, details = desk.book.do(last_event)
    assert (action, subject) == ("entity.retagged", moved)
    assert "Ann" not in str(details)


def test_a_text_read_after_the_move_names_a_new_entity_where_it_stands(desk):
    memory_id = tell(desk, name("Ann"))
    retag(desk, "Ann", "work")
    tell(desk, name("Ann"), space="trip")
    assert sorted(listed(desk)[0]) == [("Ann", "trip", 1), ("Ann", "work", 1)]
    desk.book.do(forget, memory_id)
    assert listed(desk)[0] == [("Ann", "trip", 1)]


def test_a_deleted_entity_is_gone_with_its_mentions_and_vectors(desk):
    tell(desk, name("Ann"))
    embed_all(desk.book)
    desk.book.do(delete_entity, entity_id(desk, "Ann"))
    for table in ("entities", "entity_mentions", "entity_postings", "entity_embeddings"):
        assert desk.book.one(f"SELECT count(*) FROM {table}") == 0
    assert desk.book.do(last_event)[0] == "entity.deleted"


def test_deleting_what_is_in_another_space_finds_nothing(desk):
    tell(desk, name("Ann"))
    work = desk.book.one("SELECT id FROM spaces WHERE slug = 'work'")
    with pytest.raises(NotFoundError):
        desk.book.do(delete_entity, entity_id(desk, "Ann"), within=work)


def last_event(session, user_id, **_):
    mine = select(AuditEvent).where(AuditEvent.user_id == user_id).order_by(AuditEvent.id.desc()).limit(1)
    event = session.scalars(mine).one()
    return event.action, event.subject_id, event.details


# What is out of force


def notes(desk, word, space="trip"):
    return desk.book.one("SELECT notes FROM entities WHERE id = :id", id=entity_id(desk, word, space)).splitlines()


@pytest.mark.parametrize("status", ["archived", "superseded"])
def test_notes_leave_out_what_is_not_active_until_it_is_again(desk, status):
    memory_id = tell(desk, name("Ann", sentence="Ann dances."))
    tell(desk, name("Ann", sentence="Ann sings."))
    desk.book.do(update, memory_id, {"status": status})
    assert notes(desk, "Ann") == ["Ann sings."]
    assert listed(desk)[0] == [("Ann", "trip", 1)]
    desk.book.do(update, memory_id, {"status": "active"})
    assert notes(desk, "Ann") == ["Ann dances.", "Ann sings."]


def test_what_is_archived_already_adds_no_note(desk):
    memory_id = desk.book.write("a text", space="trip").id
    desk.book.do(update, memory_id, {"status": "archived"})
    tell(desk, name("Ann"), memory_id=memory_id)
    assert notes(desk, "Ann") == []
    assert listed(desk)[0] == []


def test_what_is_to_expire_stands_in_no_notes(desk):
    memory_id = tell(desk, name("Ann", sentence="Ann dances."))
    tell(desk, name("Ann", sentence="Ann sings."))
    desk.book.do(update, memory_id, {"expires_at": utc_now() + timedelta(days=1)})
    assert notes(desk, "Ann") == ["Ann sings."]


def test_an_entity_that_only_expired_texts_name_is_not_there(desk):
    memory_id = tell(desk, name("Ann"))
    expiry = utc_now() + timedelta(days=1)
    desk.book.do(update, memory_id, {"expires_at": expiry})
    ann = entity_id(desk, "Ann")
    with desk.book.session() as session:
        assert get_entity(session, desk.user_id, ann, now=expiry - timedelta(seconds=1)).entity.name == "Ann"
        with pytest.raises(NotFoundError):
            get_entity(session, desk.user_id, ann, now=expiry)
        assert list_mentions(session, desk.user_id, ann, limit=50, cursor=None, now=expiry).mentions == []


def test_the_vector_of_notes_that_changed_is_made_again(desk):
    memory_id = tell(desk, name("Ann", sentence="Ann dances."))
    tell(desk, name("Ann", sentence="Ann sings."))
    embed_all(desk.book)
    desk.book.do(update, memory_id, {"status": "archived"})
    assert desk.book.one("SELECT needs_embedding FROM entities")
    assert desk.book.one("SELECT count(*) FROM entity_embeddings") == 0
