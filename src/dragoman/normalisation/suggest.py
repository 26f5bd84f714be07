"""What to annotate next: forms that are frequent and uncertain teach most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from dragoman.core.runtime import Runtime
from dragoman.normalisation.normalised import Normalised
from dragoman.normalisation.normaliser import Normaliser


class Suggestion(NamedTuple):
    """A form of a text, how often it occurs, and what the normaliser makes of it."""

    form: str
    occurrences: int
    normalised: Normalised

    @property
    def expected_errors(self) -> float:
        """How many of its tokens are wrong, if the normaliser knows how sure it is."""
        return self.occurrences * (1 - self.normalised.confidence)


def suggestions(
    normaliser: Normaliser,
    words: Iterable[str],
    *,
    most: int | None = None,
    memorised: bool = False,
    runtime: Runtime = Runtime(),
) -> list[Suggestion]:
    """Rank the forms of a text by the errors that they are expected to have; memorised ones only if asked for."""
    counts = Counter(map(normaliser.form, words))
    wanted = [form for form in counts if memorised or form not in normaliser.memory.counts]
    found = normaliser.forms(wanted, runtime=runtime)
    ranked = [Suggestion(form, counts[form], normalised) for form, normalised in found.items()]
    ranked.sort(key=lambda one: (-one.expected_errors, -one.occurrences, one.form))
    return ranked[:most]
