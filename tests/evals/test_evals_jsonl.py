from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from time import thread_time
from typing import Any

import pytest
from click.testing import CliRunner
from evals_data import sample

from evals import golden, with_memory
from evals.cli import eval_group
from evals.cli_output import Output
from evals.datasets import LANGUAGES, is_held_out, load
from evals.jsonl import parse
from evals.persons import UNSEEN
from evals.runs import Run

# As some libraries write ids: what is stored names its sources in small letters.
CAPITALS = "019B76DA-A800-7000-8000-00000000000A"
DOCS = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text()


def memory(name: str, text: str = "Ann has a cat", **more: Any) -> str:
    return json.dumps({"kind": "memory", "id": name, "text": text, **more})


def question(text: str = "Who has a cat?", **more: Any) -> str:
    return json.dumps({"kind": "question", "text": text, **more})


def test_memories_of_each_user_are_a_collection_of_their_own() -> None:
    found = parse(
        [memory("m1", user="ann"), "", memory("m1", user="bob"), question(relevant=["m1"], user="bob", category="pets")]
    )
    assert [(each.name, each.size) for each in found.collections] == [("ann", 1), ("bob", 1)]
    asked = found.questions[0]
    assert (asked.collection, asked.category, asked.expected) == ("bob", "pets", frozenset({"m1"}))


def test_many_users_are_read_in_the_time_of_one() -> None:
    def seconds(users: int) -> float:
        lines = [memory(f"m{number}", user=f"u{number % users}") for number in range(4_000)]
        start = thread_time()
        parse([*lines, question(nothing=True, user="u0")])
        return thread_time() - start

    # The least of three, as one of them may pay for a collection of the garbage of all tests before.
    assert min(seconds(4_000) for _ in range(3)) < 6 * seconds(1)


def test_a_question_may_stand_before_its_memory() -> None:
    assert parse([question(relevant=["m1"]), memory("m1")]).questions[0].id == "line 1"


