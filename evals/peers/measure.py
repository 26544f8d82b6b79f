"""Put a data set into systems, ask its questions of all in turn, and note what came."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from evals.dataset import Collection, DataSet, Question
from evals.examine import LIMIT
from evals.guard import guarded
from evals.locomo import memory_text
from evals.peers.catalog import QUIET, Peer
from evals.peers.child import Child, PeerError
from evals.peers.models import Models, models_of
from evals.report import Variant
from evals.scores import Outcome, grouped
from evals.throwaway import temporary_home
from memory.errors import ServerError
from memory.server.embedded import EmbeddedServer

# Asked before anything is measured, so that models are loaded and statements are prepared. No data set has these
# questions.
WARM_UP = ("what was the weather like", "who called the plumber", "where is the umbrella", "when does the shop open")
WARM_UP_ROUNDS = 3
# The pause between two systems: threads of the one before may still be busy for a moment.
REST_SECONDS = 0.02
DATABASE = "peer"
OPEN_SECONDS, STORE_SECONDS, SEARCH_SECONDS = 300.0, 3600.0, 60.0
Progress = Callable[[int], None]
Hits = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search brought, best first: `hits` has for each the ids that it stands for.

    `best` is the highest score among them, in the system's own units; None where it tells none.
    """

    hits: Hits
    milliseconds: float
    best: float | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """A system that has all memories, after `seconds`, in which they were stored and made ready to be found.

    `ask(collection, text)` searches, `finish` returns the other hosts that the system tried to reach. Both raise
    `PeerError`.
    """

    settings: str
    versions: Mapping[str, str]
    seconds: float
    ask: Callable[[str, str], Answer]
    finish: Callable[[], tuple[str, ...]] = tuple


@dataclass(frozen=True, slots=True)
class Contender:
    """A system to be measured. What `start` opens it leaves to the stack; it raises `PeerError` where it fails."""

    name: str
    says: str
    start: Callable[[ExitStack, DataSet, Progress], Ready]


@dataclass(frozen=True, slots=True)
class Found:
    """What a system did; with `error` it could not be measured, and the rest is empty.

    `best` has the best score of each question's hits; see `Answer`.
    """

    name: str
    says: str
    settings: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    variant: Variant | None = None
    stored: int = 0
    store_seconds: float = 0.0
    strangers: tuple[str, ...] = ()
    error: str | None = None
    best: tuple[float | None, ...] = ()

    @property
    def rate(self) -> float | None:
        """Return the memories stored and made searchable in a second."""
        return self.stored / self.store_seconds if self.variant and self.store_seconds else None


