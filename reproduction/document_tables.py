"""Systems with and without a feature of documents, decoded by annealing, as CSV.

python -m reproduction.document_tables OUT SOURCE REFERENCE LABELS SCANS SYSTEM MODEL RUN [SYSTEM MODEL RUN ...]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from dragoman.core.corpus import Corpus
from dragoman.core.files import read_lines
from dragoman.metrics.combined import parse_metric
from dragoman.model.bundle import Model
from dragoman.sampling.annealing import anneal
from dragoman.sampling.schedule import Annealing
from dragoman.search.translator import Translator
from reproduction.collect import write_table

#: The shortest content words of `lexical_consistency`, in characters.
_SHORTEST = 4


def main(out: str, source: str, reference: str, labels: str, scans: str, *systems: str) -> None:
    """Write for each system, and for the reference, BLEU and the mean over documents of lexical consistency."""
    lines, references, documents = (list(read_lines(path)) for path in (source, reference, labels))
    scorer = parse_metric("bleu").scorer([Corpus.from_lines(references)])
    rows: list[tuple[object, ...]] = [("system", "seed", "bleu", "consistency")]
    rows.append(("reference", "", "", consistency(lines, references, documents)))
    for name, model, run in zip(systems[::3], systems[1::3], systems[2::3], strict=True):
        loaded = Model.load(model)
        translator = Translator.of(loaded, loaded.read_weights(Path(run) / "weights.txt"))
        for seed in (1, 2):
            results = anneal(translator, lines, Annealing(scans=int(scans)), seed=seed, documents=documents)
            texts = [one.text for result in results for one in result.translations()]
            score = scorer.score(scorer.statistics(Corpus.from_lines(texts)).sum(axis=0))
            rows.append((name, seed, score, consistency(lines, texts, documents)))
    write_table(Path(out), rows)


def consistency(source: Sequence[str], target: Sequence[str], documents: Sequence[str]) -> float:
    """Return the mean over documents of lexical consistency, by its definition.

    >>> consistency(["grace there", "grace here"], ["grace", "mercy"], ["a", "a"])
    -0.6666666666666667
    """
    rows = zip(source, target, documents, strict=True)
    values = [_of_document([(s, t) for s, t, _ in part]) for _, part in groupby(rows, key=lambda row: row[2])]
    return sum(values) / len(values)


def _of_document(pairs: Sequence[tuple[str, str]]) -> float:
    source, target = ([_content(pair[side]) for pair in pairs] for side in (0, 1))
    total = 0.0
    for word in set.union(*source):
        with_it = {i for i, row in enumerate(source) if word in row}
        if len(with_it) > 1:
            partners = set.union(*(target[i] for i in with_it))
            places = ({i for i, row in enumerate(target) if partner in row} for partner in partners)
            dice = [2 * len(with_it & there) / (len(with_it) + len(there)) for there in places]
            total += len(with_it) * (max(dice, default=0.0) - 1)
    return total


def _content(line: str) -> set[str]:
    return {word for word in line.split() if len(word) >= _SHORTEST and any(c.isalpha() for c in word)}


if __name__ == "__main__":
    main(*sys.argv[1:])
