"""The worker reads what was stored, writes what it found where it still fits, and loses nothing."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from chat_endpoint import chat_endpoint
from enrichment_desk import Desk, embed_all
from memory_book import Book
from sqlalchemy import text as sql

from memory.clock import utc_now
from memory.conversations.conversations import change_conversation, delete_conversation
from memory.enrichment.enrich import BATCH, MOST_DERIVED_TAGS, Enricher
from memory.enrichment.findings import Findings, Tag
from memory.enrichment.read import read_texts
from memory.enrichment.waiting import waiting_items
from memory.facts.entities import retag_entity
from memory.forgetting.forget import forget
from memory.forgetting.restore import restore
from memory.record.journal import record_tool_call
from memory.remote.llm import ChatModel
from memory.spaces.spaces import get_space, update_space
from memory.writing.bulk import move_many
from memory.writing.edit import update

LISBON = "Anna moved to Lisbon with her sister Beatrice"


@pytest.fixture
def desk(book):
    return Desk(book)


def read(desk, text, **fields):
    """Store a memory, let the worker read it, and return it."""
    outcome = desk.book.write(text, **fields)
    desk.read()
    return desk.book.load(outcome.id)


def test_a_memory_gets_names_as_tags_and_the_mean_confidence(desk):
    memory = read(desk, LISBON)
    assert {"anna", "beatrice", "lisbon"} <= set(memory.derived_tags)
    assert 0.5 < memory.metadata_confidence <= 1


def test_a_credential_is_no_tag(desk):
    memory = read(desk, "The deploy key is ghp_16C7e42F292c6912E7710c838347Ae178B4a")
    assert "credential" in memory.derived_tags
    assert not [tag for tag in memory.derived_tags if "ghp" in tag]


def _switch(desk, space="default", *, on):
    with desk.book.session() as session:
        update_space(session, desk.user_id, space, {"memory_enabled": on}, now=utc_now(), actor="test")


def _weighed(memory):
    return (memory.importance, memory.metadata_confidence, memory.derived_tags, memory.enriched_version)


def test_with_memory_off_a_memory_stays_as_it_is_until_it_is_on(desk):
    memory_id = desk.book.write(LISBON).id
    before = _weighed(desk.book.load(memory_id))
    _switch(desk, on=False)
    assert (desk.read(), _weighed(desk.book.load(memory_id))) == (0, before)
    _switch(desk, on=True)
    assert desk.read() == 1
    assert "lisbon" in desk.book.load(memory_id).derived_tags


def test_memory_switched_off_while_a_text_is_read_keeps_what_was_found_away(desk):
    memory_id = desk.book.write(LISBON).id
    before = _weighed(desk.book.load(memory_id))

    def reader(texts, model):
        _switch(desk, on=False)
        return read_texts(texts, model)

    assert Enricher(desk.book.runtime.sessions, utc_now, reader=reader).enrich_user(desk.user_id) == 0
    assert _weighed(desk.book.load(memory_id)) == before


def test_given_tags_stay_and_are_not_repeated(desk):
    memory = read(desk, LISBON, tags=("Lisbon",))
    assert memory.tags == ["Lisbon"]
    assert "lisbon" not in memory.derived_tags


def test_tags_are_bounded(desk):
    names = [f"{a}{b}son" for a in ("Al", "Ben", "Car", "Dor") for b in ("a", "e", "i", "o", "u")]
    memory = read(desk, " ".join(f"I told {name} about it." for name in names))
    assert len(memory.derived_tags) == MOST_DERIVED_TAGS


def test_a_text_in_which_nothing_is_found_is_done_too(desk):
    memory = read(desk, "ok then")
    assert (memory.derived_tags, memory.metadata_confidence, memory.enriched_version) == ([], None, memory.version)
    assert desk.read() == 0


def test_reading_changes_neither_the_text_nor_when_it_was_changed(desk):
    before = desk.book.load(desk.book.write(LISBON).id)
    desk.read()
    after = desk.book.load(before.id)
    assert (after.text, after.version, after.updated_at) == (before.text, before.version, before.updated_at)


def test_neighbours_propose_tags(desk):
    for text in ("The bees swarmed in May", "Honey from our bees is dark", "The beehive needs a new queen bee"):
        desk.book.write(text, tags=("apiary",))
    memory_id = desk.book.write("Our bees make honey in the garden").id
    embed_all(desk.book)
    desk.read()
    assert "apiary" in desk.book.load(memory_id).derived_tags


def test_a_memory_is_read_after_its_vector_is_made_or_a_minute_later(desk):
    desk.book.runtime.backfill.adopt(desk.user_id)
    desk.book.write(LISBON)
    assert desk.read() == 0
    embed_all(desk.book)
    assert desk.read() == 1
    late = Enricher(desk.book.runtime.sessions, lambda: utc_now() + timedelta(seconds=61))
    desk.book.write("Clara moved to Oslo")
    assert late.enrich_user(desk.user_id) == 1


# Importance


def test_importance_gains_when_names_come(desk):
    assert read(desk, LISBON).importance == pytest.approx(0.2)


def test_importance_gains_nothing_from_nothing(desk):
    assert read(desk, "a walk before it gets dark").importance == pytest.approx(0.0)


def test_importance_of_what_lasts_by_its_type_gains_as_well(desk):
    assert read(desk, LISBON, type="preference").importance == pytest.approx(0.5)


@pytest.mark.parametrize(("saved", "weighs"), [(False, 0.2), (True, 0.7)])
def test_importance_of_what_was_given_its_type_later_gains_as_well(desk, saved, weighs):
    memory_id = desk.book.write(LISBON, manually_saved=saved).id
    desk.book.do(update, memory_id, {"type": "preference"})
    desk.read()
    assert desk.book.load(memory_id).importance == pytest.approx(weighs)


def test_importance_stays_at_one(desk):
    memory = read(desk, f"I promise to remember this: {LISBON}", manually_saved=True)
    assert memory.importance == 1.0


def test_importance_gains_once_however_often_it_is_read(desk):
    memory = read(desk, LISBON)
    for text in ("Anna moved to Porto", "Anna moved to Faro"):
        desk.book.do(update, memory.id, {"text": text})
        desk.read()
    assert desk.book.load(memory.id).importance == pytest.approx(0.2)


def test_importance_that_the_write_path_gave_for_tags_is_not_given_again(desk):
    memory = read(desk, LISBON, tags=("travel",), metadata_confidence=0.9)
    assert (memory.importance, memory.metadata_confidence) == (pytest.approx(0.2), 0.9)


def test_importance_that_the_caller_set_stays(desk):
    assert read(desk, LISBON, importance=0.45).importance == pytest.approx(0.45)


def test_repeats_count_beside_it(desk):
    desk.book.write(LISBON)
    assert read(desk, LISBON).importance == pytest.approx(0.3)


# Versions and failures


def test_a_changed_text_is_read_again(desk):
    memory = read(desk, LISBON)
    desk.book.do(update, memory.id, {"text": "Clara moved to Oslo"})
    desk.read()
    tags = desk.book.load(memory.id).derived_tags
    assert "oslo" in tags
    assert "lisbon" not in tags


def reading(desk, before):
    """Return a worker that does something after it has taken the texts and before it reads them."""

    def read_late(texts, chat_model):
        before()
        return read_texts(texts, chat_model)

    return Enricher(desk.book.runtime.sessions, utc_now, reader=read_late)


def test_an_edit_while_it_is_read_is_not_overwritten(desk):
    memory_id, keys = desk.book.write(LISBON).id, desk.book.runtime.keys
    worker = reading(desk, lambda: desk.book.do(update, memory_id, {"text": "Clara moved to Oslo"}, keys=keys))
    assert worker.enrich_user(desk.user_id) == 0
    assert desk.book.load(memory_id).derived_tags == []
    desk.read()
    assert "oslo" in desk.book.load(memory_id).derived_tags


def test_a_memory_that_is_moved_while_it_is_read_is_read_again_where_it_is(desk):
    desk.space("trip")
    desk.space("work")
    memory_id = desk.book.write(LISBON, space="trip").id

    def reader(texts, model):
        desk.book.do(move_many, [memory_id], "work")
        return read_texts(texts, model)

    Enricher(desk.book.runtime.sessions, utc_now, reader=reader).enrich_user(desk.user_id)
    desk.read()
    assert (set(desk.entities("work")), desk.entities("trip")) == ({"Anna", "Beatrice", "Lisbon"}, {})


def test_a_memory_forgotten_while_it_is_read_is_gone(desk):
    memory_id, keys = desk.book.write(LISBON).id, desk.book.runtime.keys
    worker = reading(desk, lambda: desk.book.do(forget, memory_id, keys=keys))
    assert worker.enrich_user(desk.user_id) == 0
    assert desk.book.load(memory_id) is None


NOTHING_FOUND = '{"entities": [], "tags": []}'


def _asks_a_model(desk, endpoint, clock=utc_now):
    endpoint.said = NOTHING_FOUND
    return Enricher(desk.book.runtime.sessions, clock, ChatModel(endpoint.url, "m"))


def _sent(endpoint):
    return [request["messages"][1]["content"] for request in endpoint.requests]


def test_what_is_forgotten_while_the_model_reads_another_is_not_sent_to_it(desk):
    older, newer = desk.book.write("The code of the gate is 4711"), desk.book.write(LISBON)
    with chat_endpoint() as endpoint:
        endpoint.meanwhile = lambda: desk.book.do(forget, older.id)
        assert _asks_a_model(desk, endpoint).enrich_user(desk.user_id) == 1
        assert _sent(endpoint) == [LISBON]
    assert desk.book.load(newer.id).enriched_version == 1


def test_what_is_switched_off_while_the_model_reads_another_is_not_sent_to_it(desk):
    desk.book.write("The code of the gate is 4711")
    desk.book.write(LISBON)
    with chat_endpoint() as endpoint:
        endpoint.meanwhile = lambda: _switch(desk, on=False)
        _asks_a_model(desk, endpoint).enrich_user(desk.user_id)
        assert _sent(endpoint) == [LISBON]


def test_what_has_expired_is_not_sent_to_the_model(desk):
    desk.book.write("The code of the gate is 4711", expires_at=utc_now() + timedelta(minutes=5))
    with chat_endpoint() as endpoint:
        assert _asks_a_model(desk, endpoint, lambda: utc_now() + timedelta(minutes=6)).enrich_user(desk.user_id) == 0
        assert _sent(endpoint) == []


def test_of_a_space_that_is_incognito_by_default_nothing_is_sent_to_the_model(desk):
    memory_id = desk.book.write(LISBON).id
    desk.book.do(update_space, "default", {"incognito_default": True})
    with chat_endpoint() as endpoint:
        assert _asks_a_model(desk, endpoint).enrich_user(desk.user_id) == 1
        assert _sent(endpoint) == []
    assert desk.book.load(memory_id).derived_tags


def test_the_model_reads_all_that_waits(desk):
    texts = [f"The gate has the number {n}00" for n in range(3)]
    for text in texts:
        desk.book.write(text)
    with chat_endpoint() as endpoint:
        assert _asks_a_model(desk, endpoint).enrich_user(desk.user_id) == 3
        assert sorted(_sent(endpoint)) == texts


def test_rows_that_another_transaction_holds_wait(desk):
    memory_id = desk.book.write(LISBON).id
    with desk.book.session() as session:
        session.execute(sql("SELECT 1 FROM memories WHERE id = :id FOR UPDATE"), {"id": memory_id})
        assert desk.enricher.enrich_user(desk.user_id) == 0
    assert desk.read() == 1


def test_two_workers_at_once_add_to_the_importance_once(desk, book):
    ids = [book.write(f"{LISBON} in {year}").id for year in range(2001, 2009)]
    workers = [threading.Thread(target=Desk(book).read) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    desk.read()
    assert {round(desk.book.load(memory_id).importance, 6) for memory_id in ids} == {0.2}


def test_a_text_that_cannot_be_read_takes_none_along_and_is_told_without_it(caplog):
    # The database holds no half of a surrogate pair; no detector can read one.
    found = read_texts(["My sister Anna called.", "night \ud800"], None)
    assert [bool(findings) for findings in found] == [True, False]
    assert "night" not in caplog.text


def test_what_cannot_be_read_is_done_and_asked_no_more(desk):
    memory_id = desk.book.write(LISBON).id
    worker = Enricher(desk.book.runtime.sessions, utc_now, reader=lambda texts, _model: [None] * len(texts))
    assert (worker.enrich_user(desk.user_id), worker.enrich_user(desk.user_id)) == (1, 0)
    assert desk.book.load(memory_id).enriched_version == 1


def test_what_cannot_be_written_is_done_and_takes_none_along(desk, caplog):
    bad = desk.book.write("I sleep at night").id
    good = desk.book.write(LISBON).id

    def read_badly(texts, _model):
        half = Findings((), (Tag("night \ud800", 0.9),))
        return [half if "night" in text else Findings((), (Tag("lisbon", 0.9),)) for text in texts]

    worker = Enricher(desk.book.runtime.sessions, utc_now, reader=read_badly)
    assert (worker.enrich_user(desk.user_id), worker.enrich_user(desk.user_id)) == (2, 0)
    assert desk.book.load(good).derived_tags == ["lisbon"]
    assert (desk.book.load(bad).derived_tags, desk.book.load(bad).enriched_version) == ([], 1)
    assert "night" not in caplog.text


def test_the_newest_are_read_first(desk):
    ids = [desk.book.write(f"note number {n} about nothing").id for n in range(5)]
    with desk.book.session() as session:
        assert [item.id for item in waiting_items(session, desk.user_id, 2, now=utc_now())] == [ids[4], ids[3]]


def test_a_step_serves_every_user_who_waits(desk, bobs_book):
    for n in range(BATCH):
        desk.book.write(f"note number {n} about nothing in particular")
    memory_id = bobs_book.write(LISBON).id
    enricher = Enricher(desk.book.runtime.sessions, utc_now)
    for _ in range(200):
        if bobs_book.load(memory_id).enriched_version or not enricher.step():
            break
    assert bobs_book.load(memory_id).enriched_version == 1


def test_those_whose_texts_must_wait_keep_nobody_waiting(desk, others):
    for other in others:
        theirs = Desk(Book(desk.book.runtime, other))
        theirs.book.write(LISBON)
        _switch(theirs, on=False)
    for n in range(3):
        desk.book.write(f"note number {n} about nothing in particular")
    with chat_endpoint() as endpoint:
        enricher = _asks_a_model(desk, endpoint)
        while enricher.step():
            pass
    assert desk.book.one("SELECT count(*) FROM memories WHERE enriched_version IS NULL") == 0


def test_a_restored_memory_is_read_again_and_gains_no_importance(desk):
    memory = read(desk, LISBON)
    desk.book.do(forget, memory.id, undo=timedelta(minutes=5))
    desk.book.do(restore, memory.id)
    assert desk.read() == 1
    assert desk.book.load(memory.id).importance == pytest.approx(0.2)


# Entities


def test_memories_of_a_space_give_entities_with_their_sentence(desk):
    desk.space("trip")
    desk.book.write(f"{LISBON}. It rains.", space="trip")
    desk.read()
    assert desk.entities("trip") == {"Anna": "person", "Beatrice": "person", "Lisbon": "place"}
    assert desk.book.one("SELECT notes FROM entities WHERE name = 'Lisbon'") == f"{LISBON}."


def test_the_pool_has_no_entities(desk):
    read(desk, LISBON)
    desk.turn(desk.conversation(), LISBON)
    desk.read()
    assert desk.entities() == {}


def test_what_was_said_in_a_space_gives_entities(desk):
    desk.space("trip")
    desk.turn(desk.conversation("trip"), "I told my sister Beatrice about it.", "Say hello to Beatrice, Anna!")
    desk.read()
    assert desk.entities("trip") == {"Beatrice": "person", "Anna": "person"}
    assert desk.book.one("SELECT mentions FROM entities WHERE name = 'Beatrice'") == 2


def test_the_same_name_in_two_texts_is_one_entity(desk):
    desk.space("trip")
    desk.book.write("I told Beatrice about Lisbon", space="trip")
    desk.book.write("My sister Beatrice called again", space="trip")
    desk.read()
    assert desk.book.one("SELECT mentions FROM entities WHERE name = 'Beatrice'") == 2


def test_a_text_read_again_mentions_nobody_twice_and_keeps_the_entity(desk):
    desk.space("trip")
    memory_id = desk.book.write("My sister Beatrice called", space="trip").id
    desk.read()
    entity_id = desk.book.one("SELECT id FROM entities")
    desk.book.do(update, memory_id, {"text": "My sister Beatrice called twice"})
    desk.read()
    assert desk.book.all("SELECT id FROM entities") == [entity_id]
    assert desk.book.all("SELECT notes FROM entities") == ["My sister Beatrice called twice"]


def test_a_corrected_text_takes_its_old_sentence_out_of_an_entity_that_was_moved(desk):
    desk.space("trip")
    desk.space("work")
    memory_id = desk.book.write("My sister Beatrice was ill", space="trip").id
    desk.read()
    desk.book.do(retag_entity, desk.book.one("SELECT id FROM entities"), "work")
    desk.book.do(update, memory_id, {"text": "My sister Beatrice is well"})
    desk.read()
    assert (desk.entities("trip"), desk.entities("work")) == ({"Beatrice": "person"}, {})


def test_an_entity_that_nothing_names_any_more_goes(desk):
    desk.space("trip")
    memory_id = desk.book.write("My sister Beatrice called", space="trip").id
    desk.read()
    desk.book.do(update, memory_id, {"text": "Nobody called"})
    desk.read()
    assert desk.entities() == {}


def test_forgetting_a_memory_takes_its_sentences_along(desk):
    desk.space("trip")
    desk.book.write("I told Beatrice about the ferry", space="trip")
    memory_id = desk.book.write("My sister Beatrice was ill", space="trip").id
    desk.read()
    desk.book.do(forget, memory_id)
    assert desk.book.all("SELECT notes FROM entities") == ["I told Beatrice about the ferry"]


def moved_conversation(desk):
    """Return a conversation in which Beatrice was named in the space "trip", and which is in "work" by now."""
    desk.space("trip")
    desk.space("work")
    conversation = desk.conversation("trip")
    desk.turn(conversation, "My sister Beatrice called.")
    desk.read()
    with desk.book.session() as session:
        space = get_space(session, desk.user_id, "work")
        change_conversation(session, desk.user_id, conversation, {"space": space}, now=utc_now(), actor="test")
    return conversation


def test_a_moved_conversation_leaves_its_entities_where_they_were_found(desk):
    conversation = moved_conversation(desk)
    desk.turn(conversation, "My colleague Rosalind called.")
    desk.read()
    assert (desk.entities("trip"), desk.entities("work")) == ({"Beatrice": "person"}, {"Rosalind": "person"})


def test_a_turn_that_goes_on_after_a_move_leaves_what_it_named_before(desk):
    conversation = moved_conversation(desk)
    desk.say(conversation, "assistant", "Then my colleague Rosalind called.")
    desk.read()
    assert (desk.entities("trip"), desk.entities("work")) == ({"Beatrice": "person"}, {"Rosalind": "person"})


def test_an_archived_conversation_is_in_no_notes_until_it_is_back(desk):
    desk.space("trip")
    conversation = desk.conversation("trip")
    desk.turn(conversation, "My sister Beatrice called.")
    desk.book.write("I told Beatrice about the ferry", space="trip")
    desk.read()

    def archive(archived):
        changes = {"archived": archived}
        with desk.book.session() as session:
            change_conversation(session, desk.user_id, conversation, changes, now=utc_now(), actor="test")

    archive(True)
    desk.turn(conversation, "My colleague Rosalind called.")
    desk.read()
    # Who is named there alone is not there.
    notes = "SELECT notes FROM entities WHERE mentions > 0 ORDER BY name"
    assert desk.book.all(notes) == ["I told Beatrice about the ferry"]
    archive(False)
    beatrice, rosalind = desk.book.all(notes)
    assert set(beatrice.splitlines()) == {"I told Beatrice about the ferry", "My sister Beatrice called."}
    assert rosalind == "My colleague Rosalind called."


def test_deleting_a_conversation_takes_its_entities_along(desk):
    desk.space("trip")
    conversation = desk.conversation("trip")
    desk.turn(conversation, "My sister Beatrice called.")
    desk.read()
    desk.book.do(delete_conversation, conversation)
    assert desk.entities() == {}


def test_an_episode_that_goes_on_is_read_again(desk):
    desk.space("trip")
    conversation = desk.conversation("trip")
    desk.turn(conversation, "My sister Beatrice called.")
    desk.read()
    desk.turn(conversation, "And then?", "Then my colleague Rosalind called.")
    desk.read()
    assert desk.entities("trip") == {"Beatrice": "person", "Rosalind": "person"}


def test_where_memory_is_off_nothing_is_learned_of_what_is_said(desk):
    desk.space("trip")
    desk.book.do(update_space, "trip", {"memory_enabled": False})
    desk.turn(desk.conversation("trip"), "My sister Beatrice called.")
    assert desk.read() == 1
    assert desk.entities() == {}


def test_memory_switched_off_while_it_is_read_learns_nothing_of_what_was_said(desk):
    desk.space("trip")
    desk.turn(desk.conversation("trip"), LISBON)

    def reader(texts, model):
        _switch(desk, "trip", on=False)
        return read_texts(texts, model)

    Enricher(desk.book.runtime.sessions, utc_now, reader=reader).enrich_user(desk.user_id)
    assert desk.entities("trip") == {}


def test_nothing_is_learned_from_what_was_recalled(desk):
    desk.space("trip")
    memory_id = desk.book.write("My sister Beatrice lives in Lisbon").id
    desk.read()
    call = {
        "correlation_id": "-",
        "tool": "memory_search",
        "arguments": {},
        "affected_ids": [memory_id],
        "hits": 1,
        "duration_ms": 1.0,
        "success": True,
        "created_at": utc_now(),
    }
    with desk.book.session() as session:
        record_tool_call(session, desk.user_id, **call)
    said = "> My sister Beatrice lives in Lisbon\nMy colleague Rosalind does not."
    desk.turn(desk.conversation("trip"), said, "My sister Beatrice lives in Lisbon")
    desk.read()
    assert desk.entities() == {"Rosalind": "person"}


def test_one_persons_names_are_no_one_elses(desk, bobs_book):
    desk.space("trip")
    desk.book.write(LISBON, space="trip")
    desk.read()
    assert bobs_book.one("SELECT count(*) FROM entities") == 0
