"""What the reader learns from, and that learning gives what it reads."""

from __future__ import annotations

import numpy as np
import pytest

from evals import golden
from evals.asked import drawn
from evals.blocks import read_blocks
from retrieval.reading.model import WEIGHTS, learned
from retrieval.reading.reading import Reader

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def blocks():
    return read_blocks()


def test_there_are_answers_and_none_for_every_person(blocks):
    for block in blocks:
        answered = [right for _, right in block.questions if right]
        assert len(block.notes) >= 12, block.name
        assert len(answered) >= 10 <= len(block.questions) - len(answered), block.name
        assert block.wanted.keys() <= {asked for asked, right in block.questions if not right}, block.name
    assert sum(len(block.questions) for block in blocks) > 17_000


def test_nothing_is_learned_that_is_measured(blocks):
    learned = {asked.lower() for block in blocks for asked, _ in block.questions}
    learned |= {note.lower() for block in blocks for note in (*block.notes.values(), *block.wanted.values())}
    for path in (golden.BUNDLED, golden.HELD_OUT, golden.NEAR_MISSES):
        data = golden.read(path)
        assert learned.isdisjoint(item.text.lower() for each in data.collections for item in each.items)
        assert learned.isdisjoint(each.text.lower() for each in data.questions)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("n1: A note before anybody's name", "line 1"),
        ("# Ada\nn1: Tea\n? What does she drink? => n2", "line 3: there is no note n2"),
        ("# Ada\nn1: Tea\n? What does she drink?", "line 3: this is neither a note nor a question"),
        ("# Ada\nTea", "line 2: this is neither a note nor a question"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, why):
    (tmp_path / "some.txt").write_text(text)
    with pytest.raises(ValueError, match=f"some.txt, {why}"):
        read_blocks(tmp_path)


def test_who_goes_on_learns_what_is_new_and_some_of_the_rest(blocks):
    # Here, as it loads torch: every process of the tests reads this file, and one of them runs it.
    from evals.reader import AGAIN, further

    found = further("60")
    assert len({tuple(block.notes.values()) for block in found}) == len(found), "nobody twice"
    names = [block.name for block in found]
    new = [block.name for block in read_blocks(since="60")]
    assert names[: len(new)] == new
    assert len(names) == len(new) + AGAIN
    assert set(names) <= {block.name for block in blocks}
    with pytest.raises(ValueError, match="no file 99"):
        further("99")


def test_who_learns_from_some_draws_the_same_each_time(blocks):
    some = drawn(blocks, 30)
    assert some == drawn(blocks)[:30] != blocks[:30]
    assert len({id(block) for block in drawn(blocks)}) == len(blocks), "everybody once"


def test_who_goes_on_starts_as_the_reader_that_is_there():
    from evals.reader import Learner

    learner, reader = Learner(WEIGHTS), Reader()
    for pair in (("How old is Rex?", "Rex will be nine in May"), ("How old is Rex?", "Tea is kept in the blue tin")):
        told = 1 / (1 + np.exp(-learner.logits([pair]).item()))
        assert reader.sureness(*pair) == pytest.approx(told, abs=0.1)


def test_what_is_learned_can_be_read(blocks, tmp_path):
    from evals.reader import learn, save

    few, steps = blocks[:2], []
    learner = learn(few, epochs=1, on_step=lambda *step: steps.append(step))
    assert [done for done, _, _ in steps] == [*range(1, steps[0][1] + 1), *range(1, steps[-1][1] + 1)]
    save(learner, few, path := tmp_path / "reader.npz")
    reader = Reader(path)
    question, right = few[0].questions[0]
    note = few[0].notes[right[0]]
    told = 1 / (1 + np.exp(-learner.logits([(question, note)]).item()))
    assert reader.sureness(question, note) == pytest.approx(told, abs=0.1)


def test_a_matrix_is_kept_to_half_a_step_of_each_row():
    import torch

    from evals.reader import rounded

    matrix = torch.randn(6, 40) * torch.tensor([[1e-6], [0.01], [0.3], [1.0], [20.0], [0.0]])
    kept = learned("m", rounded("m", matrix))
    steps = np.abs(matrix.numpy()).max(axis=1, keepdims=True) / 127
    assert (np.abs(kept - matrix.numpy()) <= steps * 0.501).all()


def test_the_weights_that_come_along_take_little_room():
    assert WEIGHTS.stat().st_size < 14_000_000
