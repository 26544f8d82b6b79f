"""A long text is found by each of its passages, and read by those that come nearest."""

from __future__ import annotations

import numpy as np
import pytest
from pgvector import HalfVector
from shelf import DIMENSIONS, Shelf, pointing
from sqlalchemy import text

from memory.embedding.passages import passages
from memory.models import EmbeddingModel, Memory
from retrieval.lookup.nearest import neighbours_of
from retrieval.reading.reading import shared_reader

LONG = """\
The pottery club met at seven in the old school. Nobody had brought the key for the store room, so the chairs came from
the library next door. Harald read the letter from the council, which wants the rent two weeks earlier from now on. We
agreed to pay it from the savings until the spring fair is over. The new kiln needs a stronger fuse than the old one,
and the electrician comes on Thursday to put one in. Until then nobody may use it. The glazes are running out. Tom will
order cobalt and a bag of white clay from the shop in Leeds, and Ines looks after the bill. The shelves by the window
are for finished pieces only, please. At the end we talked about the summer trip. Most want to go to the coast, a few to
the mountains. Ines asks for prices of buses, and we decide in March. Until then the minutes hang
beside the door. Whoever wants to show something at the spring fair puts a name on the list below them, with the number
of pieces and the length of table that they take. Harald paints the sign for the street, as he did last year."""
TEXTS = (LONG, "Tea is kept in the blue tin", "The gate is locked after dusk")
# The directions of the passages' vectors, away from those of the memories.
FIRST = 100


class LongShelf(Shelf):
    """A shelf whose first memory is long."""

    def __init__(self, runtime, person, texts):
        super().__init__(runtime, person, texts)
        self.parts = passages(texts[0])
        vectors = np.eye(DIMENSIONS, dtype=np.float32)[FIRST : FIRST + len(self.parts)]
        with self.session() as session:
            (self.long_id,) = session.scalars(
                text("SELECT id FROM memories WHERE user_id = :user_id AND octet_length(text) > 600"),
                {"user_id": self.user_id},
            )
        self.put(vectors)

    def put(self, vectors):
        """Give each passage its vector."""
        put = text("UPDATE embeddings SET passages = :passages WHERE user_id = :user_id AND memory_id = :id")
        values = {"passages": [HalfVector(each) for each in vectors], "user_id": self.user_id, "id": self.long_id}
        with self.session() as session:
            session.execute(put, values)


@pytest.fixture
def shelf(runtime, ada):
    return LongShelf(runtime, ada, TEXTS)


@pytest.mark.parametrize("size", [3, 10_000], ids=["exact", "by the index"])
@pytest.mark.parametrize("narrowed", [{}, {"types": ("note",)}], ids=["whole", "narrowed"])
def test_a_long_text_is_as_near_as_the_nearest_of_its_passages(shelf, size, narrowed):
    shelf.size = size
    found = shelf.ask("How is pottery baked?", near=FIRST + 1, cosine=0.8, policy={"legs": ["semantic"]}, **narrowed)
    assert [hit.snippet for hit in found.hits][:1] == [LONG]
    candidate = found.hits[0].ranked.scored.candidate
    assert (round(candidate.cosine, 2), candidate.nearest[0]) == (0.8, shelf.parts[1])
    assert round(float(candidate.vector[FIRST + 1]), 2) == 1.0, "it is weighed against others by the same passage"


def test_what_the_keyword_leg_found_is_as_near_as_its_nearest_passage(shelf):
    with shelf.session() as session:
        nearer = text("UPDATE embeddings SET vector = :vector WHERE user_id = :user_id AND memory_id <> :id")
        vector = HalfVector(pointing(FIRST + 1, 0.7))
        session.execute(nearer, {"vector": vector, "user_id": shelf.user_id, "id": shelf.long_id})
    found = shelf.ask("the council", near=FIRST + 1, cosine=0.7, limit=1, policy={"depth": 1})
    candidate = found.hits[0].ranked.scored.candidate
    assert (candidate.id, candidate.semantic_rank, round(candidate.cosine, 2)) == (shelf.long_id, None, 0.7)


