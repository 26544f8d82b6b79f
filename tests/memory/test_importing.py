"""What was exported comes in again: all of it, into an account that has nothing, or nothing of it."""

from __future__ import annotations

import io
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from itertools import pairwise

import pytest
from enrichment_desk import Desk
from memory_book import Book
from sqlalchemy import event
from sqlalchemy.engine.interfaces import CacheStats

from memory.clock import utc_now
from memory.conversations.conversations import open_conversation
from memory.drafts.drafts import Draft
from memory.errors import ConflictError, InvalidError
from memory.facts.facts import Statement, state
from memory.forgetting.forget import forget
from memory.ids import new_id
from memory.lineage.wordings import Merged, keep_wordings
from memory.notebooks.marks import mark_right
from memory.notebooks.notebooks import create_notebook
from memory.preferences.preferences import prompt, save
from memory.spaces.sharing import share
from memory.spaces.spaces import get_space, list_spaces
from memory.transfer import importing
from memory.transfer.export import export, export_at_once, sections
from memory.transfer.export_file import Document
from memory.transfer.importing import LEFT_BEHIND, import_document, restored_tables
from memory.writing.edit import update
from memory.writing.remember import remember
from retrieval.policy import NAMED, kept_policy
from webapp.pages.notebook_stored import check_cell

NOBODY = "01a20000-0000-7000-8000-000000000000"
# What differs though all came in: whose it is, what stays behind, and the ids of spaces.
_OF_THE_ACCOUNT = {"exported_at", "user", *LEFT_BEHIND}


def exported(book):
    with book.session() as session:
        return json.loads("".join(export(session, book.user_id, now=utc_now())))


def bring_in(book, document):
    text = document if isinstance(document, str) else json.dumps(document)
    with book.session() as session:
        return import_document(session, book.user_id, Document(io.BytesIO(text.encode())), **_terms())


def _terms():
    return {
        "soft_cap": 200,
        "check_policy": lambda policy: kept_policy(policy, NAMED["balanced"]),
        "check_cell": check_cell,
        "now": utc_now(),
        "actor": "test",
    }


@contextmanager
def listening(target, name, listener):
    event.listen(target, name, listener)
    try:
        yield
    finally:
        event.remove(target, name, listener)


def slugs(document):
    return {space["id"]: space["slug"] for space in document["spaces"]}


def comparable(document):
    """Return the document without what must differ, and each space by its slug."""
    names = slugs(document)

    def row_of(section, row):
        row = {key: value for key, value in row.items() if key != "needs_embedding"}
        row |= {name: names[row[name]] for name in ("space_id", "found_in") if name in row}
        if section == "spaces":
            row = {key: value for key, value in row.items() if key not in {"id", "updated_at"}}
        if section == "entities":
            # Notes that are worked out again are a change of them.
            row.pop("version")
        return row

    found = {name: rows for name, rows in document.items() if name not in _OF_THE_ACCOUNT}
    return {
        name: sorted((row_of(name, row) for row in rows), key=str) if isinstance(rows, list) else rows
        for name, rows in found.items()
    }


@pytest.fixture(scope="module")
def full(runtime, new_person):
    """A book with a row in every section that comes in again, but for last scores, which only a search makes.

    No test changes it.
    """
    book = Book(runtime, new_person("ada"))
    desk = Desk(book)
    studio = desk.space("studio", name="Studio", policy={"alpha": 0.5}, retention_days=90)
    rent = book.write("The rent is 640 euros a month", space="studio", theme="home", tags=("rent",))
    higher = book.write("The rent is 690 euros a month", space="studio", theme="home")
    book.do(update, higher.id, {"supersedes": rent.id})
    book.do(update, higher.id, {"text": "The rent is 695 euros a month now"})
    book.write("The code of the door is 4711", expires_at=utc_now() + timedelta(days=3))
    aisle = Draft("Ada wants aisle seats", type="preference", manually_saved=True)
    seats = book.do(remember, "default", aisle, token_id=new_id())
    desk.turn(desk.conversation("studio"), "Benedita Ferreira hangs our prints in Lisbon.", "In June, at her gallery.")
    desk.read()
    for place in ("Lisbon", "Porto"):
        book.do(state, studio, Statement("Benedita", "lives in", place))
    with book.session() as session:
        steps = [("note", {"text": "# Before the exhibition"}), ("recall", {"q": "What is the rent?"})]
        create_notebook(session, book.user_id, "Notes", now=utc_now(), actor="test", steps=steps)
        mark_right(session, book.user_id, "What is the rent?", higher.id, now=utc_now())
        keep_wordings(session, book.user_id, [Merged(seats.id, b"", "Ada wants the aisle seats", utc_now())])
        save(session, book.user_id, "Answer briefly.", source="test", now=utc_now(), actor="test")
        share(session, book.user_id, "studio", "rent", "default", now=utc_now(), actor="test")
    return book


