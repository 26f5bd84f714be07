"""What a word becomes: a modern form, how sure it is, and what else it may be."""

from __future__ import annotations

import math
from typing import NamedTuple

#: Forms that are less probable are not looked at again.
_IMPROBABLE = 1e-3


class Normalised(NamedTuple):
    """A word's modern spelling, its probability, and others with theirs, the most probable first."""

    modern: str
    confidence: float
    alternatives: tuple[tuple[str, float], ...] = ()

    def log_probabilities(self) -> list[tuple[str, float]]:
        """All forms that are not improbable, with the logarithms of their probabilities."""
        forms = [(self.modern, self.confidence), *(one for one in self.alternatives if one[1] > _IMPROBABLE)]
        return [(form, math.log(max(sure, _IMPROBABLE))) for form, sure in forms]

    def preferring(self, place: int) -> Normalised:
        """Return the same with another of its forms first: 0 is the one that is."""
        forms = [(self.modern, self.confidence), *self.alternatives]
        modern, sure = forms.pop(place)
        return Normalised(modern, sure, tuple(forms))
