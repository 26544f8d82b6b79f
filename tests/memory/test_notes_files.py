"""What is a memory in files from elsewhere."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import InvalidError
from memory.transfer.notes_files import drafts_in, drafts_of, files_in

NOW = datetime(2026, 5, 1, tzinfo=UTC)

DOCUMENT = """---
tags: [personal, home]
date: 2026-03-01
type: fact
---
# About me

I live in Lisbon, near the tram stop.
It is on the third floor.

- I'm allergic to walnuts.
- Ana's birthday is 12 March.
  She likes orchids.

## The router

To start it again:

1. Pull the plug.
2. Wait a minute.

| name | password |
|---|---|
| Wifi | swordfish |

# Rent

900 a month
"""


@pytest.fixture
def drafts(tmp_path):
    def _drafts(text, name="notes.md"):
        path = tmp_path / name
        path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
        return list(drafts_of(path, name, datetime.now(UTC)))

    return _drafts


def test_paragraphs_and_items_are_memories_of_a_document(drafts):
    assert [draft.text for draft in drafts(DOCUMENT)] == [
        "I live in Lisbon, near the tram stop.\nIt is on the third floor.",
        "I'm allergic to walnuts.",
        "Ana's birthday is 12 March.\nShe likes orchids.",
        "To start it again:\n\n1. Pull the plug.\n2. Wait a minute.",
        "| name | password |\n|---|---|\n| Wifi | swordfish |",
        "900 a month",
    ]


def test_headings_and_front_matter_tell_more_of_them(drafts):
    first, *_, wifi, rent = drafts(DOCUMENT)
    assert (first.type, first.created_at, first.source_ids) == ("fact", datetime(2026, 3, 1, tzinfo=UTC), ("notes.md",))
    assert first.tags == ("personal", "home", "about me")
    assert wifi.tags == ("personal", "home", "about me", "the router")
    assert rent.tags == ("personal", "home", "rent")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one\n\ntwo", ["one", "two"]),
        ("Buy:\n\nmilk", ["Buy:", "milk"]),
        ("Shopping:", ["Shopping:"]),
        ("Shopping:\n\n# Later\n\nrest", ["Shopping:", "rest"]),
        ("* a\n* b\n  * c\n  * d", ["a", "b\n* c\n* d"]),
        ("1) first\n2) second", ["first", "second"]),
        ("- [ ] call the plumber", ["[ ] call the plumber"]),
        ("```sh\nmake up\n```", ["```sh\nmake up\n```"]),
        ("> said Ana\n> twice", ["> said Ana\n> twice"]),
        ("---\n\nafter a line", ["after a line"]),
        ("# Only a heading", []),
        ("Rent is 900\n---\nThe key is at Bob's\n---\n", ["Rent is 900", "The key is at Bob's"]),
        ("Title\n===\n\none", ["one"]),
        ("one\ntwo\n===\n\nthree", ["one\ntwo", "three"]),
        (f"# {'bees ' * 20}\n\none", [("bees " * 20).strip(), "one"]),
        ("one [a]\n\n[a]: swordfish", ["one [a]", "[a]: swordfish"]),
        ("", []),
    ],
)
def test_of_plain_text_each_block_is_one(drafts, text, expected):
    assert [draft.text for draft in drafts(text, "notes.txt")] == expected


BLOCKS = (
    "* *",
    "* *:",
    "*\n---",
    "- *\n- *",
    "- *\n  *\n\n  *\n  - *\n    *\n+ *",
    "1. *\n   1. *\n2. *",
    "```\n*\n\n- *\n```",
    "| * | * |\n|---|---|\n| * | * |",
    "> *\n*\n> - *",
    "<div>\n*\n</div>",
    "    *\n    *",
    "[*]: *",
    "# Heading",
    "---",
)


@given(st.lists(st.tuples(st.sampled_from(BLOCKS), st.sampled_from(("\n", "\n\n"))), min_size=1))
def test_each_word_of_a_document_is_in_one_memory(blocks):
    template = "".join(block + end for block, end in blocks)
    words = [f"word{number}x" for number in range(template.count("*"))]
    document = template.replace("*", "%s") % tuple(words)
    found = " ".join(draft.text for draft in drafts_in(document.encode(), "a.txt", NOW, NOW))
    assert sorted(re.findall(r"word\d+x", found)) == sorted(words)


def test_what_leads_to_nothing_stands_under_its_own_heading(drafts):
    shopping, rest = drafts("# Now\n\nShopping:\n\n# Later\n\nrest")
    assert (shopping.tags, rest.tags) == (("now",), ("later",))


@pytest.mark.parametrize("sign", ["\u2028", "\x0b", "\x0c", "\x85"])
def test_a_sign_that_may_end_a_line_ends_none(drafts, sign):
    assert [draft.text for draft in drafts(f"# One\n\nbees{sign}hives\n\n- honey\n")] == [f"bees{sign}hives", "honey"]
    assert [draft.text for draft in drafts('{"text": "bees\u2028hives"}', "a.jsonl")] == ["bees\u2028hives"]


def test_a_document_without_a_date_is_as_old_as_its_file(drafts, tmp_path):
    drafts("one")
    os.utime(tmp_path / "notes.md", (1_700_000_000, 1_700_000_000))
    (draft,) = drafts_of(tmp_path / "notes.md", "notes.md", datetime.now(UTC))
    assert draft.created_at == datetime.fromtimestamp(1_700_000_000, UTC)


MEM0 = {
    "results": [
        {
            "id": "7",
            "memory": "Loves hiking",
            "created_at": "2024-07-01T10:00:00-07:00",
            "categories": ["hobbies"],
            "metadata": None,
        },
        {"memory": "Works at Acme", "categories": None},
    ]
}


def test_objects_are_memories_with_what_they_tell(drafts):
    hiking, acme = drafts(MEM0, "mem0.json")
    assert (hiking.text, hiking.tags) == ("Loves hiking", ("hobbies",))
    assert hiking.created_at == datetime(2024, 7, 1, 10, tzinfo=timezone(timedelta(hours=-7)))
    assert (acme.text, acme.created_at, acme.type) == ("Works at Acme", None, "note")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["one", "two"], ["one", "two"]),
        ({"memories": [{"content": "one"}]}, ["one"]),
        ([{"text": "one", "type": "preference", "tags": "a, #b"}], ["one"]),
        ({"text": "one"}, ["one"]),
        ({"results": []}, []),
    ],
)
def test_lists_and_objects_of_many_shapes_are_understood(drafts, value, expected):
    assert [draft.text for draft in drafts(value, "all.json")] == expected


def test_type_and_tags_of_an_object_are_taken_over(drafts):
    (draft,) = drafts('{"text": "one", "type": "preference", "tags": "a, #b"}\n\n', "all.jsonl")
    assert (draft.type, draft.tags) == ("preference", ("a", "b"))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", '{"text": "one"}\n{"text": ', "a.jsonl, line 2: is no JSON"),
        ("a.jsonl", '{"text": "one"}\n{"id": 3}', "a.jsonl, line 2: has no text"),
        ("a.jsonl", "[1]", "a.jsonl, line 1: must be an object or a text"),
        ("a.json", "[" * 100_000, "a.json: is no JSON"),
        ("a.json", "3", "a.json: must be a list of memories"),
        (
            "a.json",
            '{"format": "commonplace-export", "spaces": [{"id": "s", "slug": "work"}],'
            ' "memories": [{"id": "m", "space_id": "s", "text": "one", "status": "active"}]}',
            "a.json: has nothing of the space “default”, and would come into that: it has work",
        ),
        (
            "a.json",
            '{"format": "commonplace-export", "spaces": [{"id": "s", "slug": "default"}],'
            ' "memories": [{"id": "m", "space_id": "s", "text": " ", "status": "active"}]}',
            "a.json, memory 1: text must",
        ),
        (
            "a.json",
            '{"format": "commonplace-export", "spaces": [{"id": "s", "slug": "default"}],'
            ' "memories": [{"status": "archived"}, {"id": "m", "space_id": "s", "status": "active"}]}',
            "a.json, memory 2: has no text",
        ),
        (
            "a.json",
            '{"format": "commonplace-export", "memories": [{"id": "m", "text": "one", "status": "active"}]}',
            "a.json: has nothing of the space “default”, and would come into that: it has none",
        ),
        ("a.json", '[{"text": "one", "created_at": "soon"}]', "a.json, number 1: created_at must be a day"),
        ("a.json", '[{"text": "one", "created_at": true}]', "a.json, number 1: created_at must be a day"),
        (
            "a.json",
            '["one", {"text": "two", "date": "2099-01-01"}]',
            "a.json, number 2: date must not be more",
        ),
        ("a.md", "---\ndate: 2099-01-01\n---\none", "a.md: date must not be more than a day in the future"),
        ("a.json", '[{"text": "one"}, {"text": "\\u0000two"}]', "a.json, number 2: text must not contain NUL"),
        ("a.md", "---\ntags: &a [b]\n---\none", "a.md: document: line 2: not YAML"),
        ("a.md", "---\ndate: soon\n---\none", "a.md: date must be a day"),
        ("a.csv", "one", "a.csv: is none of .json, .jsonl, .markdown, .md, .txt"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(drafts, name, text, said):
    with pytest.raises(InvalidError) as error:
        drafts(text, name)
    assert said in str(error.value)


def test_of_the_spaces_of_an_account_the_first_are_named(drafts):
    spaces = [{"id": f"{at}", "slug": f"space-{at:03}"} for at in range(300)]
    memories = [{"id": f"{at}", "space_id": f"{at}", "text": "one", "status": "active"} for at in range(300)]
    with pytest.raises(InvalidError, match=r"it has space-000, space-001, .*, space-009 and 290 others$") as error:
        drafts({"format": "commonplace-export", "spaces": spaces, "memories": memories}, "a.json")
    assert len(str(error.value)) < 300


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_a_file_is_read_as_windows_writes_it(tmp_path, encoding):
    (tmp_path / "a.txt").write_bytes("مفتاح الشقة\r\n\r\n東京駅".encode(encoding))
    assert [each.text for each in drafts_of(tmp_path / "a.txt", "a.txt", datetime.now(UTC))] == [
        "مفتاح الشقة",
        "東京駅",
    ]


def test_a_file_that_is_not_utf8_is_named(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"caf\xe9")
    with pytest.raises(InvalidError, match=r"a\.txt: is not UTF-8"):
        list(drafts_of(tmp_path / "a.txt", "a.txt", datetime.now(UTC)))


def test_a_file_whose_name_is_not_utf8_is_read_with_the_others(tmp_path):
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md")).write_text("The coffee comes from Karlsruhe")
    (tmp_path / "tea.md").write_text("The tea comes from Assam")
    found = [draft for file in files_in(tmp_path) for draft in drafts_of(file, file.name, datetime.now(UTC))]
    assert {draft.text: draft.source_ids for draft in found} == {
        "The coffee comes from Karlsruhe": ("caf\ufffd.md",),
        "The tea comes from Assam": ("tea.md",),
    }


def test_a_document_that_a_wrong_clock_has_written_is_as_new_as_any(drafts, tmp_path):
    drafts("one")
    os.utime(tmp_path / "notes.md", (4_000_000_000, 4_000_000_000))
    (draft,) = drafts_of(tmp_path / "notes.md", "notes.md", NOW)
    assert draft.created_at == NOW


def test_the_files_of_a_folder_are_those_that_can_be_read_and_are_not_hidden(tmp_path):
    for name in ("b.md", "a/c.TXT", "a/d.png", ".obsidian/e.json", "a/.f.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert [str(each.relative_to(tmp_path)) for each in files_in(tmp_path)] == ["a/c.TXT", "b.md"]
    assert files_in(tmp_path / "a" / "d.png") == [tmp_path / "a" / "d.png"]