def test_every_section_comes_in_or_stays_behind_on_purpose():
    assert {table.name for table in restored_tables()} | LEFT_BEHIND == set(sections())


@pytest.mark.parametrize("later", ["facts", "shares", "wordings"])
def test_a_document_from_before_there_was_a_section_comes_in(full, bobs_book, later):
    document = {name: each for name, each in exported(full).items() if name != later}
    assert bring_in(bobs_book, document)[later] == 0
    assert exported(bobs_book)[later] == []


def test_a_document_from_before_facts_were_extracted_and_spaces_summed_up_comes_in(full, bobs_book):
    document = exported(full)
    for section, column in (
        ("spaces", "extract_facts"),
        ("spaces", "roll_up"),
        ("conversations", "extracted_through"),
        ("facts", "extracted"),
    ):
        for row in document[section]:
            del row[column]
    bring_in(bobs_book, document)
    assert bobs_book.all("SELECT DISTINCT extract_facts FROM spaces") == [False]
    assert bobs_book.all("SELECT DISTINCT extracted_through FROM conversations") == [0]
    assert bobs_book.all("SELECT DISTINCT extracted FROM facts") == [False]


def test_what_comes_in_is_contradicted_by_what_is_stated_then(full, bobs_book):
    bring_in(bobs_book, exported(full))
    space = bobs_book.one("SELECT id FROM spaces WHERE slug = 'studio'")
    bobs_book.do(state, space, Statement("benedita", "Lives in", "Faro"))
    still = [fact["object"] for fact in exported(bobs_book)["facts"] if fact["valid_until"] is None]
    assert still == ["Faro"]


def test_facts_that_contradict_one_another_in_a_document_end_each_other(full, bobs_book):
    document = exported(full)
    for fact in document["facts"]:
        fact["valid_until"] = None
    bring_in(bobs_book, document)
    assert [fact["object"] for fact in exported(bobs_book)["facts"] if fact["valid_until"] is None] == ["Porto"]


def test_all_that_was_exported_is_there_again(full, bobs_book):
    before = exported(full)
    counts = bring_in(bobs_book, before)
    after = exported(bobs_book)
    assert comparable(after) == comparable(before)
    for name in (
        "memories",
        "revisions",
        "wordings",
        "possible_updates",
        "episodes",
        "entity_mentions",
        "facts",
        "cells",
        "recall_marks",
        "shares",
    ):
        assert (name, counts[name]) == (name, len(before[name]))
        assert counts[name] > 0


def test_what_is_written_while_an_export_is_made_does_not_spoil_it(book, bobs_book):
    book.write("Ada keeps bees on the roof")
    pieces = export_at_once(book.runtime.sessions, book.user_id, now=utc_now())
    taken = []
    while '"conversations"' not in "".join(taken):
        taken.append(next(pieces))
    later = book.write("Ada sold a jar of honey on Monday")
    book.do(update, later.id, {"text": "Ada sold a jar of honey on Tuesday"})
    bring_in(bobs_book, "".join([*taken, *pieces]))
    assert bobs_book.all("SELECT text FROM memories") == ["Ada keeps bees on the roof"]


def test_a_text_of_an_earlier_version_that_nobody_sees_keeps_nothing_else_out(book, bobs_book):
    book.write("Ada keeps bees on the roof")
    document = exported(book)
    document["memories"][0]["text"] = "\u200b"
    assert bring_in(bobs_book, document)["memories"] == 1


def test_a_time_zone_that_is_not_known_here_keeps_nothing_else_out(full, bobs_book):
    document, kept = exported(full), "---\ntime_zone: Europe/Atlantis\ndate_format: YYYY\n---\nAnswer briefly."
    document["preferences"][0]["document"] = kept
    bring_in(bobs_book, document)
    assert bobs_book.all("SELECT document FROM preferences") == [kept]
    with bobs_book.session() as session:
        block, _ = prompt(session, bobs_book.user_id)
    assert "dates as YYYY" in block
    assert "Atlantis" not in block


