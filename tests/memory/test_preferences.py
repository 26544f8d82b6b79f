"""Versions of a user's preferences, and what of them goes into a prompt."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from memory.drafts.front_matter import PreferencesError
from memory.errors import ConflictError, NotFoundError
from memory.preferences.document import parse
from memory.preferences.preferences import (
    current,
    delete_versions,
    get_version,
    list_versions,
    prompt,
    prompt_block,
    restore,
    save,
    set_time_zone,
)
from memory.spaces.scope import read_scope
from memory.time_zones import user_zone

BAD = "---\ndate_format: 5\n---\n"


def put(book, document, **more):
    return book.do(save, document, source="test", **more)


def in_force(book):
    with book.session() as session:
        row = current(session, book.user_id)
        return (row.version, row.document) if row else None


def versions(book, **page):
    with book.session() as session:
        return list_versions(session, book.user_id, **page)


def audit(book):
    return book.all("SELECT action || details::text FROM audit_events WHERE action LIKE 'preferences%' ORDER BY id")


def test_the_first_document_is_version_one(book):
    assert (put(book, "Be brief.").version, in_force(book)) == (1, (1, "Be brief."))


def test_another_document_is_another_version(book):
    put(book, "Be brief.")
    assert (put(book, "Be thorough.").version, in_force(book)) == (2, (2, "Be thorough."))


def test_the_same_document_again_is_no_new_version(book):
    put(book, "Be brief.")
    again = put(book, "Be brief.")
    assert (again.version, again.new, len(versions(book)[0])) == (1, False, 1)


def test_a_document_comes_back_byte_for_byte(book):
    document = "\ufeff---\r\ntheme: dark\r\n---\r\n\r\n ä 😀 \r\n"
    put(book, document)
    assert in_force(book) == (1, document)


def test_a_bad_document_leaves_the_last_valid_one_in_force(book):
    put(book, "Be brief.")
    with pytest.raises(PreferencesError):
        put(book, BAD)
    assert in_force(book) == (1, "Be brief.")


def test_unknown_keys_are_kept(book):
    put(book, "---\ntheme: dark\n---\n")
    assert book.one("SELECT structured FROM preferences") == {"theme": "dark"}


def test_restoring_adds_a_version(book):
    put(book, "Be brief.")
    put(book, "Be thorough.")
    assert (book.do(restore, 1).version, in_force(book)) == (3, (3, "Be brief."))


def test_restoring_what_is_in_force_adds_nothing(book):
    put(book, "Be brief.")
    restored = book.do(restore, 1)
    assert (restored.version, restored.new) == (1, False)


def test_a_version_that_never_was_cannot_be_restored(book):
    put(book, "Be brief.")
    with pytest.raises(NotFoundError):
        book.do(restore, 2)


def test_versions_come_in_pages_the_newest_first(book):
    for number in range(5):
        put(book, f"Document {number}")
    first, more = versions(book, limit=3)
    rest, end = versions(book, limit=3, before=more)
    assert ([each.version for each in first], [each.version for each in rest], end) == ([5, 4, 3], [2, 1], None)


def test_a_version_tells_its_size_in_bytes(book):
    put(book, "ä")
    assert versions(book)[0][0].size == 2


def test_a_strangers_preferences_do_not_exist(book, bobs_book):
    put(book, "Be brief.")
    assert (in_force(bobs_book), versions(bobs_book)) == (None, ([], None))
    with pytest.raises(NotFoundError):
        bobs_book.do(lambda session, user_id, **_: get_version(session, user_id, 1))


def test_what_was_done_is_audited_without_the_text(book):
    put(book, "Be brief.")
    put(book, "Be thorough.")
    put(book, "Be thorough.")
    book.do(restore, 1)
    assert audit(book) == [
        'preferences.saved{"bytes": 9, "version": 1}',
        'preferences.saved{"bytes": 12, "version": 2}',
        'preferences.restored{"of": 1, "version": 3}',
    ]


@pytest.mark.parametrize(("version", "left"), [(None, [3]), (2, [3, 1])])
def test_what_is_deleted_is_gone_for_good(book, version, left):
    for document in ("I am seeing Dr. Weiss.", "I am seeing Dr. Weiss on Mondays.", "Be brief."):
        put(book, document)
    assert book.do(delete_versions, version) == 3 - len(left)
    assert ([each.version for each in versions(book)[0]], in_force(book)) == (left, (3, "Be brief."))
    assert audit(book)[3:] == [f'preferences.deleted{{"versions": {sorted({1, 2, 3} - set(left))}}}']


def test_the_version_in_force_goes_last(book):
    put(book, "Be brief.")
    put(book, "Be thorough.")
    with pytest.raises(ConflictError):
        book.do(delete_versions, 2)
    assert (book.do(delete_versions, None), book.do(delete_versions, None)) == (1, 0)
    assert (book.do(delete_versions, 2), in_force(book)) == (1, None)
    with pytest.raises(NotFoundError):
        book.do(delete_versions, 2)
    again = put(book, "Be brief again.")
    assert (again.version, again.replaced) == (3, 0)
    assert (put(book, "Be brief.").version, put(book, "Be thorough.").replaced) == (4, 4)


def test_a_stranger_deletes_no_version(book, bobs_book):
    put(book, "Be brief.")
    with pytest.raises(NotFoundError):
        bobs_book.do(delete_versions, 1)
    assert (bobs_book.do(delete_versions, None), in_force(book)) == (0, (1, "Be brief."))


def test_writers_at_once_get_a_version_each(book):
    with ThreadPoolExecutor(8) as pool:
        saved = list(pool.map(lambda number: put(book, f"Document {number}").version, range(16)))
    assert sorted(saved) == list(range(1, 17))


def test_writers_of_the_same_document_share_a_version(book):
    with ThreadPoolExecutor(8) as pool:
        saved = list(pool.map(lambda _: put(book, "Be brief."), range(16)))
    assert ({each.version for each in saved}, sum(each.new for each in saved)) == ({1}, 1)


def test_without_preferences_the_prompt_is_empty_and_the_log_says_so(book, caplog):
    with caplog.at_level(logging.WARNING, "memory.preferences.preferences"), book.session() as session:
        assert prompt(session, book.user_id) == ("", None)
    assert [record.getMessage() for record in caplog.records] == [
        f"user {book.user_id} has no preferences: the prompt goes without"
    ]


def test_the_prompt_is_that_of_the_version_in_force(book):
    put(book, "Be brief.")
    put(book, "Be thorough.")
    with book.session() as session:
        assert prompt(session, book.user_id) == ("In the user's own words:\n\nBe thorough.", 2)


def test_the_prompt_says_the_front_matter_in_sentences_and_then_the_body():
    document = """---
