from __future__ import annotations

import json
import os
import re
import signal
import sys
from dataclasses import replace
from math import inf
from pathlib import Path
from uuid import uuid4

import psutil
import pytest
from click.testing import CliRunner
from evals_data import sample

from evals.cli import eval_group
from evals.dataset import Collection, DataSet, Item, Question
from evals.locomo import parse
from evals.locomo_set import to_data_set
from evals.peers import measure
from evals.peers.catalog import ADAPTERS, ENVIRONMENTS, NAMES, PEERS, REQUIREMENTS, Peer
from evals.peers.child import Child, PeerError
from evals.peers.compare import Comparison, to_text, to_values
from evals.peers.cutoff import as_silent
from evals.peers.measure import Found, Same, measure_all, memories_of, outcome_of, part_of, peer_contender
from evals.report import Variant
from memory.ending import ending_at_sigterm

pytestmark = pytest.mark.slow

MODULES = Path(__file__).with_name("peers")
REAL = "COMMONPLACE_TEST_PEERS"


def words_peer(name: str = "words", **options: str) -> Peer:
    return Peer(name, "words", "words_peer", "ranks by shared words", options, {"PYTHONPATH": str(MODULES)})


@pytest.fixture
def environments(tmp_path: Path) -> Path:
    """Where the peer of the tests is installed: the interpreter without any package, and something like a model."""
    (tmp_path / "words" / "bin").mkdir(parents=True)
    (tmp_path / "words" / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.onnx").touch()
    return tmp_path


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def running(word: str) -> list[psutil.Process]:
    return [each for each in psutil.process_iter(["cmdline"]) if word in (each.info["cmdline"] or ())]


@pytest.fixture(scope="module")
def data() -> DataSet:
    return part_of(to_data_set(parse([sample()])))


def run(data: DataSet, environments: Path, **options: str) -> Found:
    return measure_all([peer_contender(words_peer(**options), environments)], data, lambda _steps: None)[0]


def test_a_peer_is_asked_and_scored_like_ours(data: DataSet, environments: Path) -> None:
    steps: list[int] = []
    [found] = measure_all([peer_contender(words_peer(), environments)], data, steps.append)
    assert (found.error, found.settings, found.strangers) == (None, "shared words", ())
    assert found.variant is not None
    assert sum(steps) == data.size + len(data.questions)
    # "adopt" and "Ann" stand in other turns as well; "Elm Street" in one alone.
    assert found.variant.cases["conv-1/2"]["MRR"] == 1.0
    assert found.variant.latency.count == len(data.questions) == 4
    assert found.stored == 5  # One of the six turns is empty.
    assert found.rate is not None


def test_a_text_that_was_said_twice_is_one_right_answer(data: DataSet, environments: Path) -> None:
    variant = run(data, environments).variant
    assert variant is not None
    twice = next(each for each in variant.outcomes if each.question.id == "conv-1/4")
    # "Bob: Wow, how lovely!" and "Bob: wow, how lovely!": either stands for both.
    assert twice.items == {frozenset({"D1:2", "D2:2"})}
    assert twice.found[0] == ("D1:2", "D2:2")
    assert len(set(twice.found)) == len(twice.found)
    assert twice.found_sessions[0] == {"1", "2"}


def test_loose_memories_without_a_date_are_given_as_they_are(environments: Path) -> None:
    items = (Item("a", "The spare key is under the flowerpot"), Item("b", "The cat is called Miso"))
    question = Question("q", "places", "Where is the spare key?", "home", frozenset({"a"}))
    nothing = Question("n", "nothing", "Zanzibar", "home", frozenset())
    data = DataSet("jsonl", "home", (Collection("home", items),), (question, nothing))
    assert memories_of(data.collections[0])[0] == {
        "id": "a",
        "text": "The spare key is under the flowerpot",
        "speaker": None,
        "date": None,
        "session": None,
    }
    variant = run(data, environments).variant
    assert variant is not None
    assert variant.cases == {
        "q": {**dict.fromkeys(("recall@1", "recall@5", "recall@10", "hit@5", "hit@10", "MRR", "nDCG@10"), 1.0)},
        "n": {"abstention": 1.0},
    }


@pytest.mark.parametrize(
    ("mood", "said"),
    [
        ("forgetful", "`store` failed: LookupError: the shelf is gone"),
        ("dying", "ended during `store`: this line is for people / out of memory"),
        ("inventive", "'no-such-id', which is none of the user's memories"),
    ],
)
def test_what_breaks_a_peer_is_told_and_nothing_is_measured(
    data: DataSet, environments: Path, mood: str, said: str
) -> None:
    found = run(data, environments, mood=mood)
    assert said in str(found.error)
    assert found.variant is None


def test_a_peer_tells_the_best_score_of_each_answer(data: DataSet, environments: Path) -> None:
    texts = {each["id"]: each["text"] for each in memories_of(data.collections[0])}
    found = run(data, environments)
    assert found.variant is not None
    shared = [
        max((len(words(each.question.text) & words(texts[one])) for hit in each.found for one in hit), default=None)
        for each in found.variant.outcomes
    ]
    assert list(found.best) == shared
    assert set(run(data, environments, mood="unscored").best) == {None}


def test_a_peer_that_fails_in_the_middle_takes_no_other_along(data: DataSet, environments: Path) -> None:
    moods = {"first": "", "second": "inventive", "third": ""}
    peers = [peer_contender(words_peer(name, mood=mood), environments) for name, mood in moods.items()]
    first, second, third = measure_all(peers, data, lambda _steps: None)
    assert second.error
    assert first.variant
    assert third.variant
    assert first.variant.cases == third.variant.cases
    assert first.variant.latency.count == third.variant.latency.count == len(data.questions)


def test_a_silent_peer_is_given_up_and_all_that_it_started_is_ended(
    data: DataSet, environments: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "SEARCH_SECONDS", 0.5)
    monkeypatch.setattr("evals.peers.child.CLOSE_SECONDS", 0.5)
    word = f"left-behind-{uuid4()}"
    found = run(data, environments, mood="silent", word=word)
    assert found.error == "`search` took longer than 0.5 s"
    assert not running(word)


def test_a_peer_that_looks_for_a_network_finds_none_and_is_named(data: DataSet, environments: Path) -> None:
    found = run(data, environments, mood="curious")
    assert found.strangers == ("192.0.2.1", "a.test")
    assert found.settings == "PermissionError PermissionError"
    assert found.variant is not None


def test_a_peer_that_is_not_installed_says_how_to_install_it(data: DataSet, tmp_path: Path) -> None:
    found = run(data, tmp_path)
    assert "is not installed" in str(found.error)
    assert "peers-install" in str(found.error)


def test_an_answer_that_is_no_object_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "child.py").write_text("input(); print('[]'); input(); print('{')\ninput()")
    with Child([sys.executable, str(tmp_path / "child.py")], os.environ, tmp_path / "log") as child:
        for _ in range(2):
            with pytest.raises(PeerError, match="no JSON object"):
                child.ask("open", 30)
    with pytest.raises(PeerError, match="ended"):
        child.ask("open", 30)