def test_a_space_keeps_its_settings_and_the_default_is_the_accounts_own(full, bobs_book):
    own = {space.slug: space.id for space in bobs_book.do(lambda session, user_id, **_: list_spaces(session, user_id))}
    bring_in(bobs_book, exported(full))
    spaces = {each["slug"]: each for each in exported(bobs_book)["spaces"]}
    assert spaces["default"]["id"] == str(own["default"])
    assert (spaces["studio"]["policy"], spaces["studio"]["retention_days"]) == ({"alpha": 0.5}, 90)


def test_a_repeat_of_what_came_in_is_known_as_one(full, bobs_book):
    bring_in(bobs_book, exported(full))
    assert bobs_book.write("ada WANTS aisle  seats").outcome == "merged"


def test_all_that_came_in_waits_for_its_vector(full, bobs_book):
    bobs_book.runtime.backfill.adopt(bobs_book.user_id)
    bring_in(bobs_book, exported(full))
    waiting = bobs_book.one("SELECT count(*) FROM embeddings WHERE state = 'pending'")
    assert waiting == bobs_book.one("SELECT count(*) FROM memories") > 0


def test_the_words_of_what_came_in_are_indexed(full, bobs_book):
    bring_in(bobs_book, exported(full))
    counted = "SELECT sum(tf) FROM postings WHERE space_id = (SELECT id FROM spaces WHERE slug = 'studio')"
    assert bobs_book.one(counted) == bobs_book.one("SELECT tokens FROM spaces WHERE slug = 'studio'") > 0


def test_an_import_is_on_record_without_a_word_of_it(full, bobs_book):
    bring_in(bobs_book, exported(full))
    details = bobs_book.one("SELECT details FROM audit_events WHERE action = 'user.imported'")
    assert details["memories"] == 4
    assert all(isinstance(value, int) for value in details.values())


def test_who_has_something_gets_nothing(full, bobs_book):
    bobs_book.write("Bob keeps bees")
    with pytest.raises(ConflictError, match="this account has memories already"):
        bring_in(bobs_book, exported(full))
    assert bobs_book.all("SELECT text FROM memories") == ["Bob keeps bees"]


def test_who_has_but_a_fact_gets_nothing(full, bobs_book):
    home = bobs_book.one("SELECT id FROM spaces")
    bobs_book.do(state, home, Statement("Benedita", "lives in", "Faro"))
    with pytest.raises(ConflictError, match="this account has facts already"):
        bring_in(bobs_book, exported(full))


def test_nothing_brings_back_what_was_just_forgotten(full, bobs_book):
    memory_id = bobs_book.write("Ada wants aisle seats").id
    bobs_book.do(forget, memory_id, undo=None)
    with pytest.raises(ConflictError, match="forgotten in this account less than 24 hours ago"):
        bring_in(bobs_book, exported(full))
    assert bobs_book.all("SELECT text FROM memories") == []


def test_a_document_comes_into_an_account_once(full, bobs_book):
    bring_in(bobs_book, exported(full))
    with pytest.raises(ConflictError):
        bring_in(bobs_book, exported(full))


def while_blocked(book, waiting, until):
    """Run `waiting` in a thread of its own; call `until` when it waits for a lock, or is done. Return what it did."""
    waiters = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    blocked = f"{waiters} AND cardinality(pg_blocking_pids(pid)) > 0"
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(waiting)
        while not done.done() and not book.one(blocked):
            pass
        until()
    return done


def test_an_import_waits_for_who_opens_a_conversation_and_then_takes_nothing(full, book, bobs_book):
    document = exported(full)
    [conversation] = document["conversations"]
    conversation["space_id"] = next(space["id"] for space in document["spaces"] if space["slug"] == "default")
    with bobs_book.session() as session:
        home = get_space(session, bobs_book.user_id, "default")
        named = {"external_id": conversation["external_id"], "now": utc_now(), "actor": "test"}
        open_conversation(session, bobs_book.user_id, home, **named)
        done = while_blocked(book, lambda: bring_in(bobs_book, document), session.commit)
    with pytest.raises(ConflictError, match="this account has conversations already"):
        done.result()