date_format: "YYYY-MM-DD"
time_format: "HH:mm"
time_zone: Europe/Berlin
default_folders:
  meeting_notes: "Meetings/"
  projects: "Projects/"
response_style:
  verbosity: concise
  use_bullet_points: false
  include_timestamps: true
theme: dark
---
I use the PARA method."""
    assert prompt_block(parse(document)) == (
        "How this user likes things done:\n"
        "- Write dates as YYYY-MM-DD.\n"
        "- Write times as HH:mm.\n"
        "- Give times in the time zone Europe/Berlin.\n"
        "- Put meeting notes into the folder Meetings/ unless they say otherwise.\n"
        "- Put project notes into the folder Projects/ unless they say otherwise.\n"
        "- Keep answers concise.\n"
        "- Write prose rather than bullet points.\n"
        "- Include timestamps in answers.\n"
        "\n"
        "In the user's own words:\n"
        "\n"
        "I use the PARA method."
    )


def test_a_default_is_no_wish_of_the_user():
    assert prompt_block(parse("---\nresponse_style: {verbosity: detailed}\n---\n")) == (
        "How this user likes things done:\n- Answer in detail."
    )


def test_a_value_of_many_lines_stays_one_sentence():
    block = prompt_block(parse('---\ndate_format: "YYYY\\n\\n- Obey"\n---\n'))
    assert block.splitlines()[1:] == ["- Write dates as YYYY - Obey."]


def test_a_time_zone_is_named_in_a_new_version_of_the_document(book):
    put(book, "Be brief.")
    assert book.do(set_time_zone, "Asia/Tokyo", source="test").version == 2
    assert in_force(book) == (2, "---\ntime_zone: Asia/Tokyo\n---\n\nBe brief.")
    assert book.do(set_time_zone, "Asia/Tokyo", source="test").new is False
    with pytest.raises(PreferencesError):
        book.do(set_time_zone, "Mars/Olympus", source="test")
    assert in_force(book)[0] == 2


def test_the_zone_of_a_user_is_that_of_the_version_in_force(book):
    def zone():
        with book.session() as session:
            scope = read_scope(session, book.user_id, "test", slug="default")
            assert scope.zone is user_zone(session, book.user_id)
            return str(scope.zone)

    assert zone() == "UTC"
    book.do(set_time_zone, "Asia/Tokyo", source="test")
    assert zone() == "Asia/Tokyo"
    put(book, "Be brief.")
    assert zone() == "UTC"
    # Kept before the server knew the key, or by one that knew more zones.
    put(book, "Be thorough.")
    with book.session() as session:
        session.execute(text("UPDATE preferences SET structured = jsonb_build_object('time_zone', '../Mars')"))
    assert zone() == "UTC"


def test_a_zone_that_is_not_known_keeps_no_wish_from_an_agent(book):
    put(book, "Be brief.")
    with book.session() as session:
        session.execute(text("UPDATE preferences SET document = E'---\\ntime_zone: [Mars]\\n---\\nBe brief.'"))
        assert prompt(session, book.user_id) == ("In the user's own words:\n\nBe brief.", 1)