def test_questions_called_by_their_lines_are_compared_with_a_warning_after_a_change(
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = [memory("m1"), question(relevant=["m1"]), question("Who has a dog?", nothing=True)]
    before, after = parse(file), parse([memory("m2"), *file])
    old = Run("old.json", {"data": {"name": "jsonl", "lines": before.lines}, "cases": {"line 3": {"MRR": 1.0}}})
    output = Output(None, old, save=False, mlflow=False)
    output.check(parse(file))
    assert capsys.readouterr().err == ""
    output.check(after)
    assert "old.json is of another jsonl, or of one that has changed since" in capsys.readouterr().err
    assert parse([memory("m1"), question(relevant=["m1"], id="q")]).lines == ""


def test_nothing_must_be_said_or_the_question_is_not_scored() -> None:
    found = parse([memory("m1"), question(nothing=True, id="none"), question("And who knows?", id="lost")])
    assert ([each.id for each in found.questions], found.unscored) == (["none"], 1)


def test_a_speaker_stands_before_the_text() -> None:
    items = parse([memory("m1", speaker="Ann"), question(nothing=True)]).collections[0].items
    assert items[0].text == "Ann: Ann has a cat"


def test_memories_with_speaker_session_and_date_are_a_talk() -> None:
    said = {"speaker": "Ann", "date": "2023-05-08"}
    lines = [memory("m1", session="b", **said), memory("m2", session="a", **said), memory("m3", session="b", **said)]
    talk = parse([*lines, question(relevant=["m1"])]).collections[0].talk
    assert talk is not None
    assert [(turn.dia_id, turn.session) for turn in talk.turns] == [("m1", 1), ("m3", 1), ("m2", 2)]


@pytest.mark.parametrize(
    ("date", "moment"),
    [
        ("2023-05-08", datetime(2023, 5, 8, tzinfo=UTC)),
        ("2023-05-08T13:56:00", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("2023-05-08T13:56:00+02:00", datetime(2023, 5, 8, 13, 56, tzinfo=timezone(timedelta(hours=2)))),
    ],
)
def test_dates_may_have_a_time_and_a_zone(date: str, moment: datetime) -> None:
    assert parse([memory("m1", date=date), question(nothing=True)]).collections[0].items[0].created_at == moment


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["{"], "line 1: not JSON"),
        (["[]"], "line 1: the record"),
        (["{}"], "line 1: kind"),
        ([json.dumps({"kind": "note"})], "line 1: kind"),
        ([memory("m1"), json.dumps({"kind": "memory", "id": "m2"})], "line 2: text: Field required"),
        ([memory("m1", " ")], "line 1: text"),
        ([memory("m1", "a\x00b")], "line 1: text"),
        ([memory("m1", "a" * 70_000)], "line 1: text"),
        ([memory(7)], "line 1: id"),  # type: ignore[arg-type]
        ([memory("m1", colour="red")], "line 1: colour"),
        ([memory("m1", date="8 May")], "line 1: date.*'8 May' is not a date"),
        ([memory("m1", date="2999-01-01")], "line 1: date: must not be more than a day in the future"),
        ([memory("m1", type="poem")], "line 1: type: must be one of"),
        ([memory("m1"), memory("m1")], "line 2: id: user 'user' has another memory 'm1'"),
        ([memory("m1"), question(relevant="m1")], "line 2: relevant"),
        ([memory("m1"), question(relevant=["m1"], text="Who\ud800?")], "line 2: text: .*is not valid Unicode text"),
        (["[" * 100_000], "line 1: not JSON"),
        ([memory("m1"), '{"relevant": ["m1"], "relevant": []}'], "line 2: 'relevant' is there twice in one object"),
        ([memory("m1"), question(relevant=["m2"])], "line 2: relevant: user 'user' has no memory 'm2'"),
        ([memory("m1"), question(relevant=["m1"], user="ann")], "line 2: user: 'ann' has no memory"),
        ([memory("m1"), question(relevant=["m1"], nothing=True)], "line 2: nothing"),
        ([memory("m1"), question(nothing="yes")], "line 2: nothing"),
        ([memory("m1"), *[question(nothing=True, id="q")] * 2], "line 3: id: another question is called 'q'"),
        ([memory("m1"), question()], "there is no question with evidence"),
        ([], "there is no question"),
    ],
)
def test_what_is_wrong_is_told_by_line_and_field(lines: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse(lines)


@pytest.mark.parametrize(
    ("read_file", "text"),
    [
        (load, '{"version": "1", "setups": {"ann": [{"content": "Tea."}], "ann": []}, "cases": []}'),
        (load, '[{"sample_id": "a", "conversation": {"session_1": [], "session_1": []}}]'),
        (with_memory.read, '{"version": "1", "memories": [], "memories": [], "tasks": []}'),
    ],
    ids=["golden", "locomo", "tasks"],
)
def test_what_is_there_twice_is_not_left_out_in_silence(
    tmp_path: Path, read_file: Callable[[Path], object], text: str
) -> None:
    path = tmp_path / "twice.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"twice\.json: '(ann|session_1|memories)' is there twice in one object"):
        read_file(path)


def test_the_example_of_the_docs_is_one() -> None:
    found = parse(DOCS.partition("```json\n")[2].partition("```")[0].splitlines())
    assert [each.size for each in found.collections] == [1]
    assert [len(each.expected) for each in found.questions] == [1, 0]


@pytest.mark.parametrize("command", sorted(eval_group.commands))
def test_the_docs_list_every_command(command: str) -> None:
    assert f"| `commonplace eval {command}" in DOCS


@pytest.mark.parametrize("command", sorted(eval_group.commands))
def test_the_docs_say_of_which_commands_runs_are_kept(command: str) -> None:
    kept = DOCS.partition("## Runs are kept\n")[2].partition(" is a JSON file")[0]
    options = {each.name for each in eval_group.commands[command].params}
    assert {"against", "save"} <= options if f"`{command}`" in kept else not {"against", "save"} & options


@pytest.mark.parametrize("file", ["golden_held_out", "near_misses"])
def test_what_it_does_badly_has_the_figures_of_the_tables(file: str) -> None:
    row = DOCS.partition(f"| `evals/{file}.json`, ")[2].partition("\n")[0]
    abstention = row.rstrip(" |").rpartition("| ")[2].split()[0]
    assert abstention in DOCS.partition("**Keeping silent**")[2].partition("\n- ")[0]


def test_the_kind_of_a_file_is_told_by_what_is_in_it(tmp_path: Path) -> None:
    lines, conversations = tmp_path / "a.json", tmp_path / "b.json"
    lines.write_text(f"{memory('m1')}\n{question(nothing=True)}\n")
    conversations.write_text(json.dumps([sample()]))
    assert [load(each).kind for each in (lines, conversations, golden.BUNDLED)] == ["jsonl", "locomo", "golden"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n "version": "1"\n "cases": []\n}', "not JSON: .* line 3 column 2"),
        ('[{"sample_id": "a"} {}]', "not JSON: .* line 1 column 21"),
        ("", "not JSON"),
        (f"\n{memory('m1')}\nnonsense\n", "line 3: not JSON"),
        ("5", "not an object with cases"),
    ],
)
def test_what_is_no_json_is_told_where_it_breaks_off(tmp_path: Path, text: str, said: str) -> None:
    (file := tmp_path / "a.json").write_text(text)
    with pytest.raises(ValueError, match=rf"a\.json: {said}"):
        load(file)