def test_preferences_that_are_saved_meanwhile_follow_those_that_came_in(full, book, bobs_book):
    text = json.dumps(exported(full)).encode()

    def write():
        with bobs_book.session() as session:
            return save(session, bobs_book.user_id, "Answer in French.", source="test", now=utc_now(), actor="test")

    with bobs_book.session() as session:
        import_document(session, bobs_book.user_id, Document(io.BytesIO(text)), **_terms())
        done = while_blocked(book, write, session.commit)
    assert done.result().version == 2
    told = bobs_book.all("SELECT document FROM preferences ORDER BY version")
    assert told == ["Answer briefly.", "Answer in French."]


def _set(section, **fields):
    def spoil(document):
        document[section][-1].update(fields)
        return document

    return spoil


def _drop(section, field):
    def spoil(document):
        del document[section][-1][field]
        return document

    return spoil


def _twice(section, **fields):
    def spoil(document):
        document[section].append({**document[section][-1], **fields})
        return document

    return spoil


def _deep(levels):
    value = {}
    for _ in range(levels):
        value = {"in": value}
    return value


def _itself(document):
    document["possible_updates"][0]["older_id"] = document["possible_updates"][0]["memory_id"]
    return document


def _far_too_deep(document):
    document["cells"][-1]["input"] = "here"
    return json.dumps(document).replace('"here"', '{"in":' * 3000 + "1" + "}" * 3000)


def _nothing_but_brackets(document):
    return "[" * 20_000 + "]" * 20_000


def _half_pair_and_half_a_file(document):
    return json.dumps({"half": "\ud800", **document})[:-200]


def _within_itself(document):
    [share] = document["shares"]
    share["found_in"] = share["space_id"]
    return document


def _eight_more_shares(document):
    [share] = document["shares"]
    document["shares"] += [{**share, "tag": f"rent {n}"} for n in range(8)]
    return document


def _a_hundred_more_wordings(document):
    [wording] = document["wordings"]
    document["wordings"] += [{**wording, "text": f"Ada wants aisle seat {n}"} for n in range(100)]
    return document


