"""Search and forest algorithms against enumeration, on thousands of random tiny models.

    python benchmarks/exactness.py --models 3000

For each model (one or two tables, up to two language models, with or without reordering, limits 0 to 4 and none,
unknown words) all derivations of a sentence are listed by definition, and compared with: the exhaustive search and the
stack search with a huge beam (best score), log Z, expected features, the order of the k best, and the probability of a
translation, from the lattice. Prints the largest differences.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from dragoman.forest.derivation import translation_log_probability
from dragoman.forest.inside_outside import expected_features, log_partition
from dragoman.forest.kbest import kbest
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.search.phrase.translator import PhraseTranslator
from oracles import phrase_space
from quick import parse_arguments


def compare(seed: int, largest: dict[str, float]) -> int:
    rng = np.random.default_rng(seed)
    tables, language_models = int(rng.integers(1, 3)), int(rng.integers(0, 3))
    reordering = bool(rng.random() < 0.7)
    model = phrase_space.random_model(rng, tables=tables, language_models=language_models, reordering=reordering)
    limit = int(rng.integers(-1, 5))
    space = SpaceLimits(reordering_limit=limit, table_limit=int(rng.integers(0, 4)))
    sentence = phrase_space.random_sentence(rng, 4)
    length = len(sentence.split())
    options = phrase_space.options(model, sentence, space.table_limit)
    derivations = list(phrase_space.derivations(options, length, limit))
    names = model.feature_names
    weights = model.weights.vector(names)
    rows = np.array([[phrase_space.features(model, d)[name] for name in names] for d in derivations])
    scores = rows @ weights
    log_z = np.logaddexp.reduce(scores)
    shares = np.exp(scores - log_z)
    texts = defaultdict(list)
    for derivation, score in zip(derivations, scores.tolist(), strict=True):
        texts[" ".join(word for option in derivation for word in option.words)].append(score)

    graph = PhraseTranslator(model, limits=SearchLimits(algorithm="exhaustive"), space=space).search(sentence)
    (stack,) = PhraseTranslator(model, limits=SearchLimits(algorithm="stack", stack_size=0), space=space).translate(
        [sentence]
    )
    found = kbest(graph, len(derivations) + 1)
    text = list(texts)[int(rng.integers(len(texts)))]
    words = graph.vocab.encode(f"{text}\n".encode())[0]
    gaps = {
        "number of derivations": abs(len(found) - len(derivations)),
        "best score": abs(found.scores[0] - scores.max()),
        "log Z": abs(log_partition(graph) - log_z),
        "expected features": np.abs(expected_features(graph) - shares @ rows).max(),
        "k-best scores": np.abs(found.scores - np.sort(scores)[::-1]).max(),
        "log-probability of a translation": abs(
            translation_log_probability(graph, words) - np.logaddexp.reduce(texts[text]) + log_z
        ),
        # A beam keeps clear of excursions that need several jumps back.
        "best score of the huge beam": abs(stack.score - scores.max()) if limit < 0 or limit >= length else 0.0,
    }
    for name, gap in gaps.items():
        largest[name] = max(largest[name], float(gap))
    return len(derivations)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=3000)
    options = parse_arguments(parser, "--models 20")
    largest: dict[str, float] = defaultdict(float)
    derivations = sum(compare(seed, largest) for seed in range(options.models))
    print(f"{options.models:,} models, {derivations:,} derivations\n\n| | largest difference |\n|---|---|")
    for name, gap in largest.items():
        print(f"| {name} | {gap:.1e} |")


if __name__ == "__main__":
    main()
