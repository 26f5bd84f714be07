"""Hope, fear and max-BLEU translations as CSV.

python -m reproduction.oracle_tables OUT MODEL WEIGHTS SOURCE REFERENCE SENTENCES
"""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path

from dragoman.core.corpus import Corpus
from dragoman.core.files import read_lines
from dragoman.metrics.combined import parse_metric
from dragoman.model.bundle import Model
from dragoman.search.translator import Translator
from dragoman.tuning.problems.hope_fear import HypothesisFinder, HypothesisSettings, oracle_lists
from reproduction.collect import write_table

#: Translations for each µ.
_COUNT = 10


def main(out: str, model: str, weights: str, source: str, reference: str, sentences: str) -> None:
    """Write B of the ten best translations of each sentence for each µ, and how far they are from the model's best.

    `lost` is the difference in model score. µ = 1 is the model's own list, and inf is fear.
    """
    loaded = Model.load(model)
    translator = Translator.of(loaded, loaded.read_weights(Path(weights) / "weights.txt"))
    lines = list(islice(read_lines(source), int(sentences)))
    scorer = parse_metric("bleu").scorer([Corpus.from_lines(islice(read_lines(reference), int(sentences)))])
    settings = HypothesisSettings(best=_COUNT, hope=_COUNT, fear=_COUNT, beam=_COUNT)
    finder = HypothesisFinder(translator, lines, scorer, 1, settings)
    rows: list[tuple[object, ...]] = [("sentence", "mu", "place", "B", "lost")]
    for sentence in range(len(lines)):
        lists = oracle_lists(finder, sentence, translator.weights, _COUNT)
        best = lists["1"][0].score
        for mu, found in lists.items():
            rows += [(sentence + 1, mu, place, one.gain, best - one.score) for place, one in enumerate(found, 1)]
    write_table(Path(out), rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
