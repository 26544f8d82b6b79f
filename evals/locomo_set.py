"""LoCoMo as a data set: a collection for each conversation, its sessions those of the file."""

from __future__ import annotations

from collections.abc import Sequence

from evals.dataset import Collection, DataSet, Question
from evals.locomo import ADVERSARIAL, CATEGORIES, Conversation


def to_data_set(conversations: Sequence[Conversation], name: str = "locomo") -> DataSet:
    """Return the questions that have evidence, those of the adversarial category apart; the others are counted."""
    asked = [(one, number, each) for one in conversations for number, each in enumerate(one.questions, start=1)]
    scored = [
        Question(
            f"{one.name}/{number}",
            f"{each.category} {CATEGORIES[each.category]}",
            each.text,
            one.name,
            frozenset(each.evidence),
            apart=each.category == ADVERSARIAL,
        )
        for one, number, each in asked
        if each.evidence
    ]
    collections = tuple(_collection(each) for each in conversations)
    return DataSet("locomo", name, collections, tuple(scored), unscored=len(asked) - len(scored))


def _collection(conversation: Conversation) -> Collection:
    sessions = {turn.dia_id: str(turn.session) for turn in conversation.turns}
    return Collection(conversation.name, talk=conversation, sessions=sessions)