@pytest.mark.parametrize("bundled", [golden.BUNDLED, with_memory.BUNDLED, LANGUAGES, UNSEEN / "60.txt", None])
def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path, bundled: Path | None) -> None:
    if bundled is None:
        (bundled := tmp_path / "locomo.json").write_text(json.dumps([sample()]))
    read = with_memory.read if bundled == with_memory.BUNDLED else load
    (folder := tmp_path / "marked").mkdir()
    (marked := folder / bundled.name).write_bytes(codecs.BOM_UTF8 + bundled.read_bytes())
    assert read(marked) == read(bundled)


@pytest.mark.parametrize("kept", ["golden_held_out.json", "languages.jsonl", "unseen/talks_held_out.jsonl"])
def test_what_is_held_out_is_known_under_any_name(tmp_path: Path, kept: str) -> None:
    copy = tmp_path / "innocent.json"
    copy.write_bytes((golden.BUNDLED.parent / kept).read_bytes())
    assert is_held_out(copy)


def test_what_is_for_development_is_not_taken_for_held_out() -> None:
    assert [each for each in (golden.BUNDLED, golden.NEAR_MISSES, UNSEEN / "talks.jsonl") if is_held_out(each)] == []


def test_the_command_measures_keeps_and_ends_with_the_verdict(tmp_path: Path, kept: Path) -> None:
    file = tmp_path / "mine.jsonl"
    said = {"speaker": "Ann", "session": "one", "date": "2023-05-08", "user": "ann"}
    file.write_text(
        "\n".join(
            [
                memory("m1", "The spare key is under the third flowerpot", **said),
                memory("m2", "My dentist is called Dr Okonjo", **said),
                memory("m1", "Bob keeps bees on the roof", user="bob"),
                question("Where is the spare key?", relevant=["m1"], user="ann", category="places"),
                memory(CAPITALS, "Bob plays the cello on Tuesdays", user="bob"),
                question("Who keeps bees?", relevant=["m1"], user="bob"),
                question("What does Bob play?", relevant=[CAPITALS], user="bob"),
                question("Who keeps bees on the roof?", nothing=True, user="ann"),
            ]
        )
    )
    result = CliRunner().invoke(eval_group, ["jsonl", str(file), "--all-policies"])
    assert result.exit_code == 0, result.output
    assert result.stdout.rstrip().endswith("PASS")
    (run,) = [json.loads(each.read_text()) for each in (kept / "evals").iterdir()]
    means = {name: each["mean"] for name, each in run["variants"]["balanced"]["measures"].items()}
    wanted = ("recall@1", "session recall@10", "abstention", "token budget", "safety")
    assert [means[name] for name in wanted] == [1.0] * 5
    assert {"keyword alone", "bm25s (reference)"} <= run["variants"].keys()
    assert run["settings"]["policies"]["balanced"]["fusion"] == "convex"
    assert run["data"]["lines"] == load(file).lines != ""
    assert "flowerpot" not in json.dumps(run)


def test_a_bad_line_ends_the_command(tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(memory("m1") + "\nnonsense\n")
    result = CliRunner().invoke(eval_group, ["jsonl", str(file)])
    assert (result.exit_code, f"{file}: line 2: not JSON" in result.output) == (1, True)


def test_a_file_of_another_kind_is_told_its_command() -> None:
    result = CliRunner().invoke(eval_group, ["jsonl", str(golden.BUNDLED)])
    assert (result.exit_code, "is a data set for `eval golden`" in result.output) == (1, True)
