"""What is left out of the reader is what the rest makes up for, and what is left reads as it did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from evals.blocks import FOLDER, Block, read_file
from evals.lessons import Lessons
from retrieval.reading.model import WEIGHTS
from retrieval.reading.reading import Reader

# What loads torch is imported where it is used: every process of the tests reads this file, and one of them runs it.
if TYPE_CHECKING:
    from torch import Tensor

FIRST = FOLDER / "01.txt"


@pytest.fixture(scope="module")
def even() -> Tensor:
    """A weight of each of three outputs: none counts more than another."""
    import torch

    return torch.ones(3).double()


def inputs(seed: int, rows: int, columns: int) -> Tensor:
    import torch

    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))


def test_what_the_others_say_as_well_goes_at_no_loss(even):
    import torch

    from evals.narrower import without

    told = inputs(1, 400, 5)
    # The last three are sums of the first five.
    seen = torch.cat([told, told @ inputs(2, 5, 3)], dim=1)
    weight = inputs(3, 3, 8)
    [(_, kept, left)] = without(seen.T @ seen, weight, even, [5])
    assert len(kept) == 5
    assert torch.allclose(seen[:, kept] @ left.T, seen @ weight.T, atol=0.05)


def test_the_input_that_costs_least_is_left_out(even):
    import torch

    from evals.narrower import without

    seen, weight = inputs(4, 300, 6), inputs(5, 3, 6)
    [(_, kept, left)] = without(seen.T @ seen, weight, even, [5])
    wanted = seen @ weight.T

    def loss_without(place: int) -> float:
        rest = seen[:, [each for each in range(6) if each != place]]
        return float(((rest @ torch.linalg.lstsq(rest, wanted).solution - wanted) ** 2).sum())

    losses = [loss_without(place) for place in range(6)]
    assert set(range(6)) - set(kept.tolist()) == {int(np.argmin(losses))}
    assert float(((seen[:, kept] @ left.T - wanted) ** 2).sum()) == pytest.approx(min(losses), rel=0.01)


def test_what_feeds_only_an_output_that_does_not_count_goes_first():
    import torch

    from evals.narrower import without

    seen, weight = inputs(6, 300, 4), torch.zeros(3, 4)
    weight[0, :3], weight[2, 3] = 1.0, 100.0
    [(_, kept, _)] = without(seen.T @ seen, weight, torch.tensor([1.0, 1.0, 0.0]).double(), [3])
    assert kept.tolist() == [0, 1, 2]


def test_neighbours_of_a_group_go_together(even):
    import torch

    from evals.narrower import without

    seen, weight = inputs(7, 300, 8), torch.full((3, 8), 0.01)
    weight[:, 1], weight[:, 6] = 5.0, 3.0
    [(_, kept, left)] = without(seen.T @ seen, weight, even, [2], group=2)
    assert kept.tolist() == [0, 1, 6, 7]
    assert left.shape == (3, 4)


def test_questions_are_read_with_the_notes_that_are_most_like_them():
    from evals import lighter

    hens = {f"n{number}": f"Pia has {number} hens" for number in range(12)}
    pia = Block("Pia", {**hens, "n12": "The ferry is late"}, [("How many hens does Pia have?", ())])
    omar = Block("Omar", {"n1": "Omar is a baker"}, [("What is his job?", ("n1",)), ("How old is he?", ())])
    pairs = lighter.nearest([pia, omar])
    assert pairs[8:] == [("What is his job?", "Omar is a baker"), ("How old is he?", "Omar is a baker")]
    assert {asked for asked, _ in pairs[:8]} == {"How many hens does Pia have?"}
    assert len({text for _, text in pairs[:8]} & set(hens.values())) == 8


def test_less_is_what_is_left_of_more(even):
    from evals.narrower import without

    seen, weight = inputs(8, 300, 12), inputs(9, 3, 12)
    found = list(without(seen.T @ seen, weight, even, [2, 9, 5]))
    assert [(level, len(kept)) for level, kept, _ in found] == [(9, 9), (5, 5), (2, 2)]
    assert set(found[2][1].tolist()) < set(found[1][1].tolist()) < set(found[0][1].tolist())


@pytest.fixture
def whole() -> dict[tuple[int, str], int]:
    """How wide each part is while nothing of it is left out."""
    from evals.narrower import HEADS, INNER

    return {(number, name): size for number in range(3) for name, size in ((HEADS, 12), (INNER, 1536))}


def test_what_costs_least_for_its_time_is_left_out(whole):
    from evals.narrower import HEADS, INNER, plan

    cheap = {(number, name, size // 2): 0.1 for (number, name), size in whole.items()}
    dear = {**cheap, (0, HEADS, 6): 5.0, (0, INNER, 768): 5.0}
    assert plan(cheap, whole, 1.0) == whole
    # Only the first token goes through the inner step of the last layer.
    assert plan(dear, whole, 0.75) == {**whole, (1, HEADS): 6, (1, INNER): 768, (2, HEADS): 6}


def test_what_is_narrow_already_is_only_left_narrower(whole):
    from evals.narrower import INNER, plan

    sizes = {**whole, (1, INNER): 100}
    found = {(1, INNER, 50): 0.01, (0, INNER, 768): 0.01}
    assert plan(found, sizes, 0.99) == {**sizes, (0, INNER): 768}
    assert plan(found, sizes, 0.01) == {**sizes, (0, INNER): 768, (1, INNER): 50}


@pytest.mark.slow  # It computes with layers of the reader.
def test_more_that_is_left_out_costs_more():
    from evals.narrower import errors, plan, sizes_of
    from evals.reader import Learner

    learner = Learner(WEIGHTS)
    # Each layer is tried alone, for ten seconds.
    del learner.model.encoder.layer[1:-2]
    found, sizes = errors(learner, Lessons(read_file(FIRST)[:1]).texts()[:12]), sizes_of(learner)
    for part, size in sizes.items():
        levels = {left: cost for (*each, left), cost in found.items() if tuple(each) == part}
        assert all(0 < left < size for left in levels)
        assert len(levels) > 3 or size <= 4
        assert not levels or levels[min(levels)] >= levels[max(levels)] > 0
    left = plan(found, sizes, 0.6)
    assert all(left[part] <= size for part, size in sizes.items())
    assert sum(left.values()) < sum(sizes.values())


@pytest.mark.slow  # It computes with the whole reader.
def test_with_a_little_left_out_it_reads_nearly_as_before():
    import torch

    from evals.narrower import leave_out, sizes_of
    from evals.reader import Learner

    pairs = Lessons(read_file(FIRST)[:1]).texts()[:60]
    before, learner = Learner(WEIGHTS), Learner(WEIGHTS)
    leave_out(learner, pairs, {part: max(1, size * 11 // 12) for part, size in sizes_of(learner).items()})
    with torch.no_grad():
        given, wanted = learner.logits(pairs).numpy(), before.logits(pairs).numpy()
    assert np.abs(given - wanted).mean() < 0.25


@pytest.mark.slow  # It computes with the whole reader, and trains a little.
def test_a_lighter_reader_reads_as_it_learned_to(tmp_path):
    from evals import lighter
    from evals.narrower import leave_out, sizes_of
    from evals.reader import Learner, save

    blocks = read_file(FIRST)[:1]
    lessons, before, learner, steps = Lessons(blocks), Learner(WEIGHTS), Learner(WEIGHTS), []
    sizes = {part: max(1, size * (7 + part[0] % 4) // 12) for part, size in sizes_of(learner).items()}
    leave_out(learner, lessons.texts()[:60], sizes)
    assert sizes_of(learner) == sizes
    few = lessons.texts()[:56]
    lighter.follow(learner, before, few, on_step=lambda *step: steps.append(step))
    assert [(done, of) for done, of, _ in steps] == [(1, 2), (2, 2)]
    save(learner, blocks, path := tmp_path / "reader.npz")
    reader, again = Reader(path), Learner(path)
    assert sizes_of(again) == sizes
    for pair in few[:6]:
        told = learner.logits([pair]).item()
        assert again.logits([pair]).item() == pytest.approx(told, abs=0.02)
        assert reader.sureness(*pair, to_the_end=True) == pytest.approx(1 / (1 + np.exp(-told)), abs=0.1)
