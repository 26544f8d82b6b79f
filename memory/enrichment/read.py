"""Reading texts with whatever detectors there are."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from memory.enrichment.detectors import detect_names
from memory.enrichment.findings import Findings
from memory.enrichment.model import findings_by_model
from memory.enrichment.phrases import key_phrases
from memory.remote.credentials import without_credentials
from memory.remote.llm import ChatModel, ChatModelError, StillAwayError

logger = logging.getLogger(__name__)


def read_texts(texts: Sequence[str], chat_model: ChatModel | None) -> list[Findings | None]:
    """Return what each text is about: by the language model where one is set and answers, else by the rules.

    None stands for a text that cannot be read. Credentials are read by neither: one is no name, nor a tag to show in
    lists. Takes time and holds nothing: call it outside of any transaction.
    """
    texts = [without_credentials(text) for text in texts]
    found: list[Findings | None] = [None] * len(texts)
    left = list(range(len(texts)))
    if chat_model is not None:
        left = _by_model(texts, chat_model, found)
    for place, findings in zip(left, _by_rules([texts[place] for place in left]), strict=True):
        found[place] = findings
    return found


def _by_model(texts: Sequence[str], chat_model: ChatModel, found: list[Findings | None]) -> list[int]:
    """Fill in what the model finds; return the places of the texts that are left to the rules."""
    left: list[int] = []
    for place, text in enumerate(texts):
        try:
            found[place] = findings_by_model(chat_model, text)
        except ChatModelError as error:
            # Thousands of texts may come while it is away, each in a batch of its own.
            if not isinstance(error, StillAwayError):
                logger.warning("enrichment goes on without the language model: %s", error)
            left.append(place)
    return left


def _by_rules(texts: Sequence[str]) -> list[Findings | None]:
    try:
        return _read(texts)
    except Exception:
        if len(texts) == 1:
            logger.error("a text cannot be read and stays without names and tags", exc_info=False)
            return [None]
    # One by one, so that a text that breaks a detector does not take its batch along.
    return [findings for text in texts for findings in _by_rules([text])]


def _read(texts: Sequence[str]) -> list[Findings | None]:
    found: list[Findings | None] = []
    for text, names in zip(texts, detect_names(texts), strict=True):
        found.append(Findings(names, key_phrases(text, (name.name for name in names))))
    return found
