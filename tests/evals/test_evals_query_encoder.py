"""That learning gives what embeds questions."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from evals import asked, blocks
from evals.asked import drawn, of_persons, of_talks
from evals.blocks import FOLDER, read_file
from evals.cli import eval_group
from memory.embedding.base import unit
from memory.embedding.bundled import MINILM
from memory.embedding.compiled import CompiledModel
from memory.embedding.query_encoder import read_learned

# The training loads torch.
pytestmark = pytest.mark.slow


@pytest.fixture
def talks(tmp_path):
    """A folder with one of the files of talks, of which all take seconds to read."""
    folder = tmp_path / "talks"
    folder.mkdir()
    shutil.copy(min(asked.TALKS.glob("*.jsonl")), folder)
    return folder


def test_what_is_learned_is_what_embeds_questions(tmp_path, monkeypatch, talks):
    from evals import query_encoder
    from evals.query_encoder import save, train

    # As many steps of a fourth of the work.
    monkeypatch.setattr(query_encoder, "BATCH", 32)
    losses, memories = [], [*of_persons(drawn(read_file(FOLDER / "40.txt"), 2)), *drawn(of_talks(talks), 1)]
    learner = train(memories, rounds=2, others=20, on_step=lambda _done, _of, loss: losses.append(loss))
    assert np.mean(losses[-3:]) < np.mean(losses[:3])
    questions = ["How old is Rex?", "Which tea does Ada like best?", "where did we leave the keys of the boat"]
    told = learner.vectors(questions).detach().numpy()
    exact = CompiledModel(Path(MINILM), threads=1)

    def embedded(model):
        return unit(np.concatenate([model.run(batch) for text in questions for batch in model.batches([text])]))

    def off(model):
        return 1 - (told * embedded(model)).sum(axis=1).mean()

    def kept(*shares):
        save([learner] * len(shares), tmp_path / "kept.npz", shares=shares)
        return exact.with_learned(read_learned(exact.bert, exact.fingerprint, tmp_path / "kept.npz"))

    assert off(kept(1.0)) < 0.1 * off(exact)
    half = kept(0.5)
    assert 0.1 * off(exact) < off(half) < off(exact)
    assert np.allclose(embedded(kept(0.0)), embedded(exact), atol=1e-3)
    assert np.allclose(embedded(kept(0.3, 0.2)), embedded(half), atol=1e-3), "what is learned is added up"


def test_the_command_writes_what_is_asked_for(tmp_path, monkeypatch, talks):
    persons = tmp_path / "persons"
    persons.mkdir()
    shutil.copy(FOLDER / "40.txt", persons)
    monkeypatch.setattr(blocks.read_blocks, "__defaults__", (persons,))
    monkeypatch.setattr(asked.of_talks, "__defaults__", (talks,))
    made = CliRunner().invoke(
        eval_group, ["query-encoder", "--persons", "10", "--talks", "2", "--out", str(tmp_path / "made.npz")]
    )
    assert made.exit_code == 0, made.output
    assert "questions about 10 persons and 2 talks" in made.output
    exact = CompiledModel(Path(MINILM), threads=1)
    assert read_learned(exact.bert, exact.fingerprint, tmp_path / "made.npz")