def test_a_command_that_is_told_to_end_takes_its_peer_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evals.peers.child.CLOSE_SECONDS", 0.5)
    command = [sys.executable, "-c", "import time; time.sleep(600)", word := f"tidy-{uuid4()}"]
    before = signal.getsignal(signal.SIGTERM)

    def told_to_end() -> None:
        with ending_at_sigterm(), Child(command, os.environ, tmp_path / "log") as child:
            os.kill(os.getpid(), signal.SIGTERM)
            child.ask("open", 600)

    with pytest.raises(SystemExit):
        told_to_end()
    assert signal.getsignal(signal.SIGTERM) is before
    assert not running(word)


def test_a_part_is_the_first_users_and_evenly_spread_questions(data: DataSet) -> None:
    items = (Item("a", "one"),)
    questions = tuple(
        Question(f"{user}{n}", "c", "?", user, frozenset({"a"}), apart=n == 9) for user in "xy" for n in range(10)
    )
    whole = DataSet("jsonl", "both", (Collection("x", items), Collection("y", items)), questions)
    assert len(part_of(whole).questions) == 18
    assert {each.collection for each in part_of(whole, collections=1).questions} == {"x"}
    spread = part_of(whole, questions=6).questions
    assert [each.id for each in spread] == ["x0", "x3", "x6", "y0", "y3", "y6"]
    assert len(part_of(whole, questions=500).questions) == 18


def found_of(name: str, data: DataSet, hits: list[list[list[str]]], milliseconds: float) -> Found:
    collection = data.collections[0]
    same = Same(memories_of(collection))
    outcomes = [
        outcome_of(question, collection, same, hit, milliseconds)
        for question, hit in zip(data.questions, hits, strict=True)
    ]
    return Found(name, f"says {name}", "settings", {"pkg": "1.0"}, Variant(name, tuple(outcomes)), 4, 2.0)


