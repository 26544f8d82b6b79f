from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from chat_endpoint import ChatEndpoint, chat_endpoint
from click.testing import CliRunner

from evals.cli import eval_group
from evals.errors import MeasureError
from evals.examine import Examiner
from evals.places import put
from evals.with_memory import BUNDLED, Answers, Task, difference, measure, read, to_text, to_values
from memory.remote.llm import ChatModel
from tasks.runtime import Runtime

pytestmark = pytest.mark.slow

NOW = datetime(2024, 1, 1, tzinfo=UTC)


def task(*keys: tuple[str, ...]) -> Task:
    return Task(id="t", category="c", question="?", keys=keys, needs=())


def file(**changes: Any) -> dict[str, Any]:
    return {
        "version": "1",
        "memories": [
            {"id": "m", "text": "The user's dentist is Dr Quenneville."},
            {"id": "n", "text": "Figs are sweet."},
        ],
        "tasks": [
            {"id": "a", "category": "fact", "question": "Who is my dentist?", "keys": [["quenneville"]], "needs": ["m"]}
        ],
        **changes,
    }


@pytest.mark.parametrize(
    ("answer", "solved"),
    [
        ("On THURSDAY at 16:40.", True),
        ("On Thursdays, at 4:40 pm", True),
        ("On Thursday at 116:40", False),
        ("On Thursday", False),
        ("", False),
    ],
)
def test_one_word_of_every_key_must_stand_in_the_answer(answer: str, solved: bool) -> None:
    assert task(("thursday", "thursdays"), ("16:40", "4:40")).solved_by(answer) is solved


def test_each_bundled_task_is_answered_by_its_memories_and_not_by_its_question() -> None:
    data, tasks = read(BUNDLED)
    texts = {each.id: each.text for each in data.collections[0].items}
    assert len(tasks) == 20
    assert [each.id for each in tasks if not each.solved_by(" ".join(texts[need] for need in each.needs))] == []
    assert [each.id for each in tasks if each.solved_by(each.question)] == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({}, "tasks.json: version"),
        (file(tasks=[]), "tasks: "),
        (file(memories=[]), "task a: there is no memory 'm'"),
        (file(tasks=[{**file()["tasks"][0], "keys": [[]]}]), r"tasks\.0\.keys\.0"),
        (file(colour="red"), "colour"),
        (file(memories=file()["memories"] * 2), "memory m: another is called so"),
        (file(tasks=file()["tasks"] * 2), "task a: another is called so"),
        (file(memories=[{"id": "m", "text": " "}]), "memory m: text: must not be empty"),
        (file(memories=[{"id": "m", "text": "Tea.", "type": "poem"}]), "memory m: type: must be one of"),
        (file(tasks=[{**file()["tasks"][0], "question": "a\x00?"}]), "task a: question: must not contain NUL"),
        (file(tasks=[{**file()["tasks"][0], "keys": [[" "]]}]), "task a: keys: must not be empty"),
    ],
)
def test_a_malformed_file_is_refused_by_name(tmp_path: Path, wrong: Any, said: str) -> None:
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(wrong))
    with pytest.raises(ValueError, match=said):
        read(path)


def repeat(endpoint: ChatEndpoint) -> None:
    """Let the endpoint say what it was told, as a model does that uses what it gets and makes nothing up."""
    endpoint.said = endpoint.requests[-1]["messages"][1]["content"]


def test_a_model_that_uses_what_it_is_told_solves_more_with_memory(
    newcomer: tuple[Runtime, UUID],
) -> None:
    runtime, user_id = newcomer
    data, tasks = read(BUNDLED)
    examiner = Examiner(runtime, put(runtime, user_id, data, now=NOW), NOW)
    with chat_endpoint() as endpoint:
        endpoint.meanwhile = lambda: repeat(endpoint)
        found = measure(examiner, data, tasks, ChatModel(endpoint.url, "parrot"), top=5)
        prompts = [each["messages"][1]["content"] for each in endpoint.requests]
    assert difference(found.given).low > 0
    # What it repeats is what was found: no more and no less is solved with it, and nothing without it.
    values = to_values(data, found, model="parrot", top=5)
    solved = {name: each["measures"]["solved"]["mean"] for name, each in values["variants"].items()}
    assert solved["without memory"] == 0.0
    assert solved["with memory"] == values["variants"]["with memory"]["measures"]["found"]["mean"] >= 0.9
    assert all(each.count("\n- ") <= 5 for each in prompts)
    assert prompts[1] == "Question: How should I indent a new Python file of the observatory project?"
    assert "multi-step-goal" in to_text(found)


