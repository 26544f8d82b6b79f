from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from evals_data import REAL_FILE, question, sample, turn

from evals.locomo import parse, read, repair

TIME = "1:56 pm on 8 May, 2023"
KNOWN = {"D1:1": "D1:1", "D8:6": "D8:6", "D9:17": "D9:17", "D11:26": "D11:26", "D30:5": "D30:5"}


@pytest.mark.parametrize(
    ("evidence", "repaired"),
    [
        (["D1:1"], ("D1:1",)),
        (["D8:6; D9:17"], ("D8:6", "D9:17")),
        (["D9:17 D1:1"], ("D9:17", "D1:1")),
        (["D:11:26"], ("D11:26",)),
        (["D30:05"], ("D30:5",)),
        (["D1:1", "D1:1"], ("D1:1",)),
        (["D", "D1:99", "D2"], ()),
        ([], ()),
    ],
)
def test_evidence_is_repaired(evidence: list[str], repaired: tuple[str, ...]) -> None:
    assert repair(evidence, KNOWN) == repaired


def test_a_turn_knows_who_said_what_and_when() -> None:
    said = parse([sample()])[0].turns[4]
    assert (said.dia_id, said.speaker, said.caption) == ("D2:1", "Bob", "a photo of smoke")
    assert said.said_at == datetime(2023, 9, 13, 0, 9, tzinfo=UTC)


def test_sessions_come_in_the_order_of_their_numbers() -> None:
    talk = {f"session_{n}": [turn(f"D{n}:1", "Ann", "Hi.")] for n in (10, 9, 1)}
    times = {f"session_{n}_date_time": "9:00 am on 1 May, 2023" for n in (10, 9, 1)}
    found = parse([sample(conversation={**talk, **times}, qa=[])])[0]
    assert [each.dia_id for each in found.turns] == ["D1:1", "D9:1", "D10:1"]


def test_a_session_is_read_under_what_the_file_calls_it() -> None:
    talk = {"session_02": [turn("D2:1", "Ann", "Hi.")], "session_02_date_time": TIME}
    assert [each.session for each in parse([sample(conversation=talk, qa=[])])[0].turns] == [2]


def test_a_question_without_evidence_is_kept() -> None:
    assert parse([sample()])[0].questions[-1].evidence == ()


def test_a_sample_without_a_name_is_called_by_its_number() -> None:
    unnamed = sample()
    del unnamed["sample_id"]
    assert parse([unnamed])[0].name == "conv-1"


def said(when: str, *turns: dict[str, str]) -> list[dict[str, Any]]:
    """A file of one session."""
    return [sample(conversation={"session_1": list(turns), "session_1_date_time": when})]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"not": "a list"}, "not a list of samples"),
        (["text"], "sample 1: not an object"),
        ([{"qa": []}], "sample 1: conversation is missing"),
        ([sample(), sample()], "the same sample_id"),
        ([sample(sample_id=" ")], "sample 1: sample_id: must not be empty"),
        ([sample(sample_id="conv\x00")], "sample 1: sample_id: must not contain NUL"),
        ([sample(sample_id="conv\ud800")], "sample 1: sample_id: is not valid Unicode text"),
        ([sample(sample_id="c" * 129)], "sample 1: sample_id: must be at most 128 characters"),
        ([sample(qa=[{"category": 1, "evidence": []}])], "conv-1, question 1: question is missing"),
        ([sample(qa=[question(" ", 4, [])])], "conv-1, question 1: question: must not be empty"),
        ([sample(qa=[question("Why\x00?", 4, [])])], "conv-1, question 1: question: must not contain NUL"),
        ([sample(qa=[question("Why?", 6, [])])], "conv-1, question 1: category must be 1 to 5, not 6"),
        ([sample(qa=[question("Why?", True, [])])], "category must be of type int, not bool"),
        ([sample(qa=[question("Why?", "4", [])])], "category must be of type int, not str"),  # type: ignore[arg-type]
        ([sample(conversation={"session_1": [{}]})], "conv-1, session_1: session_1_date_time is missing"),
        ([sample(conversation={"session_01": [{}]})], "conv-1, session_01: session_01_date_time is missing"),
        ([sample(conversation={"session_1": [], "session_001": []})], "session_1 and session_001 are the same session"),
        (
            [sample(conversation={"session_1": [{}], "session_1_date_time": "yesterday"})],
            "conv-1, session_1: 'yesterday' is not a time",
        ),
        (
            [sample(conversation={"session_1": [{}], "session_1_date_time": "1:56 pm on 8 May, 2023"})],
            "conv-1, session_1, turn 1: dia_id is missing",
        ),
        (
            said(TIME, turn("D1:1", "Ann", "Hi."), turn("D1:2", "Bob", "a\x00b")),
            "session_1, turn 2: text: must not contain",
        ),
        (said(TIME, turn("D1:1", "Ann", "Hi.", blip_caption="a\x00b")), "turn 1: blip_caption: must not contain NUL"),
        (said(TIME, turn("D1:1", "Ann", "word " * 20_000)), "session_1, turn 1: text: must be at most"),
        (said(TIME, turn("D" * 300, "Ann", "Hi.")), "session_1, turn 1: dia_id: must be at most 256"),
        (
            said("1:56 pm on 8 May, 2999", turn("D1:1", "Ann", "Hi.")),
            "session_1_date_time: must not be more than a day",
        ),
        (
            said(TIME, turn("D1:1", "Ann", "Hi."), turn("D1:1", "Bob", "Ho.")),
            "conv-1: two turns have the dia_id 'D1:1'",
        ),
    ],
)
def test_a_malformed_file_is_refused_with_the_place(broken: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(broken)


@pytest.mark.parametrize("text", ["[{", "[" * 100_000], ids=["cut off", "endlessly deep"])
def test_a_file_that_is_not_json_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"broken\.json: not JSON"):
        read(path)


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "small.json"
    path.write_text(json.dumps([sample()]))
    assert len(read(path)[0].turns) == 6


@pytest.mark.skipif(not REAL_FILE.exists(), reason=f"the data set is not at {REAL_FILE}")
def test_the_real_file_has_the_numbers_of_its_description() -> None:
    conversations = read(REAL_FILE)
    questions = [question for each in conversations for question in each.questions]
    assert sum(len(each.turns) for each in conversations) == 2760
    assert (len(questions), sum(not each.evidence for each in questions)) == (999, 2)
    assert sum(each.category != 5 and bool(each.evidence) for each in questions) == 760
