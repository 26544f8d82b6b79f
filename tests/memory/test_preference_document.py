"""Reading the preferences document: what it says, and by line what is wrong with it."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from memory.drafts.front_matter import PreferencesError
from memory.preferences.document import parse, with_time_zone

DOCUMENT = """---
# how I like it
date_format: "DD.MM.YYYY"

default_folders:
  meeting_notes: "Meetings/"
response_style:
  verbosity: detailed  # concise | detailed
  use_bullet_points: no
---

## More

- tasks look like `- [ ] task`
"""


def complaints(document: str) -> list[tuple[int | None, str]]:
    with pytest.raises(PreferencesError) as caught:
        parse(document)
    return [(each.line, each.field) for each in caught.value.complaints]


def front(*lines: str) -> str:
    return "\n".join(["---", *lines, "---", "", "body"])


def test_the_front_matter_is_read_by_the_schema():
    style = parse(DOCUMENT).structured.response_style
    assert (style.verbosity, style.use_bullet_points) == ("detailed", False)


def test_what_is_left_out_has_its_default():
    structured = parse(DOCUMENT).structured
    assert (structured.time_format, structured.default_folders.projects) == ("HH:mm", None)


def test_the_body_is_markdown_as_it_stands():
    assert parse(DOCUMENT).body == "## More\n\n- tasks look like `- [ ] task`"


@pytest.mark.parametrize(
    "document",
    [DOCUMENT.replace("\n", "\r\n"), DOCUMENT.replace("\n", "\r"), "\ufeff" + DOCUMENT, "\n\n" + DOCUMENT],
    ids=["CRLF", "CR", "BOM", "blank lines"],
)
def test_line_ends_and_a_byte_order_mark_change_nothing(document):
    assert parse(document) == parse(DOCUMENT)


@pytest.mark.parametrize("text", ["only text", "text\n\n---\n\nmore: text\n\n---\n\nend", "{\n}\n", "# --- title"])
def test_without_front_matter_all_is_body(text):
    parsed = parse(text)
    assert (parsed.given, parsed.body) == ({}, text.strip())


@pytest.mark.parametrize("text", ["---\n---\nbody", "---\n# a comment\n---\nbody", "----\n\n---\t\nbody"])
def test_the_front_matter_may_be_empty(text):
    parsed = parse(text)
    assert (parsed.given, parsed.body) == ({}, "body")


def test_a_key_left_empty_has_its_default():
    structured = parse(front("date_format:", "default_folders:", "response_style:", "  verbosity:")).structured
    assert (structured.date_format, structured.response_style.verbosity) == ("YYYY-MM-DD", "concise")


def test_unknown_keys_are_kept_and_reported_by_line():
    parsed = parse(front("theme: dark", "response_style:", "  tone: [warm, {dry: 1}]", "later:"))
    assert [(place.line, place.field) for place in parsed.unknown] == [
        (2, "theme"),
        (4, "response_style.tone"),
        (5, "later"),
    ]
    assert parsed.given == {"theme": "dark", "response_style": {"tone": ["warm", {"dry": 1}]}, "later": None}


def test_values_that_json_lacks_stay_as_they_were_written():
    written = {
        "day": "2024-01-01",
        "zip": "01234",
        "noon": "12:30",
        "mask": "0x1f",
        "most": ".inf",
        "long": "9" * 5000,
    }
    assert parse(front(*(f"{name}: {value}" for name, value in written.items()))).given == written


def test_numbers_and_truths_are_themselves():
    given = parse(front("a: -5", "b: 1.5", "c: on", "d: ~", "e: !!str 5")).given
    assert given == {"a": -5, "b": 1.5, "c": True, "d": None, "e": "5"}


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("date_format: 5", "date_format"),
        ("time_format: [HH, mm]", "time_format"),
        (f"date_format: {'x' * 501}", "date_format"),
        ("time_zone: Mars/Olympus", "time_zone"),
        ("time_zone: ../../etc/passwd", "time_zone"),
        ("time_zone: Europe", "time_zone"),
        ("time_zone: localtime", "time_zone"),
        ("time_zone: ''", "time_zone"),
        ("time_zone: 5", "time_zone"),
        ("default_folders: Notes/", "default_folders"),
        ("default_folders: {projects: 2024}", "default_folders.projects"),
        ("response_style: {verbosity: loud}", "response_style.verbosity"),
        ("response_style: {use_bullet_points: 1}", "response_style.use_bullet_points"),
        ("response_style: {include_timestamps: 'yes'}", "response_style.include_timestamps"),
        ("a: !!python/object/apply:os.system [ls]", "a"),
        ("a: !!python/name:os.system", "a"),
        ("a: !!binary aGk=", "a"),
        ("a: !!set {x, y}", "a"),
        ("a: !mine x", "a"),
        ("a: !!bool maybe", "a"),
        ('a: "\\0"', "a"),
        ('a: "\\ud800"', "a"),
        ("a: 1\na: 2", "a"),
        ("a: *b", "document"),
        ("a: &b c", "document"),
        ("\ta: b", "document"),
        ("a: b: c", "document"),
        ("a: 'open", "document"),
        ("date_format", "document"),
        ("a: \x07", "document"),
        ("- a", "document"),
        ("just words", "document"),
        ("? [a, b]", "document"),
        ("--- b", "document"),
        (f"a: {'[' * 20}{']' * 20}", "document"),
    ],
)
def test_a_bad_value_is_refused_with_line_and_field(line, field):
    assert complaints(f"\n---\n# comment\n{line}\n---\nbody") == [(4 + line.count("\n"), field)]


def test_everything_that_is_wrong_is_told_at_once_in_the_order_of_lines():
    document = front("response_style:", "  verbosity: loud", "  use_bullet_points: 7", "date_format: 5")
    assert complaints(document) == [
        (3, "response_style.verbosity"),
        (4, "response_style.use_bullet_points"),
        (5, "date_format"),
    ]


def test_a_repeated_key_is_told_where_it_stood_first():
    with pytest.raises(PreferencesError, match="line 4: is already in line 2"):
        parse(front("a: 1", "b: 2", "a: 3"))


def test_the_same_key_in_two_groups_is_no_repeat():
    assert parse(front("a: [{x: 1}, {x: 2}]", "b: {x: 3}")).given["b"] == {"x": 3}


def test_front_matter_that_is_never_closed_is_refused():
    assert complaints("---\ndate_format: x\n") == [(1, "document")]


@pytest.mark.parametrize("document", ["", " \n\t\n", "a\x00b", "a\ud800b", "x" * 65_537, "ä" * 32_769])
def test_what_cannot_be_stored_is_refused_as_a_whole(document):
    assert complaints(document) == [(None, "document")]


def test_a_document_of_64_kib_fits():
    assert len(parse("x" * 65_536).body) == 65_536


@pytest.mark.parametrize(
    "front_matter",
    [
        "a: " + "[" * 65_000,
        "- " * 32_000,
        "a: {a: " * 9_000,
        "a: b\n" * 13_000,
        "a: 1" + ":1" * 32_000,
        "a: " + "9" * 65_000,
        "a: &a [" + "x, " * 1_000 + "]\n" + "".join(f"{c}: [{'*a, ' * 1_000}]\n" for c in "bcdef"),
        "#\n" * 32_000,
    ],
    ids=["brackets", "dashes", "braces", "keys", "sexagesimal", "digits", "aliases", "comments"],
)
def test_no_document_takes_long(front_matter):
    started = time.thread_time()
    with suppress(PreferencesError):
        parse(f"---\n{front_matter}\n---\n")
    assert time.thread_time() - started < 5


def test_a_time_zone_is_utc_until_it_is_named():
    assert parse(DOCUMENT).structured.time_zone == "UTC"
    assert parse(front("time_zone: Pacific/Auckland")).structured.time_zone == "Pacific/Auckland"
    assert parse(front("time_zone:")).structured.time_zone == "UTC"


def test_an_unknown_zone_is_told_in_plain_words():
    with pytest.raises(PreferencesError, match="line 2: is not a time zone; write one such as Europe/Berlin"):
        parse(front("time_zone: Berlin"))


@pytest.mark.parametrize(
    ("document", "written"),
    [
        ("", "---\ntime_zone: Asia/Tokyo\n---\n"),
        ("Be brief.\n", "---\ntime_zone: Asia/Tokyo\n---\n\nBe brief.\n"),
        ("---\n---\nBe brief.", "---\ntime_zone: Asia/Tokyo\n---\nBe brief."),
        ("---\n# to come\n---\n", "---\n# to come\ntime_zone: Asia/Tokyo\n---\n"),
        ("---\na: 1  # one\n---\nHi\n---\n", "---\na: 1  # one\ntime_zone: Asia/Tokyo\n---\nHi\n---\n"),
        ("\n---\n  a:\n    b: 1\n---\n", "\n---\n  a:\n    b: 1\n  time_zone: Asia/Tokyo\n---\n"),
        ("---\na: |+\n  b\n---\n", "---\na: |+\n  b\ntime_zone: Asia/Tokyo\n---\n"),
        ("---\n{a: 1}\n---\n", "---\n{time_zone: Asia/Tokyo, a: 1}\n---\n"),
        ("---\n{}\n---\n", "---\n{time_zone: Asia/Tokyo}\n---\n"),
        ("---\ntime_zone: UTC # home\na: 1\n---\n", "---\ntime_zone: Asia/Tokyo # home\na: 1\n---\n"),
        ("---\ntime_zone:\na: 1\n---\n", "---\ntime_zone: Asia/Tokyo\na: 1\n---\n"),
        ("---\ntime_zone: CET or so\na: 1\n---\n", "---\ntime_zone: Asia/Tokyo\na: 1\n---\n"),
        ("---\ntime_zone: >-\n  UTC\na: 1\n---\n", "---\ntime_zone: Asia/Tokyo\na: 1\n---\n"),
        ("---\n{a: 1, time_zone: 'UTC'}\n---\n", "---\n{a: 1, time_zone: Asia/Tokyo}\n---\n"),
        ("---\nb: {time_zone: UTC}\n---\n", "---\nb: {time_zone: UTC}\ntime_zone: Asia/Tokyo\n---\n"),
        ("---\r\na: 1\r\n---\r\nHi", "---\na: 1\ntime_zone: Asia/Tokyo\n---\nHi"),
    ],
)
def test_a_zone_is_written_into_a_document_that_else_stays_as_it_is(document, written):
    assert with_time_zone(document, "Asia/Tokyo") == written
    assert with_time_zone(written, "Asia/Tokyo") == written


@pytest.mark.parametrize("name", ["", "Mars/Olympus", "UTC\na: 1", "utc"])
def test_no_other_word_is_written_as_a_zone(name):
    with pytest.raises(PreferencesError) as caught:
        with_time_zone(DOCUMENT, name)
    assert [each.field for each in caught.value.complaints] == ["time_zone"]


def test_a_document_that_would_lose_something_is_left_alone():
    with pytest.raises(PreferencesError, match="add the line yourself"):
        with_time_zone("---\n? a\n: 1\n---\n", "Asia/Tokyo")