@pytest.fixture
def five(newcomer: tuple[Runtime, UUID], tmp_path: Path) -> Callable[..., Answers]:
    """Five tasks, and who puts them to a model that is asked again at once, twice."""
    path = tmp_path / "five.json"
    path.write_text(json.dumps(file(tasks=[{**file()["tasks"][0], "id": name} for name in "abcde"])))
    data, tasks = read(path)
    runtime, user_id = newcomer
    examiner = Examiner(runtime, put(runtime, user_id, data, now=NOW), NOW)
    return lambda url: measure(examiner, data, tasks, ChatModel(url, "tiny"), top=5, waits=(0.0, 0.0))


def answering(endpoint: ChatEndpoint, statuses: Sequence[int]) -> None:
    """Let the endpoint answer its next requests so, and all after them well."""
    left = iter(statuses)

    def turn() -> None:
        endpoint.status = next(left, 200)

    endpoint.meanwhile = turn


def test_a_model_that_was_away_is_asked_again(five: Callable[..., Answers]) -> None:
    with chat_endpoint() as endpoint:
        answering(endpoint, [500, 200, 503, 429])
        found = five(endpoint.url)
    assert ([each.task.id for each in found.given], dict(found.lost)) == (list("abcde"), {})
    assert len(endpoint.requests) == 10 + 3


def test_a_task_without_both_answers_is_in_no_figure_and_the_others_are(five: Callable[..., Answers]) -> None:
    with chat_endpoint() as endpoint:
        # The second has an answer with memory and none without; what is refused is not asked again.
        answering(endpoint, [200, 200, 200, 400])
        found = five(endpoint.url)
        values = to_values(read(BUNDLED)[0], found, model="tiny", top=5)
    assert [each.task.id for each in found.given] == list("acde")
    assert values["lost"] == {"b": "the model endpoint answered HTTP 400"}
    assert (values["data"]["questions"], list(values["cases"])) == (4, list("acde"))
    told = to_text(found)
    assert "left out of all figures, 1 of 5 tasks:\nb: the model endpoint answered HTTP 400" in told


def test_of_a_model_that_never_answers_nothing_is_said(five: Callable[..., Answers]) -> None:
    with chat_endpoint() as endpoint:
        endpoint.status = 500
        with pytest.raises(MeasureError, match="no task was answered: the model endpoint answered HTTP 500"):
            five(endpoint.url)
    assert len(endpoint.requests) == 9


def test_a_model_that_is_gone_is_left_alone(five: Callable[..., Answers]) -> None:
    with chat_endpoint() as endpoint:
        answering(endpoint, [200, 200, *[500] * 30])
        found = five(endpoint.url)
    assert found.lost == {
        **dict.fromkeys("bcd", "the model endpoint answered HTTP 500"),
        "e": "was not asked, after 3 tasks in a row without an answer",
    }
    assert len(endpoint.requests) == 2 + 3 * 3


def test_without_an_endpoint_it_is_skipped_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COMMONPLACE_LLM_URL", raising=False)
    result = CliRunner().invoke(eval_group, ["tasks"])
    assert (result.exit_code, result.output.startswith("Skipped: no language model to ask")) == (0, True)


def test_the_command_keeps_the_figures_and_shows_what_was_not_solved(
    monkeypatch: pytest.MonkeyPatch, kept: Path, tmp_path: Path
) -> None:
    path = tmp_path / "few.json"
    path.write_text(json.dumps(file()))
    with chat_endpoint() as endpoint:
        endpoint.said = "I do not know."
        monkeypatch.setenv("COMMONPLACE_LLM_URL", endpoint.url)
        result = CliRunner().invoke(eval_group, ["tasks", str(path), "--top", "1"])
    assert result.exit_code == 0, result.output
    assert "a: I do not know." in result.stdout
    (run,) = [json.loads(each.read_text()) for each in (kept / "evals").iterdir()]
    assert (run["variants"]["with memory"]["measures"]["solved"]["mean"], run["top"]) == (0.0, 1)
    assert "I do not know" not in json.dumps(run)


def test_a_model_that_says_nothing_has_not_solved_the_task(
    monkeypatch: pytest.MonkeyPatch, kept: Path, tmp_path: Path
) -> None:
    path = tmp_path / "few.json"
    path.write_text(json.dumps(file()))
    with chat_endpoint() as endpoint:
        endpoint.said = "<think>Who could that be?</think>"
        monkeypatch.setenv("COMMONPLACE_LLM_URL", endpoint.url)
        result = CliRunner().invoke(eval_group, ["tasks", str(path)])
    assert (result.exit_code, "a: (nothing)" in result.stdout) == (0, True), result.output


def test_a_run_of_other_tasks_is_refused_before_anybody_is_asked(
    monkeypatch: pytest.MonkeyPatch, kept: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"data": {"kind": "tasks", "name": "x"}, "cases": {"z": {"solved": 1.0}}}))
    with chat_endpoint() as endpoint:
        monkeypatch.setenv("COMMONPLACE_LLM_URL", endpoint.url)
        result = CliRunner().invoke(eval_group, ["tasks", "--against", str(other)])
    assert (result.exit_code, "to compare with" in result.stderr) == (2, True)
    assert not (kept / "evals").exists()
