"""The write path against a real database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import event, text

from memory.clock import utc_now
from memory.drafts.drafts import Draft
from memory.errors import InvalidError
from memory.models import Memory
from memory.writing.edit import update
from memory.writing.remember import prepare, remember, remember_many


@pytest.fixture
def write(runtime, ada):
    def _write(text, space="default", **fields):
        with ada.session() as session:
            return remember(session, ada.id, space, Draft(text, **fields), keys=runtime.keys, now=utc_now(), actor="t")

    return _write


def load(ada, memory_id):
    with ada.session() as session:
        memory = session.get_one(Memory, (ada.id, memory_id))
        session.expunge(memory)
        return memory


def test_a_new_text_becomes_a_row(write, ada):
    outcome = write("I prefer uv over pip")
    assert load(ada, outcome.id).text == "I prefer uv over pip"


def test_an_exact_repeat_merges(write, ada):
    first, second = write("I prefer uv over pip"), write("I  PREFER uv over pip ")
    assert (second.outcome, second.id) == ("merged", first.id)


def test_a_repeat_is_counted(write, ada):
    ids = {write("I prefer uv over pip").id for _ in range(3)}
    assert load(ada, ids.pop()).repeat_count == 2


@pytest.mark.parametrize("first", [0.0, 0.3, 0.8])
def test_the_reasons_of_a_repeat_add_up_to_what_it_weighs(write, ada, first):
    kept = write(LONG.format(3), importance=first).id
    for _ in range(3):
        trace = write(LONG.format(3), manually_saved=first == 0.3).trace
        total = sum(term.delta for term in trace.terms)
        assert trace.importance == load(ada, kept).importance == pytest.approx(min(1.0, total))
    assert [term.name for term in trace.terms] == ["before", "repeat"]


def test_a_repeat_raises_importance(write, ada):
    first = write("The office plants are watered by Jo").trace.importance
    assert write("The office plants are watered by Jo").trace.importance > first


def test_a_merge_keeps_every_tag_and_source(write, ada):
    first = write("The office has a piano", tags=("music",), source_ids=("a",))
    write("The office has a piano", tags=("office",), source_ids=("b",))
    row = load(ada, first.id)
    assert (row.tags, row.source_ids) == (["music", "office"], ["a", "b"])


def test_a_merge_says_which_given_fields_it_left_alone(write, ada):
    then, later = utc_now() - timedelta(days=9), utc_now() + timedelta(days=9)
    first = write("The office has a piano", theme="rooms", source_message="m-1")
    fields = {"type": "fact", "role": "assistant", "theme": "music", "importance": 0.9, "metadata_confidence": 0.5}
    given = {**fields, "source_message": "m-2", "created_at": then, "expires_at": later}
    second = write("The office has a piano", **given)
    assert (second.id, second.trace.reason) == (first.id, f"an exact repeat; left as before: {', '.join(given)}")
    assert load(ada, first.id).type == "note"


def test_a_merge_names_no_field_that_it_took_over_or_that_says_the_same(write):
    write(LONG.format(3), type="fact", importance=0.25)
    taken = {"source_message": "m-1", "theme": "work", "tags": ("office",), "manually_saved": True}
    assert write(LONG.format(3), type="fact", importance=0.25, **taken).trace.reason == "an exact repeat"
    assert write(LONG.format(3), theme="work").trace.reason == "an exact repeat"
    near = write(LONG.format(3) + "!", type="decision").trace.reason
    assert near == "a near-duplicate that differs in nothing that matters; left as before: type"


def test_a_merge_keeps_the_wish_to_save(write, ada):
    first = write("I prefer green tea", type="preference")
    write("I prefer green tea", type="preference", manually_saved=True)
    row = load(ada, first.id)
    assert (row.manually_saved, row.pinned) == (True, True)


LONG = "The quarterly planning meeting with the whole design team takes place in the large room at {} o'clock " + (
    "and everybody brings the notes from the last quarter so that we can compare them in peace and quiet " * 6
)


def test_a_near_duplicate_that_differs_in_nothing_merges(write):
    write(LONG.format(3))
    assert write(LONG.format(3) + "!").outcome == "merged"


def test_a_near_duplicate_that_differs_in_a_number_is_kept_and_linked(write):
    first, second = write(LONG.format(3)), write(LONG.format(4))
    assert second.outcome == "created"
    assert second.trace.possible_update_of == (first.id,)


def test_two_texts_that_differ_only_in_a_link_are_kept_apart(write):
    write("The manual is at https://example.org/one")
    assert write("The manual is at https://example.org/two").outcome == "created"


@pytest.mark.parametrize(
    ("one", "other"),
    [("a -> b", "a \u2192 b"), ("a -> b", "a --> b"), ("a != b", "a \u2260 b"), ("a <= b", "a \u2264 b")],
)
def test_a_sign_is_the_same_however_it_is_typed(write, book, one, other):
    first = write(one)
    again = write(other)
    assert (again.outcome, again.id, book.load(first.id).text) == ("merged", first.id, one)


def test_a_second_link_is_not_lost_in_a_merge(write):
    write("The manual is at https://example.org/one")
    assert write("The manual is at https://example.org/one https://example.org/two").outcome == "created"


@pytest.mark.parametrize("typed", ["https://bees.example/handbook", "**https://bees.example/handbook**"])
def test_a_first_link_is_not_lost_in_a_merge(write, ada, typed):
    first = write("The bees are described in the handbook")
    second = write(f"The bees are described in the handbook {typed}")
    assert (second.outcome, second.trace.possible_update_of) == ("created", (first.id,))
    assert load(ada, second.id).text.endswith(typed)


def test_a_text_without_its_link_merges_into_the_one_that_has_it(write, ada):
    first = write("The bees are described in the handbook https://bees.example/handbook")
    assert write("The bees are described in the handbook").id == first.id
    assert load(ada, first.id).text.endswith("/handbook")


def test_addresses_that_differ_in_the_case_of_their_path_are_kept_apart(write):
    first = write("The film is at https://youtu.be/AbCdEf")
    second = write("The film is at https://youtu.be/aBcDeF")
    assert (second.outcome, second.trace.possible_update_of) == ("created", (first.id,))


@pytest.mark.parametrize("typed", ["https://Youtu.be/AbCdEf", "HTTPS://youtu.be/AbCdEf", "http://youtu.be/AbCdEf"])
def test_an_address_that_is_typed_otherwise_merges(write, typed):
    first = write("The film is at https://youtu.be/AbCdEf")
    assert write(f"the FILM is at {typed}").id == first.id


def test_spaces_do_not_share_duplicates(write, runtime, ada, other_space):
    first = write("I prefer uv over pip")
    assert write("I prefer uv over pip", space=other_space).id != first.id


@pytest.fixture
def other_space(ada):
    from memory.spaces.spaces import create_space

    with ada.session() as session:
        create_space(session, ada.id, "other", soft_cap=200, now=utc_now(), actor="t")
    return "other"


def test_an_unknown_space_is_named(write):
    with pytest.raises(InvalidError, match="space"):
        write("anything", space="nowhere")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *(
            (unseen, "empty")
            for unseen in ("", "  \n", "\u200b\u200d", "\ufeff", "\xad \u2060", "\u3164", "\u2800\ufe0f")
        ),
        ("a\x00b", "NUL"),
        ("\ud800", "Unicode"),
        ("é" * 40_000, "bytes"),
    ],
)
def test_bad_text_is_refused(text, reason):
    with pytest.raises(InvalidError, match=reason):
        Draft(text)


@pytest.mark.parametrize("text", ["\u2764\ufe0f", "\u200ba", "¿", "\u0301", "\U0001f468\u200d\U0001f469"])
def test_what_can_be_seen_is_a_text(text):
    assert Draft(text).text == text


def test_a_batch_dedupes_within_itself(runtime, ada):
    drafts = [Draft("Same thing"), Draft("Another thing"), Draft("same THING")]
    with ada.session() as session:
        outcomes = remember_many(session, ada.id, "default", drafts, keys=runtime.keys, now=utc_now(), actor="t")
    assert [o.outcome for o in outcomes] == ["created", "created", "merged"]
    assert outcomes[2].id == outcomes[0].id


def test_a_memory_that_shares_part_of_a_hash_and_is_far_away_is_not_read(write, ada):
    far, said = write("Ada keeps bees on the roof of the old mill").id, "The key of the shed is with the neighbours"
    with ada.session() as session:
        like = prepare(Draft(said)).columns["simhash"] ^ 0xFFFF
        session.execute(text("UPDATE memories SET simhash = :like"), {"like": like})
    write("The lawn is mown on Fridays")
    read = []

    def note(memory, _):
        read.append(memory.id)

    event.listen(Memory, "load", note)
    try:
        write(said)
    finally:
        event.remove(Memory, "load", note)
    assert far not in read


@pytest.mark.parametrize(
    "moment",
    [datetime(2024, 5, 1), datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))],
    ids=["no zone", "before the first year"],
)
@pytest.mark.parametrize("field", ["created_at", "expires_at"])
def test_a_moment_that_could_not_be_read_back_is_refused(field, moment):
    with pytest.raises(InvalidError) as refused:
        Draft("The gate opens at nine", **{field: moment})
    assert refused.value.field == field


def test_created_at_is_kept(write, ada):
    then = utc_now() - timedelta(days=400)
    assert load(ada, write("Long ago", created_at=then).id).created_at == then


def test_a_moment_that_is_still_to_come_is_refused(write, ada):
    tomorrow = utc_now() + timedelta(hours=23)
    assert load(ada, write("A clock that is fast", created_at=tomorrow).id).created_at == tomorrow
    with pytest.raises(InvalidError, match="more than a day in the future") as refused:
        write("From the year 2999", created_at=datetime(2999, 1, 1, tzinfo=UTC))
    assert refused.value.field == "created_at"


def test_a_tag_has_no_blanks_around_it_and_one_case(book):
    first = book.write("The hose leaks", tags=(" Garden ", "garden", "summer \t house"))
    assert book.load(first.id).tags == ["Garden", "summer house"]
    book.write("The hose leaks", tags=("GARDEN", "tools"))
    assert book.load(first.id).tags == ["Garden", "summer house", "tools"]
    book.write("The hose leaks", tags=("\u200ftools", "summer\u200b house"))
    assert book.load(first.id).tags == ["Garden", "summer house", "tools"]
    book.do(update, first.id, {"tags": ["tools ", "Tools", "roof"]})
    assert book.load(first.id).tags == ["tools", "roof"]