@pytest.fixture
def comparison() -> Comparison:
    items = tuple(Item(str(n), f"memory {n}") for n in range(8))
    questions = tuple(Question(f"q{n}", "c", "?", "c", frozenset({str(n)})) for n in range(8))
    data = DataSet("jsonl", "eight", (Collection("c", items),), questions)
    mine = found_of("commonplace", data, [[[str(n)]] for n in range(8)], 10.0)
    worse = found_of("slow", data, [[[str(n)] for n in range(6)]] * 8, 30.0)
    better = replace(found_of("fast", data, [[[str(n)]] for n in range(8)], 5.0), strangers=("example.org",))
    return Comparison(data, mine, (worse, better, Found("broken", "says broken", error="no such luck")))


def test_differences_are_ours_less_theirs_and_a_peer_ahead_is_named(comparison: Comparison) -> None:
    assert comparison.differences["slow"]["recall@10"].mean == 0.25
    assert comparison.differences["fast"]["recall@10"].mean == 0.0
    assert comparison.ahead == ["fast is ahead in p50, p95"]
    swapped = Comparison(comparison.data, comparison.peers[0], (comparison.ours,))
    assert swapped.ahead == ["commonplace is ahead in MRR, nDCG@10, p50, p95"]
    few = [
        replace(each, outcomes=each.outcomes[3:8]) for each in (swapped.ours.variant, comparison.ours.variant) if each
    ]
    mine, theirs = (replace(comparison.ours, name=each.name, variant=each) for each in few)
    # Five differences are all of one sign by chance in one of sixteen cases.
    assert Comparison(comparison.data, mine, (theirs,)).ahead == ["commonplace is ahead in p50, p95"]


@pytest.fixture
def noisy() -> Found:
    """A system that always answers: two questions have an answer, which it scores 0.9 and 0.4, four have none."""
    items = tuple(Item(str(n), f"memory {n}") for n in range(2))
    expected = [frozenset({"0"}), frozenset({"1"}), *[frozenset[str]()] * 4]
    questions = tuple(Question(f"q{n}", "c", "?", "c", each) for n, each in enumerate(expected))
    data = DataSet("jsonl", "six", (Collection("c", items),), questions)
    found = found_of("noisy", data, [[["0"]], [["1"]], *[[["0"]]] * 3, []], 5.0)
    return replace(found, best=(0.9, 0.4, 0.2, 0.5, 0.7, None))


@pytest.mark.parametrize(
    ("abstention", "above", "recall", "silent"),
    [
        (0.0, -inf, 1.0, 0.25),  # The one that found nothing is silent anyway.
        (0.25, -inf, 1.0, 0.25),
        (0.26, 0.2, 1.0, 0.5),
        (0.75, 0.5, 0.5, 0.75),
        (1.0, 0.7, 0.5, 1.0),
    ],
)
def test_a_cutoff_keeps_as_many_questions_silent_as_wanted_and_no_more(
    noisy: Found, abstention: float, above: float, recall: float, silent: float
) -> None:
    cut = as_silent(noisy, abstention)
    assert cut is not None
    assert (cut.score, cut.variant.mean("recall@5"), cut.variant.mean("abstention")) == (above, recall, silent)


def test_there_is_no_cutoff_without_scores_or_without_a_question_that_has_no_answer(noisy: Found) -> None:
    assert noisy.variant is not None
    answered = Variant("noisy", noisy.variant.outcomes[:2])
    assert as_silent(replace(noisy, best=(0.9, 0.4, 0.2, None, 0.7, None)), 0.5) is None
    assert as_silent(replace(noisy, variant=answered, best=noisy.best[:2]), 0.5) is None
    assert as_silent(Found("broken", "says broken", error="no such luck"), 0.5) is None


def test_a_peer_is_also_held_against_ours_when_it_is_as_silent(noisy: Found) -> None:
    assert noisy.variant is not None
    mine = [replace(each, found=each.found if each.question.expected else ()) for each in noisy.variant.outcomes]
    silent = replace(noisy, name="commonplace", variant=Variant("commonplace", tuple(mine)), best=())
    items = (Collection("c", tuple(Item(str(n), f"memory {n}") for n in range(2))),)
    data = DataSet("jsonl", "six", items, tuple(each.question for each in mine))
    found = Comparison(data, silent, (noisy,))
    values = to_values(found)
    assert values["as_silent"]["noisy"]["above"] == 0.7
    assert values["as_silent"]["noisy"]["measures"]["recall@5"]["mean"] == 0.5
    assert values["as_silent"]["noisy"]["differences"]["recall@5"]["mean"] == 0.5
    assert "as silent as ours" in to_text(found)
    assert json.dumps(values, allow_nan=False)
    assert Comparison(data, replace(noisy, name="commonplace"), (silent,)).cuts == {}


