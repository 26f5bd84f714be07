"""What is wanted of each sentence, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.core.errors import UsageError
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.decision.rule import Rule
from dragoman.decision.settings import Decision
from dragoman.sampling.draw import Draw
from dragoman.sampling.sampler import SampleBatch
from dragoman.sampling.schedule import Annealing
from dragoman.search.translation import Translation


@dataclass(frozen=True)
class Outputs:
    """What is wanted of each sentence; by default the best derivation that the search finds, and its text.

    `features` are those of that derivation, `nbest` is the size of a list of hypotheses (of `distinct` strings, or of
    derivations), and `hypergraph` all that the search kept. With `annealing`, the derivation is the one that simulated
    annealing from there ends with, under a `seed`. A `decision` chooses a string by evidence, and no derivation;
    `more_rules` are further rules that see the same evidence. `samples` says how samples are drawn: for a decision by
    samples, or to be returned in place of a translation.
    """

    features: bool = False
    nbest: int | None = None
    distinct: bool = True
    hypergraph: bool = False
    annealing: Annealing | None = None
    seed: int = 1
    decision: Decision | None = None
    more_rules: tuple[Rule, ...] = ()
    samples: Draw | None = None

    def __post_init__(self) -> None:
        derivations = self.features or self.forests or self.annealing is not None
        if self.decision is None and self.more_rules:
            raise UsageError("more rules go with a decision, whose evidence they see")
        if self.decision is not None and derivations:
            raise UsageError("a decision chooses strings, not derivations: no features, lists, hypergraphs, annealing")
        if self.annealing is not None and self.forests:
            raise UsageError("annealing finds one derivation: no n-best lists or hypergraphs")
        if self.decision is not None and (self.decision.evidence == "samples") != (self.samples is not None):
            raise UsageError("samples need a sampler" if self.samples is None else "the rule does not see samples")
        if self.decision is None and self.samples is not None and derivations:
            raise UsageError("samples are drawn in place of a search: no features, lists, hypergraphs, annealing")

    @property
    def forests(self) -> bool:
        """Whether more is wanted of a search than its best derivation."""
        return self.nbest is not None or self.hypergraph

    @property
    def by_chains(self) -> bool:
        """Whether Markov chains do the work, which can score global features."""
        return self.samples is not None or self.annealing is not None


@dataclass(frozen=True, eq=False)
class SentenceResult:
    """What became of sentence `number` of a text, whose line is `source`; of `Outputs`, only what was wanted is there.

    `text` is the translation in the form that was asked for, empty where there is none, and `translation` its
    derivation, in the words of the model. A forced target may have no derivation, for instance because the search for
    it would have been too large. `more_texts` are the choices of `more_rules`.
    """

    text: str = ""
    translation: Translation | None = None
    nbest: NBest | None = None
    hypergraph: Hypergraph | None = None
    samples: SampleBatch | None = None
    more_texts: tuple[str, ...] = ()
    has_derivation: bool = True
    is_too_large: bool = False
    number: int = 0
    source: str = ""