def part_of(data: DataSet, *, collections: int | None = None, questions: int | None = None) -> DataSet:
    """Return the first collections with their questions, at most so many, evenly spread; those kept apart are left out.

    What is kept apart has no right answer, and is no part of any mean.
    """
    kept = data.collections[:collections]
    names = {each.name for each in kept}
    asked = [each for each in data.questions if each.collection in names and not each.apart]
    if questions is not None and questions < len(asked):
        asked = [asked[number * len(asked) // questions] for number in range(questions)]
    return replace(data, collections=kept, questions=tuple(asked))


def memories_of(collection: Collection) -> list[dict[str, Any]]:
    """Return what a system is given of a collection: the very texts that are stored here."""
    sessions = collection.sessions or {}
    if collection.talk is None:
        return [
            {
                "id": each.id,
                "text": each.text,
                "speaker": None,
                "date": each.created_at.isoformat() if each.created_at else None,
                "session": sessions.get(each.id),
            }
            for each in collection.items
        ]
    return [
        {
            "id": each.dia_id,
            "text": memory_text(each),
            "speaker": each.speaker,
            "date": each.said_at.isoformat(),
            "session": sessions.get(each.dia_id),
        }
        for each in collection.talk.turns
        if each.text.strip()
    ]


class Same:
    """Which ids of a collection carry the same text: whoever finds one of them has found them all."""

    def __init__(self, memories: Sequence[Mapping[str, Any]]) -> None:
        by_text: dict[str, list[str]] = {}
        for each in memories:
            by_text.setdefault(" ".join(each["text"].lower().split()), []).append(each["id"])
        self.groups = {one: tuple(ids) for ids in by_text.values() for one in ids}
        self.holders = {one: ids[0] for one, ids in self.groups.items()}

    def all_of(self, hit: Sequence[str]) -> tuple[str, ...]:
        """Return the ids of a hit and of all that say the same."""
        return tuple(dict.fromkeys(each for one in hit for each in self.groups[one]))


def outcome_of(question: Question, collection: Collection, same: Same, hits: Hits, milliseconds: float) -> Outcome:
    """Return what a system brought, at most `LIMIT` hits, each the ids that it stands for.

    Raises `PeerError` for an id that the system was never given for this user.
    """
    if unknown := [each for hit in hits for each in hit if each not in same.groups]:
        raise PeerError(f"question {question.id} brought {unknown[0]!r}, which is none of the user's memories")
    found = tuple(dict.fromkeys(same.all_of(hit) for hit in hits))[:LIMIT]
    sessions = collection.sessions or {}
    return Outcome(
        question,
        found,
        grouped(question.expected, same.holders),
        milliseconds,
        sessions=frozenset(sessions[each] for each in question.expected if each in sessions),
        found_sessions=tuple(frozenset(sessions[one] for one in hit if one in sessions) for hit in found),
    )


def measure_all(contenders: Sequence[Contender], data: DataSet, on_progress: Progress) -> list[Found]:
    """Store the data set in each, one after the other, then ask each question of all in turn.

    The order changes with each question: so what else the machine does slows all alike, and so does what a neighbour
    leaves behind. A contender that fails is ended at once, and the others go on.
    """
    same = {each.name: Same(memories_of(each)) for each in data.collections}
    collections = {each.name: each for each in data.collections}
    with ExitStack() as stack:
        runs = [_Run(each, stack.enter_context(ExitStack())) for each in contenders]
        for run in runs:
            run.attempt(partial(run.prepare, data, on_progress))
        chance = random.Random(0)
        for question in data.questions:
            name = question.collection
            for run in chance.sample(runs, len(runs)):
                time.sleep(REST_SECONDS)
                run.attempt(partial(run.ask, question, collections[name], same[name]))
                on_progress(1)
        for run in runs:
            run.attempt(run.finish)
    stored = sum(len(memories_of(each)) for each in data.collections)
    return [run.found(stored) for run in runs]


class _Run:
    """A contender on its way: `stack` is closed when it fails."""

    def __init__(self, contender: Contender, stack: ExitStack) -> None:
        self._contender = contender
        self._stack = stack
        self._ready: Ready | None = None
        self._outcomes: list[Outcome] = []
        self._best: list[float | None] = []
        self._strangers: tuple[str, ...] = ()
        self._error: str | None = None

    def attempt(self, step: Callable[[], None]) -> None:
        """Take a step, unless an earlier one failed."""
        if self._error is not None:
            return
        try:
            step()
        except (PeerError, ServerError) as error:
            self._error = str(error)
            self._stack.close()

    def prepare(self, data: DataSet, on_progress: Progress) -> None:
        """Start it, store everything, and warm it up."""
        self._ready = self._contender.start(self._stack, data, on_progress)
        for number, text in enumerate(WARM_UP * WARM_UP_ROUNDS):
            self._ready.ask(data.collections[number % len(data.collections)].name, text)

    def ask(self, question: Question, collection: Collection, same: Same) -> None:
        """Ask a question and note what came."""
        assert self._ready is not None
        got = self._ready.ask(collection.name, question.text)
        self._outcomes.append(outcome_of(question, collection, same, got.hits, got.milliseconds))
        self._best.append(got.best)

    def finish(self) -> None:
        """Let it end."""
        assert self._ready is not None
        self._strangers = self._ready.finish()

    def found(self, stored: int) -> Found:
        """Return what came of it."""
        name, says = self._contender.name, self._contender.says
        if self._error is not None or self._ready is None:
            return Found(name, says, error=self._error)
        ready, variant = self._ready, Variant(name, tuple(self._outcomes))
        found = Found(name, says, ready.settings, ready.versions, variant, stored, ready.seconds, self._strangers)
        return replace(found, best=tuple(self._best))


def peer_contender(peer: Peer, environments: Path) -> Contender:
    """Return a peer as one that can be measured, installed or not."""
    return Contender(peer.name, peer.says, partial(_start, peer, environments))


def _start(peer: Peer, environments: Path, stack: ExitStack, data: DataSet, on_progress: Progress) -> Ready:
    """Run a peer in a process of its own, with a database of its own where it needs one, and give it all memories."""
    python, models = peer.python(environments), models_of(environments)
    if not python.exists() or not models.onnx.exists():
        raise PeerError(f"is not installed in {environments}: commonplace eval peers-install")
    folder = stack.enter_context(temporary_home())
    stack.enter_context(guarded(folder))
    address = stack.enter_context(_database(folder)) if peer.postgres else None
    home = folder / "home"
    home.mkdir()
    models.furnish(home)
    command = [str(python.absolute()), *peer.adapter]
    child = stack.enter_context(Child(command, _environment(peer, home, models), folder / "log"))
    said = child.ask("open", OPEN_SECONDS, **_options(peer, home, models), postgres=address)
    users, seconds = {each.name: f"user-{number}" for number, each in enumerate(data.collections)}, 0.0
    for each in data.collections:
        took = child.ask("store", STORE_SECONDS, user=users[each.name], memories=memories_of(each))
        seconds += took["seconds"]
        on_progress(each.size)

    def ask(collection: str, text: str) -> Answer:
        got = child.ask("search", SEARCH_SECONDS, user=users[collection], text=text, limit=LIMIT)
        return Answer([[each] for each in got["ids"]], got["milliseconds"], got["best"])

    def finish() -> tuple[str, ...]:
        return tuple(child.ask("close", SEARCH_SECONDS)["strangers"])

    return Ready(said["settings"], said["versions"], seconds, ask, finish)


@contextmanager
def _database(home: Path) -> Iterator[str]:
    server = EmbeddedServer(home, DATABASE)
    try:
        yield server.url
    finally:
        server.release()


def _environment(peer: Peer, home: Path, models: Models) -> dict[str, str]:
    ours = {"HOME": str(home), "PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8"}
    filled = {
        name: value.format(home=home, model=models.folder, onnx=models.onnx) for name, value in peer.settings.items()
    }
    return {**ours, **QUIET, **models.environment(home), **filled}


def _options(peer: Peer, home: Path, models: Models) -> dict[str, Any]:
    return {
        "home": str(home),
        "model": str(models.folder),
        "onnx": str(models.onnx),
        "dimensions": models.dimensions,
        "options": dict(peer.options),
    }