def test_the_report_has_every_system_and_says_which_could_not_run(comparison: Comparison) -> None:
    said = to_text(comparison)
    assert "broken: could not run: no such luck" in said
    assert "fast: tried to reach example.org, and was refused" in said
    assert "slow: says slow; settings; pkg 1.0" in said
    slow = next(line for line in said.splitlines() if line.startswith("slow") and "30.00" in line)
    assert slow.split() == ["slow", "30.00", "30.00", "3.00", "3.00", "2.00"]
    values = json.loads(json.dumps(to_values(comparison)))
    assert values["systems"]["broken"] == {"says": "says broken", "error": "no such luck"}
    assert values["systems"]["fast"]["cases"]["q3"]["MRR"] == 1.0
    assert "memory 1" not in json.dumps(values)


def test_the_command_measures_ours_and_each_peer_and_names_what_is_missing(environments: Path) -> None:
    file, out = environments / "conversation.json", environments / "out.json"
    file.write_text(json.dumps([sample()]))
    # An interpreter that knows one module only, whatever it is told to run.
    python = environments / "mempalace" / "bin" / "python"
    python.parent.mkdir(parents=True)
    real = environments / "words" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={MODULES} exec {real} "$1" words_peer\n')
    python.chmod(0o755)
    arguments = ["peers", str(file), "--peer", "mem0", "--peer", "mempalace", "--environments", str(environments)]
    done = CliRunner().invoke(eval_group, [*arguments, "--json", str(out)])
    assert done.exit_code == 0, done.output
    assert "mem0: could not run: is not installed" in done.output
    values = json.loads(out.read_text())
    assert values["data"]["questions"] == 4
    mine = values["systems"]["commonplace"]
    assert mine["measures"]["recall@10"]["mean"] == 1.0
    assert mine["latency_ms"]["count"] == 4
    assert mine["stored"] == 5
    assert values["systems"]["mempalace"]["settings"] == "shared words"
    assert values["differences"]["mempalace"]["recall@10"]["cases"] == 4


def test_a_comparison_with_nobody_is_none(comparison: Comparison, tmp_path: Path) -> None:
    assert "no peer is ahead" not in to_text(Comparison(comparison.data, comparison.ours, comparison.peers[2:]))
    file = tmp_path / "conversation.json"
    file.write_text(json.dumps([sample()]))
    done = CliRunner().invoke(eval_group, ["peers", str(file), "--peer", "mem0", "--environments", str(tmp_path)])
    assert (done.exit_code, "could not run: is not installed" in done.output) == (1, True)
    assert "no peer could be measured" in done.stdout


def test_every_peer_has_an_adapter_and_ranges_of_versions() -> None:
    assert len(set(NAMES)) == len(NAMES)
    for peer in PEERS:
        assert (ADAPTERS / f"{peer.module}.py").is_file()
    for name in ENVIRONMENTS:
        lines = (REQUIREMENTS / f"{name}.txt").read_text().splitlines()
        needed = [line for line in lines if line and not line.startswith(("#", "torch"))]
        assert needed
        assert [line for line in needed if ",<" not in line] == []


def test_an_environment_that_cannot_be_made_ends_the_command_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.onnx").touch()
    (tmp_path / "langgraph" / "bin").mkdir(parents=True)
    (tmp_path / "langgraph" / "bin" / "python").symlink_to("/bin/false")
    done = CliRunner().invoke(eval_group, ["peers-install", "--peer", "langgraph", "--environments", str(tmp_path)])
    assert done.exit_code == 1
    assert "failed" in done.output.splitlines()[-1]


@pytest.fixture
def installed() -> Path:
    folder = os.environ.get(REAL)
    if not folder:
        pytest.skip(f"{REAL} names no folder of peers; commonplace eval peers-install makes one")
    return Path(folder)


@pytest.mark.parametrize("peer", PEERS, ids=NAMES)
def test_an_installed_peer_finds_what_was_said(peer: Peer, data: DataSet, installed: Path) -> None:
    if not peer.python(installed).exists():
        pytest.skip(f"{peer.environment} is not installed in {installed}")
    [found] = measure_all([peer_contender(peer, installed)], data, lambda _steps: None)
    assert (found.error, found.strangers) == (None, ())
    assert found.variant is not None
    assert found.variant.cases["conv-1/2"]["recall@10"] == 1.0
