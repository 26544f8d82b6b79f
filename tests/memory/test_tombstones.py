"""What was forgotten is refused for a day, however it is said again."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest
from forgetting import SECRET
from sqlalchemy import text

from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.errors import RefusedError
from memory.forgetting.forget import UNDO_WINDOW
from memory.forgetting.purge import purge
from memory.forgetting.restore import restore
from memory.preferences.preferences import set_time_zone
from memory.texts.caseless import caseless
from memory.writing.bulk import forget_many
from memory.writing.edit import update
from memory.writing.remember import remember_many

LONG = "The quarterly planning meeting with the whole design team takes place in the large room at {} o'clock " + (
    "and everybody brings the notes from the last quarter so that we can compare them in peace and quiet " * 6
)


def test_the_same_text_is_refused_for_a_day(book, drop):
    drop(book.write(SECRET).id)
    again = book.write(f"  {SECRET.upper()} ")
    assert (again.outcome, again.refusal) == ("refused", "tombstone")


def test_what_is_refused_brings_no_theme(book, drop):
    drop(book.write(SECRET).id)
    drafts = [Draft(text=SECRET, theme="keys"), Draft(text="The tiles are sage green", theme="house")]
    outcomes = book.do(remember_many, "default", drafts)
    assert [outcome.outcome for outcome in outcomes] == ["refused", "created"]
    assert book.all("SELECT slug FROM themes") == ["house"]


def test_what_a_memory_said_before_is_refused_too(book, drop, change):
    memory_id = book.write(SECRET).id
    change(memory_id, text="The garden gate is green")
    drop(memory_id, undo=UNDO_WINDOW)
    assert [book.write(each).refusal for each in (SECRET, "The garden gate is green")] == ["tombstone"] * 2
    book.do(restore, memory_id)
    assert book.write(SECRET).outcome == "created"


@pytest.mark.parametrize("before", [SECRET, f"{SECRET}."])
def test_what_it_said_before_may_be_said_again_once_another_that_says_it_is_back(book, change, before):
    first = book.write(before).id
    change(first, text="The garden gate is green")
    says = book.write(SECRET).id
    book.do(forget_many, [first, says], undo=UNDO_WINDOW)
    assert book.write(before).refusal == "tombstone"
    book.do(restore, says)
    again = book.write(before)
    assert (again.outcome, again.id) == ("merged", says)


def test_what_it_said_before_is_refused_while_another_that_says_it_is_gone(book, change):
    first = book.write(SECRET).id
    change(first, text="The garden gate is green")
    says = book.write(SECRET).id
    book.do(forget_many, [first, says], undo=UNDO_WINDOW)
    book.do(restore, first)
    assert book.write(SECRET).refusal == "tombstone"


def test_what_it_said_before_is_refused_though_another_that_says_it_is_back_in_the_archive(book, change):
    first = book.write(SECRET).id
    change(first, text="The garden gate is green")
    says = book.write(SECRET).id
    change(says, status="archived")
    book.do(forget_many, [first, says], undo=UNDO_WINDOW)
    book.do(restore, says)
    assert book.write(SECRET).refusal == "tombstone"


def test_another_copy_of_what_was_forgotten_is_not_made_active_for_a_day(book, drop, change):
    kept = book.write(SECRET).id
    change(kept, status="archived")
    drop(book.write(SECRET.upper()).id)
    with pytest.raises(RefusedError, match="forgotten less than 24 hours ago"):
        change(kept, status="active")
    assert change(kept, tags=["keys"]).status == "archived"
    later = utc_now() + timedelta(hours=25)
    assert book.do(update, kept, {"status": "active"}, now=later).status == "active"


def test_another_copy_of_what_was_forgotten_does_not_come_back_once_nothing_supersedes_it(book, drop, change):
    older, newer = book.write(SECRET).id, book.write("The spare key is with the neighbours").id
    change(newer, supersedes=older)
    drop(book.write(SECRET).id)
    with pytest.raises(RefusedError):
        change(newer, supersedes=None)
    assert book.load(older).status == "superseded"


def test_a_copy_that_says_something_else_from_now_on_is_made_active(book, drop, change):
    kept = book.write(SECRET).id
    change(kept, status="archived")
    drop(book.write(SECRET).id)
    assert change(kept, status="active", text="The spare key is with the neighbours").status == "active"


@pytest.mark.parametrize("first", [SECRET, f"{SECRET}."])
def test_what_another_memory_says_by_now_may_be_said_again(book, drop, change, first):
    memory_id = book.write(first).id
    change(memory_id, text="The garden gate is green")
    kept = book.write(SECRET).id
    drop(memory_id)
    again = [book.write(said) for said in (SECRET, first)]
    assert [(each.id, each.outcome) for each in again] == [(kept, "merged")] * 2


def test_a_refusal_says_until_when_and_how_long_it_can_be_undone(book, drop):
    noon = datetime(2026, 5, 4, 12, tzinfo=UTC)
    drop(book.write(SECRET, now=noon).id, undo=UNDO_WINDOW, now=noon)
    said = "this was forgotten less than 24 hours ago, and is refused until 2026-05-05 12:00 UTC"
    undo = "; until 12:10 UTC the forgetting can be undone instead"
    for minutes, more in ((9, undo), (11, "")):
        assert book.write(SECRET, now=noon + timedelta(minutes=minutes)).trace.reason == said + more


def test_a_refusal_says_so_by_the_clocks_of_the_user(book, drop):
    evening = datetime(2026, 5, 4, 22, 30, tzinfo=UTC)
    book.do(set_time_zone, "Europe/Berlin", source="test")
    drop(book.write(SECRET, now=evening).id, undo=UNDO_WINDOW, now=evening)
    reason = book.write(SECRET, now=evening).trace.reason
    assert "refused until 2026-05-06 00:30 CEST; until 00:40 CEST the forgetting" in reason


@pytest.mark.parametrize(("said", "again"), [("{}", "{}!"), ("{}.", "{}"), ("{}...", "{}?")])
def test_the_same_text_is_refused_however_it_ends(book, drop, said, again):
    drop(book.write(said.format(SECRET)).id)
    assert book.write(again.format(SECRET.upper())).outcome == "refused"


@pytest.mark.parametrize(("said", "again"), [("{} \U0001f622", "{}"), ("{}", "{} \U0001f622"), ("-> {}", "{}")])
def test_the_same_words_are_refused_whatever_signs_are_beside_them(book, drop, said, again):
    drop(book.write(said.format(SECRET)).id)
    assert book.write(again.format(SECRET)).outcome == "refused"


CODED = "Müller hides the spare key of flat 7 under the third flowerpot"


@pytest.mark.parametrize(
    "code", [quote, json.dumps, lambda said: json.dumps(json.dumps(said)), lambda said: quote(quote(said))]
)
@pytest.mark.parametrize("said", [CODED, SECRET])
def test_a_text_is_refused_as_an_address_or_json_codes_it(book, drop, said, code):
    drop(book.write(said).id)
    assert book.write(code(said)).refusal == "tombstone"


@pytest.mark.parametrize("code", [quote, json.dumps])
def test_what_was_forgotten_as_it_was_coded_is_refused_as_it_is_meant(book, drop, code):
    drop(book.write(code(CODED)).id)
    assert book.write(CODED).refusal == "tombstone"
    assert book.write(CODED.replace("7", "8")).outcome == "created"


def test_a_near_duplicate_is_refused_too(book, drop):
    drop(book.write(LONG.format(3)).id)
    assert book.write(LONG.format(3) + "!").outcome == "refused"


def test_a_text_that_differs_in_a_number_is_not_refused(book, drop):
    drop(book.write(LONG.format(3)).id)
    assert book.write(LONG.format(4)).outcome == "created"


A, B = "https://a.example/x", "https://b.example/y"
AB = f"{A} {B}"


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("Forget me please quickly", "forget me, please, quickly"),
        ("Forget me, please: quickly!", "forget me please quickly"),
        ("Ring Grace at 3.30, then leave", "ring grace at 3.30 then leave"),
        ("Paris. Spring; tea", "paris spring , tea"),
    ],
)
def test_a_text_with_other_commas_and_capitals_is_refused(book, drop, said, again):
    drop(book.write(said).id)
    assert book.write(again).refusal == "tombstone"


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("The safe opens with heron", "The safe opens with he\u200bron"),
        ("The safe opens with he\u00adron", "The safe opens with heron"),
        ("The\u200bsafe\u200bopens\u200bwith\u200bheron", "The safe opens with heron"),
        ("The safe opens with heron", "The safe\u3164opens with heron"),
        (
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0628\u0631\u0648\u0645",
            "\u0645\u06cc\u062e\u0648\u0627\u0647\u0645 \u0628\u0631\u0648\u0645",
        ),
        ("The safe\u2019s in Hauptstra\u00dfe", "THE SAFE\u2019S IN HAUPTSTRASSE"),
    ],
)
def test_a_text_that_differs_in_what_nobody_sees_or_in_capitals_is_refused(book, drop, said, again):
    drop(book.write(said).id)
    assert book.write(again).refusal == "tombstone"


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("رقمي السري ٤٥٢١ لا تنسه", "رقمي السري 4521 لا تنسه"),
        ("رقمي السري هنا لا تنسه", "رَقْمي السِّري هنا لا تنسه"),
        ("رقمي السري هنا لا تنسه", "رقمي الســـري هنا لا تنسه"),
        ("می\u200cخو\u0627\u0647م رمزم این باشد", "مي\u200cخو\u0627\u0647م رمزم اين باشد"),
        ("שלום סוד שלי חתול", "שָׁלוֹם סוד שלי חתול"),
        ("Мой секрет это ёлка в шкафу", "Мой секрет это елка в шкафу"),
        ("\u039f ΚΩΔΙΚΟΣ είναι γάτα", "\u039f κωδικός είναι γάτα"),
        ("İzmir'de gizli evim var", "izmir'de gizli evim var"),
        ("Isparta'da gizli evim var", "\u0131sparta'da gizli evim var"),
        ("パスワードは金庫の中", "パスワードは 金庫の\n中"),
        ("我的密码是小猫", "我 的 密 码 是 小 猫"),
    ],
)
def test_a_text_in_letters_that_people_write_for_its_own_is_refused(book, drop, said, again):
    drop(book.write(said).id)
    assert book.write(again).refusal == "tombstone"


@pytest.mark.parametrize("said", ["رقمي السري ٤٥٢١ لا تنسه", "मेरा गुप्त नंबर ४५२१ है"])
def test_what_an_earlier_version_forgot_with_its_digits_as_they_are_is_refused(book, drop, runtime, owner, said):
    drop(book.write(said).id)
    values = {"user_id": book.user_id, "digest": runtime.keys.digest("tombstone", caseless(said))}
    with owner.begin() as connection:
        connection.execute(text("UPDATE tombstones SET digest = :digest, simhash = 0 WHERE user_id = :user_id"), values)
    assert book.write(said).refusal == "tombstone"


@pytest.mark.parametrize("again", ["Meet at 35, then leave", "Meet at 3:5, then leave", "Meet at 3.5, then go"])
def test_a_text_with_another_number_or_word_between_its_commas_is_not_refused(book, drop, again):
    drop(book.write("Meet at 3.5, then leave").id)
    assert book.write(again).outcome == "created"


@pytest.mark.parametrize("again", [f"Read {B}", "Read https://a.example/other", "Read https://a.example/X"])
def test_a_text_with_other_addresses_alone_is_not_refused(book, drop, again):
    drop(book.write(f"Read {A}").id)
    assert book.write(again).outcome == "created"


def test_a_long_text_that_differs_in_its_addresses_is_not_refused(book, drop):
    drop(book.write(f"{LONG.format(3)} {A}").id)
    assert book.write(f"{LONG.format(3)} indeed {B}").outcome == "created"


@pytest.mark.parametrize(
    ("said", "again"),
    [
        (f"Read {A}", "  READ   HTTPS://A.Example/x. "),
        (f"Read {A}", f"Read {A} {B}"),
        (f"Read {A}", f"Read {B} {A}"),
        (f"Read {A} and {B}", f"Read {B} and {A}"),
        (f"Read {A}", "Read"),
        ("Read", f"Read {A}"),
        ("Read", f"Read {AB}"),
        (A, " HTTPS://A.Example/x!"),
        (A, f"`{A}`"),
        (A, AB),
        (AB, f"{B} {A}"),
        (f"{A} \U0001f4d6", f"\U0001f4d6 **{A}**"),
    ],
)
def test_a_text_with_the_same_addresses_or_without_is_refused(book, drop, said, again):
    drop(book.write(said).id)
    assert book.write(again).refusal == "tombstone"


DIARY = "https://ada.example.org/diary"


@pytest.mark.parametrize(
    "typed",
    [
        f"`{DIARY}`",
        f"**{DIARY}**",
        "http://ada.example.org/diary",
        f"\u201c{DIARY}\u201d",
        f"{DIARY}\u3002",
        f"{DIARY}\u2026",
        "https://www.ada.example.org/diary",
        f"{DIARY}#top",
        f"{DIARY}?utm_source=chat",
        f"{DIARY} {B}",
        f"{B},{DIARY}",
        "ada.example.org/diary",
        "Ada.Example.org/diary",
        "`ada.example.org/diary`",
        "ada.example.org:443/diary",
        "https://ada.example.org:443/diary",
        "http://ada.example.org:80/diary",
        "https://ada.example.org/di%61ry",
    ],
)
def test_a_forgotten_address_is_refused_however_it_is_typed(book, drop, typed):
    drop(book.write(f"Ada's private diary is kept at {DIARY}").id)
    assert book.write(f"Ada's private diary is kept at {typed}").refusal == "tombstone"


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("Read a.example.org/x", "Read https://a.example.org/x"),
        ("Read a.example.org/x", "Read a.example.org:443/x"),
        ("Read a.example.org/x", "Read"),
        ("Tea, with milk, a.example.org/x", "Tea with milk https://a.example.org/x"),
        ("Tea, with milk, https://a.example.org/x", "Tea with milk a.example.org/x"),
        ("Read", "Read a.example.org/x"),
        ("Read https://notes.example", "Read Notes.example"),
        ("Read https://a.example/x", "Read a.example/x b.example.org/y"),
    ],
)
def test_an_address_without_scheme_is_one(book, drop, said, again):
    drop(book.write(said).id)
    assert book.write(again).refusal == "tombstone"


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("Read https://a.example/x", "Read a.example/y"),
        ("Read https://a.example/x", "Read http://a.example:443/x"),
        ("Read https://a.example/a%2Fb", "Read https://a.example/a/b"),
        ("Read setup.py/x", "Read"),
        ("Read Notes.example", "Read"),
    ],
)
def test_what_may_be_another_address_or_none_is_not_refused(book, drop, said, again):
    drop(book.write(said).id)
    assert book.write(again).outcome == "created"


def test_a_long_text_with_its_address_typed_otherwise_is_refused(book, drop):
    drop(book.write(f"{LONG.format(3)} ada.example.org/diary").id)
    assert book.write(f"{LONG.format(3)} indeed {DIARY}").refusal == "tombstone"


def test_of_two_forgotten_addresses_one_may_be_said_alone(book, drop):
    drop(book.write(f"Read {AB}").id)
    assert book.write(f"Read {B}").outcome == "created"


def test_a_tombstone_keeps_a_digest_of_each_address(book, drop):
    drop(book.write(f"Read {AB} https://www.a.example/x#again").id)
    assert book.one("SELECT length(marks_digest) FROM tombstones") == 3 * 32


def test_of_two_texts_of_nothing_but_an_address_each_is_forgotten_alone(book, drop):
    drop(book.write(A).id)
    assert book.write(B).outcome == "created"


def test_a_tombstone_that_knows_no_addresses_refuses_the_text_with_any(book, drop):
    drop(book.write(f"Read {A}").id)
    with book.session() as session:
        session.execute(text("UPDATE tombstones SET marks_digest = substr(marks_digest, 1, 32)"))
    assert book.write(f"Read {B}").refusal == "tombstone"


def test_after_a_day_the_text_may_come_back(book, drop):
    drop(book.write(SECRET).id)
    assert book.write(SECRET, now=utc_now() + timedelta(hours=24, seconds=1)).outcome == "created"


def test_a_tombstone_stands_in_one_space(book, drop, second_space):
    drop(book.write(SECRET).id)
    assert book.write(SECRET, space=second_space).outcome == "created"


def test_old_tombstones_are_swept_away(book, drop):
    drop(book.write(SECRET).id)
    with book.session() as session:
        assert purge(session, book.user_id, keys=book.runtime.keys, now=utc_now() + timedelta(hours=25)) == 1
    assert book.one("SELECT count(*) FROM tombstones") == 0
