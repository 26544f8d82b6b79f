"""Whether anything found is about what is asked: among memories of one person something always seems a little alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from retrieval.about import Asked
from retrieval.policy import Policy
from retrieval.types import Candidate, Scored

# What has no vector has its words alone to speak for it, and needs so much of the share that others need.
UNSEEN = 0.8


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges what was found for a question, by the three numbers that `Policy.sure_cosine` describes.

    `talk` says that turns are judged: the name of who says it stands before each.
    """

    policy: Policy
    asked: Asked
    talk: bool = False

    def is_answered(self, scored: Sequence[Scored]) -> bool:
        """Tell whether one of them is about what is asked; the best first, as it mostly is the one."""
        return any(self.is_about(each.candidate) for each in scored)

    def is_about(self, candidate: Candidate) -> bool:
        """Tell whether a candidate is enough to say that the question was answered at all."""
        policy, asked = self.policy, self.asked
        if policy.min_score == 0 or policy.sure_cosine == 0:
            return True
        if asked.lacks_code(candidate.places):
            return False
        share = policy.sure_share if candidate.cosine is not None else UNSEEN * policy.sure_share
        if asked.coverage(candidate.places) >= share:
            return True
        likeness = candidate.cosine or 0.0
        if not policy.sure_cosine <= likeness < policy.named_cosine:
            return likeness >= policy.sure_cosine
        if self._has_the_name_alone(candidate):
            return False
        # What is talked about is seldom named again.
        return self.talk or not asked.other_names(candidate.places)

    def alike_by_name(self, scored: Sequence[Scored]) -> list[Scored]:
        """Return those, in their order, which may be as alike as `sure_cosine` asks for only by a name they share."""
        return [
            each
            for each in scored
            if (each.candidate.cosine or 0.0) >= self.policy.sure_cosine
            and not self.asked.lacks_code(each.candidate.places)
            and not self.asked.other_names(each.candidate.places)
            and self._has_the_name_alone(each.candidate)
        ]

    def _has_the_name_alone(self, candidate: Candidate) -> bool:
        # The name of who speaks makes no turn more alike than another.
        own = self.talk and self.asked.calls(candidate.speaker)
        return not own and self.asked.names_alone(candidate.places)