def _circle(document):
    one, other = document["memories"][:2]
    one["supersedes"], other["supersedes"] = other["id"], one["id"]
    return document


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda document: "[1, 2", "file: is cut off, or no JSON in UTF-8"),
        (lambda document: json.dumps(document)[:-200], "file: is cut off, or no JSON in UTF-8"),
        (lambda document: [], "file: is no export of Commonplace"),
        (lambda document: {**document, "version": 2}, "file: is of version 2 of the format; 1 is known here"),
        (lambda document: {**document, "dreams": []}, "dreams: is not known here"),
        (lambda document: {**document, "episodes": {"rows": []}}, "episodes: is no list"),
        (lambda document: {name: each for name, each in document.items() if name != "cells"}, "cells: is missing"),
        (lambda document: {**document, "facts": {}}, "facts: is no list"),
        (_set("facts", object=" "), r"facts, row 2, object: must not be empty"),
        (_set("facts", confidence=2), r"facts, row 2, confidence: must be between 0 and 1"),
        (_set("facts", valid_until="2020-01-01T00:00:00Z"), r"facts, row 2, valid_until: has a value that"),
        (_set("memories", text=""), r"memories, row 4, text: must not be empty"),
        (_set("memories", text="a\x00b"), r"memories, row 4, text: must not contain NUL bytes"),
        (_set("memories", created_at="yesterday"), r"memories, row 4, created_at: "),
        (_set("memories", created_at="2026-01-01T00:00:00"), r"memories, row 4, created_at: .*timezone"),
        (_set("memories", created_at="0001-01-01T00:00:00+14:00"), r"memories, row 4, created_at: must be between"),
        (_set("memories", created_at=5), r"memories, row 4, created_at: must be a date"),
        (_set("memories", created_at="2099-01-01T00:00:00Z"), r"memories, row 4, created_at: must not be more than a"),
        (_set("messages", created_at="2099-01-01T00:00:00Z"), r"messages, row 2, created_at: must not be more than a"),
        (_set("memories", version=-1), r"memories, row 4, version: .*greater"),
        (_set("memories", repeat_count=2**31 - 1), r"memories, row 4, repeat_count: .*less"),
        (_set("memories", text="\ud800"), r"memories, row 4, text: .*surrogates"),
        (_set("memories", text="\ud800 \U0001f600"), r"memories, row 4, text: .*surrogates"),
        (_set("notebooks", title=" "), r"notebooks, row 1, title: "),
        (_set("preferences", document="---\ndate_format: 5\n---\n"), r"preferences, row 1, date_format: "),
        (_itself, r"possible_updates, row 1, older_id: must be another memory"),
        (_set("revisions", type="boss"), r"revisions, row 1, type: must be one of"),
        (_set("revisions", text=""), r"revisions, row 1, text: must not be empty"),
        (_set("revisions", text="a" * 65_537), r"revisions, row 1, text: must be at most 65536 bytes"),
        (_set("wordings", text=" "), r"wordings, row 1, text: must not be empty"),
        (_a_hundred_more_wordings, r"wordings, row 101, memory_id: must be the same in at most 100 wordings"),
        (_set("entities", name_key="%x" % 7**9000), r"entities, row \d: holds a text that is too long"),
        (_far_too_deep, r"cells, row 2, input: "),
        (_nothing_but_brackets, "file: is nested too deeply"),
        (_half_pair_and_half_a_file, "file: is cut off, or no JSON in UTF-8"),
        (_set("cells", input=_deep(200)), r"cells, row 2, input: must be nested at most 100 deep"),
        (_set("memories", importance="high"), r"memories, row 4, importance: "),
        (_set("memories", importance=7), r"memories, row 4, importance: has a value that"),
        (_set("memories", type="dream"), r"memories, row 4, type: must be one of"),
        (_set("memories", mood="good"), r"memories, row 4, mood: "),
        (_set("memories", space_id=NOBODY), r"row 4, space_id: there is no such space"),
        (
            _set("memories", supersedes=NOBODY),
            r"supersedes what is not in the document",
        ),
        (_circle, r"supersedes itself"),
        (_set("shares", found_in=NOBODY), r"shares, row 1, found_in: there is no such space in the document"),
        (_within_itself, r"shares, row 1, found_in: must be another space"),
        (_eight_more_shares, r"shares, row 9, found_in: must be the same in at most 8 shares"),
        (_set("shares", tag=" "), r"shares, row 1, tag: must not be empty"),
        (_drop("memories", "text"), r"memories, row 4, text: Field required"),
        (_set("spaces", policy={"alpha": "much"}), r"spaces, row 2, policy: alpha"),
        (_set("spaces", slug="A B"), r"spaces, row 2, slug: must be 1 to 64"),
        (_set("spaces", soft_cap=0), r"spaces, row 2, soft_cap: must be between"),
        (_set("themes", slug="A B"), r"themes, row 1, slug: "),
        (_set("recall_marks", question_digest=7), r"recall_marks, row 1, question_digest: must be hexadecimal"),
        (_set("messages", sequence=2**40), r"messages, row 2, sequence: .*less"),
        (_twice("spaces", id=NOBODY), r"spaces, row 3, slug: is there twice"),
        (_twice("spaces", slug="zebra"), r"spaces, row 3, id: is there twice"),
        (_twice("memories"), r"memories, row 5, id: is there twice"),
        (_twice("memories", id=NOBODY), r"memories, row 5, text: is there twice"),
        (_twice("recall_marks"), r"recall_marks, row 2, question_digest: is there twice"),
        (_set("cells", notebook_id=NOBODY), r"cells, row 2, notebook_id: there is no such row in the document"),
        (_set("messages", conversation_id=NOBODY), r"messages, row 2, conversation_id: there is no such row"),
        (_set("cells", kind="dream"), r"cells, row 2, kind: must be one of"),
        (_set("cells", input={"limit": "many"}), r"cells, row 2, input\.limit: "),
        (_set("cells", output={"hits": [{"id": 7}]}), r"cells, row 2, output\.hits\.0\.id: "),
        (_set("cells", output={}), r"cells, row 2, output\.hits: Field required"),
        (_set("cells", ran_at="2026-01-01T00:00:00Z"), r"cells, row 2, duration_ms: must be there"),
    ],
)
def test_what_cannot_be_stored_is_named_and_nothing_of_it_comes_in(full, bobs_book, spoil, complaint):
    document = spoil(exported(full))
    with pytest.raises(InvalidError, match=complaint):
        bring_in(bobs_book, document)
    left = exported(bobs_book)
    assert [left["memories"], left["messages"], left["cells"], len(left["spaces"])] == [[], [], [], 1]


