"""Memories as Markdown, and back again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import process_time

import pytest
from sqlalchemy import text as sql

from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.forgetting.forget import forget
from memory.preferences.preferences import set_time_zone
from memory.spaces.themes import create_theme
from memory.storage.database import user_session
from memory.transfer.bringing import COMMAND, bring_in
from memory.transfer.export import export
from memory.transfer.notes_export import notes_at_once
from memory.transfer.notes_files import drafts_of, files_in
from memory.writing.edit import update

DAY = datetime(2026, 5, 1, 22, 30, tzinfo=UTC)
KEY = "The spare key is under the third flowerpot, says Bob."


@pytest.fixture
def exported(book, runtime):
    def _exported(now=None):
        return list(notes_at_once(runtime.sessions, book.user_id, now=now or utc_now()))

    return _exported


@pytest.fixture
def unpacked(exported, tmp_path):
    """Write what is exported into a folder, as whoever unpacks an archive does."""

    def _unpacked() -> Path:
        for note in exported():
            path = tmp_path / note.path
            path.parent.mkdir(exist_ok=True)
            path.write_text(note.content, encoding="utf-8")
        return tmp_path

    return _unpacked


def read(folder: Path) -> list[Draft]:
    return [draft for file in files_in(folder) for draft in drafts_of(file, file.name, utc_now())]


def test_a_memory_is_a_document_with_what_is_known_of_it(book, exported):
    book.do(create_theme, "home")
    expires = utc_now() + timedelta(days=3)
    kept = book.write(
        KEY, created_at=DAY, type="fact", tags=("keys", "été: 1"), theme="home", manually_saved=True, expires_at=expires
    )
    [note] = exported()
    assert note.path == "default/2026-05-01 The spare key is under the third flowerpot, says.md"
    assert note.content == (
        f"---\nmemory: {kept.id}\nversion: 1\ncreated_at: '2026-05-01T22:30:00+00:00'\ntype: fact\n"
        f"tags:\n- keys\n- 'été: 1'\ntheme: Home\nsaved: true\nexpires_at: '{expires.isoformat()}'\n---\n\n{KEY}\n"
    )


def test_what_is_not_known_of_it_is_not_told(book, exported):
    book.write("Rent is 900", created_at=DAY)
    [note] = exported()
    head = note.content.partition("\n---\n")[0]
    assert [line.partition(":")[0] for line in head.splitlines()] == ["---", "memory", "version", "created_at", "type"]


def test_only_what_a_search_may_find_is_written(book, exported):
    book.write("Rent is 900")
    archived, gone = book.write("Rent was 800 in the old flat"), book.write("The gym costs 30")
    book.write("Parking till noon", expires_at=utc_now() + timedelta(hours=1))
    book.do(update, archived.id, {"status": "archived"})
    book.do(forget, gone.id)
    assert [note.content.rpartition("\n\n")[2] for note in exported(utc_now() + timedelta(hours=2))] == [
        "Rent is 900\n"
    ]


def test_each_space_is_a_folder(book, exported, second_space):
    book.write("Rent is 900", created_at=DAY)
    book.write("Rent is 900", created_at=DAY, space=second_space)
    assert [note.path for note in exported()] == [
        "default/2026-05-01 Rent is 900.md",
        f"{second_space}/2026-05-01 Rent is 900.md",
    ]


def test_what_is_anothers_is_in_no_document(book, bobs_book, exported):
    bobs_book.write("Bob's rent is 700")
    assert exported() == []


def test_the_day_is_that_of_the_owners_clock(book, exported):
    book.do(set_time_zone, "Asia/Tokyo", source="test")
    book.write("Rent is 900", created_at=DAY)
    assert exported()[0].path == "default/2026-05-02 Rent is 900.md"


def test_a_day_that_the_owners_clock_never_had_is_that_of_utc(book, exported):
    book.do(set_time_zone, "America/Lima", source="test")
    book.write("Rent is 900", created_at=datetime(1, 1, 1, tzinfo=UTC))
    assert exported()[0].path == "default/0001-01-01 Rent is 900.md"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('../../etc: a<b>"c"|d?*#^[[e]]%f\\g', "2026-05-01 .. .. etc a b c d e f g"),
        ("two\n\n\tlines.  ", "2026-05-01 two lines"),
        ("???", "2026-05-01"),
        ("x" * 80, f"2026-05-01 {'x' * 50}"),
        ("a" * 30 + " " + "b" * 30, f"2026-05-01 {'a' * 30}"),
        ("cafe\u0301", "2026-05-01 caf\u00e9"),
        ("🐝" * 80, f"2026-05-01 {'🐝' * 50}"),
        ("A gnp\u202e.exe", "2026-05-01 A gnp .exe"),
    ],
)
def test_a_name_is_one_that_any_system_takes(book, exported, text, name):
    book.write(text, created_at=DAY)
    [note] = exported()
    assert note.path == f"default/{name}.md"
    assert len(note.path.partition("/")[2].encode()) <= 255


def test_two_that_begin_alike_have_names_of_their_own(book, exported):
    long = "The bus to the old harbour leaves from the square at"
    for hour in ("nine", "ten", "noon"):
        book.write(f"{long} {hour} o'clock, line {len(hour)}", created_at=DAY)
    book.write("RENT is 900", created_at=DAY)
    book.write("Rent is 900, not 800", created_at=DAY)
    names = [note.path.casefold() for note in exported()]
    assert len(set(names)) == 5
    assert sum(name.endswith((" 2.md", " 3.md")) for name in names) == 2


ALIKE = """
INSERT INTO memories (user_id, id, space_id, type, role, text, text_digest, simhash, importance, created_at, updated_at)
SELECT user_id, uuidv7(), id, 'note', 'user', :begins || n, n::text::bytea, 0, 0, now(), now()
FROM spaces, generate_series(1, 6000) n WHERE slug = 'default'
"""


def test_many_that_begin_alike_are_named_as_fast_as_others(book, exported):
    with book.session() as session:
        session.execute(sql(ALIKE), {"begins": f"{KEY} It was told so by number "})
    began = process_time()
    assert len({note.path for note in exported()}) == 6000
    assert process_time() - began < 3


def test_what_is_exported_comes_back_as_it_was(book, bobs_book, unpacked):
    texts = [
        KEY,
        "# Not a title\n\n- one\n- two\n\nAnd a paragraph.",
        "---\nmemory: no\n---",
        "Zeile\twith: 'quotes' & é",
    ]
    for number, text in enumerate(texts):
        book.write(text, created_at=DAY, tags=(f"t{number}", "with, comma"), type="decision", manually_saved=not number)
    drafts = read(unpacked())
    assert sorted(draft.text for draft in drafts) == sorted(texts)
    assert {draft.created_at for draft in drafts} == {DAY}
    assert {draft.type for draft in drafts} == {"decision"}
    assert {draft.tags for draft in drafts} == {(f"t{number}", "with, comma") for number in range(len(texts))}
    assert sorted(draft.manually_saved for draft in drafts) == [False, False, False, True]
    bobs_book.do(bring_in, "default", drafts, soft_cap=None)
    assert sorted(bobs_book.all("SELECT text FROM memories")) == sorted(texts)


@pytest.fixture
def document(book, runtime, tmp_path):
    """Write the one document of everything in the account; return what is active in a space of it."""

    def _document(space="default", changed=lambda text: text):
        path = tmp_path / "everything.json"
        with user_session(runtime.sessions, book.user_id) as session:
            written = "".join(export(session, book.user_id, now=utc_now()))
        path.write_text(changed(written), encoding="utf-8")
        return list(drafts_of(path, path.name, utc_now(), space))

    return _document


def test_what_is_active_in_a_space_of_an_account_comes_from_its_document(book, bobs_book, document, second_space):
    expires = utc_now() + timedelta(days=3)
    kept = book.write(KEY, created_at=DAY, tags=("with, comma",), type="fact", manually_saved=True, expires_at=expires)
    gone = book.write("Rent is 900")
    book.do(update, gone.id, {"status": "archived"})
    book.write("The office closes at six", space=second_space)
    [draft] = document()
    assert (draft.of, draft.version, draft.text, draft.created_at) == (kept.id, 1, KEY, DAY)
    assert (draft.tags, draft.type, draft.manually_saved) == (("with, comma",), "fact", True)
    assert draft.expires_at == expires
    assert [each.text for each in document(second_space)] == ["The office closes at six"]
    bobs_book.write("I keep bees")
    assert dict(bobs_book.do(bring_in, "default", document(), soft_cap=None)) == {"there": 0, "created": 1}
    assert sorted(bobs_book.all("SELECT text FROM memories")) == ["I keep bees", KEY]


def test_who_said_it_comes_from_the_document_of_an_account(book, document):
    book.write(KEY, role="assistant")
    assert [draft.role for draft in document()] == ["assistant"]


def test_lines_that_end_otherwise_are_no_other_text(book, document):
    book.write("The rent is 900.\r\nIt is due on the first.")
    assert dict(book.do(bring_in, "default", document(), soft_cap=None)) == {"there": 1}


@pytest.mark.parametrize("version", ["-1000000000000000000000", "-9223372036854775808", "1000000000000000000000"])
def test_a_version_that_none_can_be_leaves_the_memory_as_it_is(book, document, version):
    kept = book.write(KEY)
    drafts = document(
        changed=lambda text: text.replace("flowerpot", "pot").replace('"version": 1', f'"version": {version}')
    )
    assert [draft.text for draft in drafts] == [KEY.replace("flowerpot", "pot")]
    assert dict(book.do(bring_in, "default", drafts, soft_cap=None)) == {"there": 0, "changed": 1}
    assert book.load(kept.id).text == KEY


def test_the_document_of_an_account_corrects_what_it_says_otherwise(book, document):
    kept = book.write(KEY, created_at=DAY)
    book.write("Rent is 900")
    drafts = document(changed=lambda text: text.replace("third flowerpot", "doormat"))
    assert dict(book.do(bring_in, "default", drafts, soft_cap=None)) == {"there": 1, "corrected": 1}
    assert book.load(kept.id).text == KEY.replace("third flowerpot", "doormat")


def test_to_bring_it_in_where_it_came_from_changes_nothing(book, unpacked):
    book.write(KEY, created_at=DAY)
    book.write("Rent is 900")
    assert dict(book.do(bring_in, "default", read(unpacked()), soft_cap=None)) == {"there": 2}


@pytest.fixture
def returned(book, unpacked):
    """Bring in what was exported, the one document of it changed as an editor would."""

    def _returned(*changes: tuple[str, str], space="default", meanwhile=lambda: None):
        [file] = files_in(unpacked())
        meanwhile()
        for was, became in changes:
            assert was in file.read_text()
            file.write_text(file.read_text().replace(was, became))
        return dict(book.do(bring_in, space, read(file.parent), soft_cap=None))

    return _returned


def test_a_text_that_was_changed_there_corrects_the_memory(book, returned):
    kept = book.write(KEY, tags=("keys",), created_at=DAY)
    assert returned(("third flowerpot", "doormat")) == {"there": 0, "corrected": 1}
    memory = book.load(kept.id)
    assert (memory.text, memory.version, memory.tags) == (KEY.replace("third flowerpot", "doormat"), 2, ["keys"])
    assert book.one("SELECT count(*) FROM memories") == 1
    assert book.all("SELECT actor FROM audit_events WHERE action = 'memory.updated'") == ["test"]


def test_what_was_changed_here_since_is_left_as_it_is(book, returned):
    kept = book.write(KEY)
    here = KEY.replace("Bob", "Ana")
    changes = {"meanwhile": lambda: book.do(update, kept.id, {"text": here})}
    assert returned(("third flowerpot", "doormat"), **changes) == {"there": 0, "changed": 1}
    assert book.all("SELECT text FROM memories") == [here]


def test_what_was_exported_before_and_is_as_it_was_then_changes_nothing(book, returned):
    kept = book.write(KEY)
    said = KEY.replace("Bob", "Ana")

    def there_and_back():
        book.do(update, kept.id, {"text": said})
        book.do(update, kept.id, {"text": KEY})

    assert returned(meanwhile=there_and_back) == {"there": 1}
    assert book.all("SELECT text FROM memories") == [KEY]


def test_where_another_memory_says_so_nothing_is_corrected(book, returned):
    book.write(KEY)

    def said():
        book.write("Rent is 900")

    assert returned((KEY, "Rent is 900"), meanwhile=said) == {"there": 1}
    assert sorted(book.all("SELECT text FROM memories")) == ["Rent is 900", KEY]


def test_what_was_forgotten_is_no_correction(book, returned):
    book.write(KEY)

    def forgotten():
        book.do(forget, book.write("The gym in Mill Lane costs 30").id)

    assert returned((KEY, "The gym in Mill Lane costs 30"), meanwhile=forgotten) == {"there": 0, "refused": 1}
    assert book.all("SELECT text FROM memories") == [KEY]


def test_what_was_archived_since_stays_so(book, returned):
    kept = book.write(KEY)
    archived = {"meanwhile": lambda: book.do(update, kept.id, {"status": "archived"})}
    assert returned(("third flowerpot", "doormat"), **archived) == {"there": 0, "created": 1}
    assert (book.load(kept.id).text, book.load(kept.id).status) == (KEY, "archived")


def test_what_was_replaced_since_does_not_come_back(book, returned):
    kept = book.write(KEY)

    def replaced():
        newer = book.write("Bob took the spare key with him when he left")
        book.do(update, newer.id, {"supersedes": kept.id})

    assert returned(meanwhile=replaced) == {"there": 0, "changed": 1}
    assert sorted(book.all("SELECT status FROM memories")) == ["active", "superseded"]


def test_what_was_archived_since_does_not_come_back(book, returned):
    kept = book.write(KEY)
    archived = {"meanwhile": lambda: book.do(update, kept.id, {"status": "archived"})}
    assert returned(**archived) == {"there": 0, "changed": 1}
    assert book.all("SELECT status FROM memories") == ["archived"]


def test_what_was_changed_and_archived_since_does_not_come_back(book, returned):
    kept = book.write(KEY)

    def changed():
        book.do(update, kept.id, {"text": KEY.replace("Bob", "Ana")})
        book.do(update, kept.id, {"status": "archived"})

    assert returned(meanwhile=changed) == {"there": 0, "changed": 1}
    assert book.one("SELECT count(*) FROM memories") == 1


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_ends_of_lines_of_another_kind_are_no_change(book, returned, end):
    kept = book.write(f"{KEY}{end}Ask him before five.")
    assert returned() == {"there": 1}
    assert book.load(kept.id).version == 1


@pytest.mark.parametrize("changes", [(), (("third flowerpot", "doormat"),)])
def test_what_is_in_another_space_is_left_there(book, returned, second_space, changes):
    book.write(KEY)
    assert returned(*changes, space=second_space) == {"there": 0, "elsewhere": 1}
    assert book.all("SELECT text FROM memories") == [KEY]


def test_whoever_works_on_in_a_folder_brings_it_in_again_and_again(book, unpacked):
    corrected = book.write(KEY.replace("third", "second"))
    book.do(update, corrected.id, {"text": KEY})
    [file] = files_in(unpacked())
    first, was = file.read_text(), "third flowerpot"

    def bring(content):
        file.write_text(content)
        return dict(book.do(bring_in, "default", read(file.parent), soft_cap=None, actor=COMMAND))

    for place in ("doormat", "bench", "old oak"):
        assert bring(first.replace(was, place)) == {"there": 0, "corrected": 1}
    assert bring(first.replace(was, "old oak")) == {"there": 1}
    # Older copies bring nothing back, whether they were ever changed or not.
    for place in (was, "doormat", "bench"):
        assert bring(first.replace(was, place)) == {"there": 0, "changed": 1}
    book.do(update, book.one("SELECT id FROM memories"), {"tags": ["keys"]})
    assert bring(first.replace(was, "shed")) == {"there": 0, "corrected": 1}
    book.do(update, book.one("SELECT id FROM memories"), {"text": "Nobody knows where the key is"})
    assert bring(first.replace(was, "well")) == {"there": 0, "changed": 1}


def test_a_document_of_a_version_that_there_is_not_yet_corrects_nothing(book, returned):
    book.write(KEY)
    assert returned(("version: 1", "version: 7"), ("third flowerpot", "doormat")) == {"there": 0, "changed": 1}


@pytest.mark.parametrize("of", ["7", "00000000-0000-4000-8000-000000000000"])
def test_a_document_of_no_memory_here_is_a_new_one(book, returned, of):
    kept = book.write(KEY)
    assert returned((str(kept.id), of), ("third flowerpot", "doormat")) == {"there": 0, "created": 1}


def test_a_document_that_was_copied_to_write_another_is_a_new_one(book, unpacked):
    book.write("Rent is 900 in the flat by the harbour")
    [file] = files_in(unpacked())
    file.with_name("another.md").write_text(file.read_text().replace("Rent is 900 in the flat", "The gym costs 30"))
    assert dict(book.do(bring_in, "default", read(file.parent), soft_cap=None)) == {"there": 1, "created": 1}


def test_another_persons_memory_is_not_corrected(book, bobs_book, unpacked):
    book.write(KEY)
    [file] = files_in(unpacked())
    file.write_text(file.read_text().replace("third flowerpot", "doormat"))
    assert dict(bobs_book.do(bring_in, "default", read(file.parent), soft_cap=None)) == {"there": 0, "created": 1}
    assert book.all("SELECT text FROM memories") == [KEY]


def test_what_has_expired_does_not_come_back(book, unpacked):
    soon = utc_now() + timedelta(hours=1)
    book.write("Parking till noon", expires_at=soon)
    folder = unpacked()
    [draft] = read(folder)
    assert draft.expires_at == soon
    [file] = files_in(folder)
    assert list(drafts_of(file, file.name, soon)) == []