@pytest.mark.parametrize("nearer", [0, 1, 2])
def test_of_a_note_that_comes_third_the_nearest_passage_alone_is_read(shelf, nearer):
    (place,) = [place for place, each in enumerate(shelf.parts) if "cobalt" in each]
    shelf.put(
        [pointing(FIRST, 0.3 if each == 0 else 0.2 if each == place else 0.1) for each in range(len(shelf.parts))]
    )
    with shelf.session() as session:
        put = text("UPDATE embeddings SET vector = :vector WHERE user_id = :user_id AND memory_id IN (:one, :other)")
        near = session.scalars(
            text("SELECT id FROM memories WHERE user_id = :u AND id <> :l"), {"u": shelf.user_id, "l": shelf.long_id}
        )
        ids = dict(zip(("one", "other"), [*near][:nearer] + [shelf.user_id] * 2, strict=False))
        session.execute(put, {"vector": HalfVector(pointing(FIRST, 0.5)), "user_id": shelf.user_id, **ids})
    found = shelf.found("Who purchases cobalt?", near=FIRST, cosine=1.0, reader=shared_reader)
    assert (LONG in found) is (nearer < 2)


@pytest.mark.parametrize(
    ("cosines", "is_read"),
    [((0.2, 0.3), True), ((0.3, 0.2), True), ((0.3, 0.25, 0.2), False)],
    ids=["nearest", "second", "third"],
)
def test_the_two_nearest_passages_are_what_is_read(shelf, cosines, is_read):
    """The last of the cosines is that of the passage which says it."""
    (place,) = [place for place, each in enumerate(shelf.parts) if "cobalt" in each]
    others = [each for each in range(len(shelf.parts)) if each != place]
    nearness = dict(zip([*others[: len(cosines) - 1], place], cosines, strict=True))
    # Each says of what is asked as much as its cosine, and nothing else that another says.
    vectors = np.zeros((len(shelf.parts), DIMENSIONS), dtype=np.float32)
    for each in range(len(shelf.parts)):
        share = nearness.get(each, 0.0)
        vectors[each, FIRST], vectors[each, FIRST + 1 + each] = share, np.sqrt(1 - share**2)
    shelf.put(vectors)
    found = shelf.found("Who purchases cobalt?", near=FIRST, cosine=1.0, reader=shared_reader)
    assert found == ([LONG] if is_read else [])


def test_a_text_without_passages_is_read_whole(shelf):
    found = shelf.ask("Where is the tea kept?", near=1, cosine=0.5, reader=shared_reader)
    assert [(hit.snippet, hit.ranked.scored.candidate.nearest) for hit in found.hits] == [(TEXTS[1], ())]


def test_a_passage_that_the_text_no_longer_has_is_not_read(shelf):
    """As after a change of how texts are cut."""
    with shelf.session() as session:
        more = text("UPDATE embeddings SET passages = passages || vector WHERE memory_id = :id")
        session.execute(more, {"id": shelf.long_id})
    assert shelf.ask("Any news?", near=0, cosine=0.9).hits[0].ranked.scored.candidate.nearest == ()


def test_what_says_nearly_the_same_is_judged_by_the_whole(shelf):
    with shelf.session() as session:
        tea = next(each for each in session.query(Memory).filter_by(user_id=shelf.user_id) if each.text == TEXTS[1])
        session.execute(
            text("UPDATE embeddings SET vector = :vector WHERE memory_id = :id"),
            {"vector": HalfVector(np.eye(DIMENSIONS, dtype=np.float32)[FIRST]), "id": tea.id},
        )
        model = session.get(EmbeddingModel, (shelf.user_id, shelf.model_id))
        near = dict(neighbours_of(session, tea, model, scope_size=3, most=5))
    assert near[shelf.long_id] < 0.1