def test_a_long_chain_of_corrections_is_followed_once():
    class Counted(dict):
        asked = 0

        def get(self, key, default=None):
            self.asked += 1
            return super().get(key, default)

    ids = [new_id() for _ in range(1000)]
    replaced = Counted(pairwise(ids))
    importing._check_chains(replaced)
    assert replaced.asked <= len(ids)


def test_the_row_that_cannot_be_stored_is_found_among_many(full, bobs_book):
    document = exported(full)
    [spoilt, *_] = document["memories"]
    others = [{**spoilt, "id": str(new_id()), "text": f"Room {n} is free."} for n in range(40)]
    document["memories"] = [*others[:30], {**spoilt, "importance": 2}, *others[30:]]
    with pytest.raises(InvalidError, match=r"^memories, row 31, importance: has a value that is not possible there$"):
        bring_in(bobs_book, document)


def test_a_document_that_comes_in_piece_by_piece_is_whole(full, bobs_book, monkeypatch):
    monkeypatch.setattr(importing, "_AT_ONCE", 3)
    document = exported(full)
    bring_in(bobs_book, document)
    assert comparable(exported(bobs_book)) == comparable(document)


def test_the_rows_of_a_batch_go_as_one_statement_that_is_written_once(full, bobs_book, monkeypatch):
    monkeypatch.setattr(importing, "_AT_ONCE", 2)
    sent = []
    engine = bobs_book.runtime.sessions.kw["bind"]

    def note(_connection, _cursor, statement, _parameters, context, _executemany):
        if statement.startswith("INSERT INTO memories"):
            sent.append((statement.count("), (") + 1, context.cache_hit))

    with listening(engine, "before_cursor_execute", note):
        bring_in(bobs_book, exported(full))
    assert [rows for rows, _ in sent] == [2, 2]
    assert sent[-1][1] is CacheStats.CACHE_HIT


def test_what_json_can_say_and_few_parsers_read_comes_in_as_it_was(book, bobs_book):
    payload = {"half": "\ud800", "large": 2**70, "face": "\U0001f600"}
    desk = Desk(book)
    desk.turn(desk.conversation(), "Hello", payload=payload, payload_format="openai")
    bring_in(bobs_book, exported(book))
    assert payload in [message["payload"] for message in exported(bobs_book)["messages"]]


@pytest.mark.parametrize("before", [0, 1, 5])
def test_half_a_pair_comes_in_as_it_was_wherever_it_stands_in_the_file(book, bobs_book, before):
    desk = Desk(book)
    desk.turn(desk.conversation(), "Hello", payload={"half": "\ud800"}, payload_format="openai")
    text = json.dumps(exported(book))
    # The file is looked through by so many bytes at a time.
    blanks = " " * ((1 << 20) - before - text.index("\\ud800"))
    bring_in(bobs_book, blanks + text)
    assert {"half": "\ud800"} in [message["payload"] for message in exported(bobs_book)["messages"]]


def test_messages_are_counted_anew(full, bobs_book):
    document = exported(full)
    document["conversations"][0] |= {"message_count": 7, "total_tokens": 1, "episodes": 5}
    bring_in(bobs_book, document)
    [conversation] = exported(bobs_book)["conversations"]
    before = exported(full)["conversations"][0]
    names = ("message_count", "total_tokens", "episodes", "tokens_indexed")
    assert [conversation[name] for name in names] == [before[name] for name in names]


@pytest.mark.parametrize("section", ["memories", "episodes", "entities"])
def test_what_had_its_vector_waits_for_one_again(full, bobs_book, section):
    document = exported(full)
    for row in document[section]:
        row["needs_embedding"] = False
    bring_in(bobs_book, document)
    assert bobs_book.all(f"SELECT DISTINCT needs_embedding FROM {section}") == [True]


def test_an_entity_that_nothing_names_does_not_come_in(full, bobs_book):
    document = exported(full)
    document["entity_mentions"] = []
    bring_in(bobs_book, document)
    assert bobs_book.all("SELECT name FROM entities") == []
