"""Chart search and forest algorithms against enumeration, on thousands of random tiny hierarchical models.

    python benchmarks/chart_exactness.py --models 3000

For each model (one to three grammars, up to two language models, some of them pruned, span limits 1 to 6, table limits
0 to 3, with and without glue, unknown words) all derivations of a sentence are listed by definition, and compared with:
the exhaustive search and cube pruning without a limit (all scores), log Z, expected features, the probability of a
translation, its derivations when it is forced, and what is refused. Prints the largest differences.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from dragoman.core.errors import DataError
from dragoman.forest.derivation import translation_log_probability
from dragoman.forest.inside_outside import expected_features, log_partition
from dragoman.forest.kbest import kbest
from dragoman.search.limits import SearchLimits
from dragoman.search.translator import Translator
from oracles import chart_space
from quick import parse_arguments


def compare(seed: int, largest: dict[str, float]) -> int:
    rng = np.random.default_rng(seed)
    space = chart_space.random_space(rng)
    translator = Translator.of(space.model, limits=SearchLimits(algorithm="exhaustive"))
    if not space.derivations:
        try:
            translator.search(space.sentence)
        except DataError:
            return 0
        raise AssertionError(f"seed {seed}: a derivation where there is none")
    graph = translator.search(space.sentence)
    scores = np.sort(space.scores)[::-1]
    found = kbest(graph, len(scores) + 1)
    cube = Translator.of(space.model, limits=SearchLimits(pop_limit=1_000_000)).search(space.sentence)
    texts = space.texts
    text = [*texts][int(rng.integers(len(texts)))]
    words = graph.vocab.encode(f"{text}\n".encode())[0]
    forced = translator.force(space.sentence, text)
    log_z, log_share = np.logaddexp.reduce(scores), np.logaddexp.reduce(space.scores[texts[text]])
    if forced is None or not len(scores) == len(found) == len(kbest(cube, len(scores) + 1)):
        raise AssertionError(f"seed {seed}: another number of derivations")
    gaps = {
        "best score": abs(found.scores[0] - scores[0]),
        "k-best scores": np.abs(found.scores - scores).max(),
        "k-best scores of cube pruning without a limit": np.abs(kbest(cube, len(scores)).scores - scores).max(),
        "log Z": abs(log_partition(graph) - log_z),
        "expected features": np.abs(expected_features(graph) - np.exp(space.scores - log_z) @ space.rows).max(),
        "log-probability of a translation": abs(translation_log_probability(graph, words) - log_share + log_z),
        "log Z of a forced translation": abs(log_partition(forced) - log_share),
    }
    for name, gap in gaps.items():
        largest[name] = max(largest[name], float(gap))
    return len(scores)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=3000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first model")
    options = parse_arguments(parser, "--models 20")
    largest: dict[str, float] = defaultdict(float)
    derivations = sum(compare(seed, largest) for seed in range(options.first, options.first + options.models))
    print(f"{options.models:,} models, {derivations:,} derivations\n\n| | largest difference |\n|---|---|")
    for name, gap in largest.items():
        print(f"| {name} | {gap:.1e} |")


if __name__ == "__main__":
    main()
