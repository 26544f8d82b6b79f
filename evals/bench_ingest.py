"""How much of the speed of the bare model, and of `COPY`, is left when texts are remembered and embedded for real."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from statistics import median
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg
from psycopg import sql

from evals.stock import memory_row, model_of
from evals.tables import table
from evals.timing import timed
from memory.drafts.drafts import Draft
from memory.embedding.base import Embedder
from memory.embedding.bundled import MINILM
from memory.models import Space
from memory.portions import portions
from memory.spaces.spaces import create_space
from memory.storage.database import user_session
from memory.writing.remember import remember_many
from tasks.runtime import Runtime

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

SPACE, BARE_SPACE = "bench-ingest", "bench-bare"
BATCH = 500
WARM_UP = 64
ROUNDS = 4
LEAST_RATIO = 0.9


@dataclass(frozen=True, slots=True)
class Round:
    """Seconds for the same texts.

    `library` is sentence-transformers by itself, `bare` the model as the worker runs it, `copied` a bare `COPY` of the
    same rows by the owner of the table, `remembered` the write path, and `embedded` the worker's loop, which claims,
    embeds and stores.
    """

    library: float
    bare: float
    copied: float
    remembered: float
    embedded: float

    @property
    def worker(self) -> float:
        """Return the rate of the worker over that of the bare model."""
        return self.bare / self.embedded

    @property
    def whole(self) -> float:
        """Return the rate of remembering, then embedding, over that of the bare model."""
        return self.bare / (self.remembered + self.embedded)

    @property
    def beside_copy(self) -> float:
        """Return the rate of remembering over that of `COPY`."""
        return self.copied / self.remembered

    @property
    def beside_library(self) -> float:
        """Return the rate of remembering, then embedding, over that of sentence-transformers."""
        return self.library / (self.remembered + self.embedded)


@dataclass(frozen=True, slots=True)
class IngestBench:
    """Rounds that were measured one after the other, so that a busy machine slows both sides."""

    texts: int
    rounds: tuple[Round, ...]

    @property
    def ratios(self) -> dict[str, float]:
        """Return the median of each of the rounds' ratios, by name."""
        names = ("worker", "whole", "beside_library", "beside_copy")
        return {name: round(median(getattr(each, name) for each in self.rounds), 3) for name in names}


def bench_ingest(
    runtime: Runtime,
    user_id: UUID,
    texts: Sequence[str],
    *,
    now: datetime,
    on_progress: Callable[[int], None] = lambda _texts: None,
) -> IngestBench:
    """Measure with different texts in a new space; raises `RuntimeError` when a text was not embedded."""
    runtime.backfill.adopt(user_id)
    with user_session(runtime.sessions, user_id) as session:
        embedder = runtime.providers.embedder(model_of(session, user_id)).embedder
        create_space(session, user_id, SPACE, soft_cap=len(texts), now=now, actor="bench")
        bare_space = create_space(session, user_id, BARE_SPACE, soft_cap=len(texts), now=now, actor="bench")
        session.expunge(bare_space)
    # Imported here: it takes seconds, which every other command would wait for too.
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415

    library = SentenceTransformer(MINILM, device="cpu", local_files_only=True)
    library.encode(texts[:WARM_UP])
    embedder.embed(texts[:WARM_UP])
    size = -(-len(texts) // ROUNDS)
    rounds = []
    for part in portions(texts, size):
        rounds.append(_round(runtime, bare_space, (library, embedder), part, now))
        on_progress(len(part))
    return IngestBench(len(texts), tuple(rounds))


def _round(
    runtime: Runtime, bare: Space, models: tuple[SentenceTransformer, Embedder], texts: Sequence[str], now: datetime
) -> Round:
    library, embedder = models
    _, encoded = timed(lambda: library.encode(list(texts), show_progress_bar=False))
    _, inferred = timed(lambda: embedder.embed(texts))
    rows = [{**memory_row(bare, each, now), "needs_embedding": False} for each in texts]
    _, copied = timed(lambda: _copy(runtime, rows))
    _, remembered = timed(lambda: _remember(runtime, bare.user_id, texts, now))
    done, embedded = timed(runtime.backfill.run)
    if done < len(texts):
        raise RuntimeError(f"{done} of {len(texts)} texts were embedded: the rest merged or failed")
    return Round(encoded / 1000, inferred / 1000, copied / 1000, remembered / 1000, embedded / 1000)


def _copy(runtime: Runtime, rows: Sequence[Mapping[str, Any]]) -> None:
    names = sql.SQL(", ").join(map(sql.Identifier, rows[0]))
    command = sql.SQL("COPY memories ({}) FROM STDIN").format(names)
    with psycopg.connect(runtime.databases.owner) as connection, connection.cursor().copy(command) as copy:
        for each in rows:
            copy.write_row(tuple(each.values()))


def _remember(runtime: Runtime, user_id: UUID, texts: Sequence[str], now: datetime) -> None:
    for some in portions(texts, BATCH):
        drafts = [Draft(each) for each in some]
        with user_session(runtime.sessions, user_id) as session:
            remember_many(session, user_id, SPACE, drafts, keys=runtime.keys, now=now, actor="bench")


def to_dict(bench: IngestBench) -> dict[str, Any]:
    """Return the measurements in values that JSON can carry."""
    return {**asdict(bench), "ratios": bench.ratios, "least_ratio": LEAST_RATIO}


def to_text(bench: IngestBench) -> str:
    """Return the measurements as a table."""
    seconds = {
        "sentence-transformers": [each.library for each in bench.rounds],
        "bare model": [each.bare for each in bench.rounds],
        "bare COPY": [each.copied for each in bench.rounds],
        "remembered": [each.remembered for each in bench.rounds],
        "embedded and stored": [each.embedded for each in bench.rounds],
        "remembered and embedded": [each.remembered + each.embedded for each in bench.rounds],
    }
    rows = [(name, sum(took), bench.texts / sum(took)) for name, took in seconds.items()]
    ratios = bench.ratios
    verdict = [
        f"rates, medians of {len(bench.rounds)} rounds:",
        f"embedded and stored / bare model: {ratios['worker']:.2f} (at least {LEAST_RATIO})",
        f"remembered, then embedded / sentence-transformers: {ratios['beside_library']:.2f}",
        f"remembered, then embedded / bare model: {ratios['whole']:.2f}",
        f"remembered / bare COPY: {ratios['beside_copy']:.3f}",
    ]
    body = table((f"{bench.texts} texts", "seconds", "texts/s"), rows, digits=1)
    return "\n".join([body, "", *verdict])
