"""How much alike texts are by their vectors: models differ in the cosine that unrelated texts have."""

from __future__ import annotations

from memory.embedding.bundled import E5_LABEL, MINILM_LABEL
from memory.models import EmbeddingModel

# Questions and memories of different people have 0.75 to 0.76 by this model, 0.06 to 0.13 by all-MiniLM-L6-v2. Taken as
# less, so that as much remains of unrelated texts: of 0.70 to 0.74 what does best by the cases of `commonplace eval`.
_UNRELATED = {("local", E5_LABEL): 0.72}
# Whose vocabulary has hardly a sign of other scripts: all texts in one of them are nearly the same to it.
_LATIN_ALONE = frozenset({("local", MINILM_LABEL)})


def unrelated_cosine(model: EmbeddingModel) -> float:
    """Return the cosine, in [0, 1), that texts have by this model when they have nothing to do with each other.

    0 for models of which it is not known.
    """
    return _UNRELATED.get((model.provider_type, model.model), 0.0)


def reads_latin_alone(model: EmbeddingModel) -> bool:
    """Tell whether a model is known to tell nothing of texts in scripts such as Japanese or Thai."""
    return (model.provider_type, model.model) in _LATIN_ALONE


def likeness(cosine: float, unrelated: float) -> float:
    """Return a cosine on the scale where unrelated texts have 0 and equal ones 1.

    >>> likeness(1.0, 0.75), likeness(0.75, 0.75), round(likeness(0.8, 0.75), 9)
    (1.0, 0.0, 0.2)
    """
    return (cosine - unrelated) / (1.0 - unrelated)


def cosine_of(alike: float, unrelated: float) -> float:
    """Return the cosine that has a likeness.

    >>> cosine_of(likeness(0.8, 0.75), 0.75)
    0.8
    """
    return unrelated + alike * (1.0 - unrelated)
