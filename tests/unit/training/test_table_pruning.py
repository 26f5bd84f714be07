import math

import numpy as np
import pytest
from numpy.typing import NDArray

from dragoman.core.corpus import Bitext, Corpus, Vocab, links_of
from dragoman.core.errors import UsageError
from dragoman.core.phrases import PhrasePairs
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.training.extract import extract_phrases
from dragoman.training.lexical import lexical_tables
from dragoman.training.phrase_model import PhraseModel
from dragoman.training.score import score_phrases
from dragoman.training.table_pruning import least_significance, negative_log_p, prune_pairs, table_limit
from oracles.fisher import co_occurrence, negative_log_p as exact
from oracles.phrase_table import random_bitext


def table(sources: list[int], forward: list[float]) -> PhrasePairs:
    n = len(sources)
    vocab = Vocab.of(f"w{i}" for i in range(n))
    phrases = Ragged.of([[3 + i] for i in range(n)], np.int32)
    scores = np.array(forward, np.float32)[:, None]
    ids = np.arange(n, dtype=np.int32)
    return PhrasePairs(vocab, vocab, phrases, phrases, np.array(sources, np.int32), ids, scores, ("fwd",))


def significant(pairs: PhrasePairs, bitext: Bitext, threshold: str) -> PhrasePairs:
    options = PhraseModel(prune_significance=threshold)
    return prune_pairs(pairs, options, len(bitext), lambda rows: negative_log_p(pairs.take(rows), bitext))


def trained(seed: int = 0, sentences: int = 60) -> tuple[PhrasePairs, Bitext, tuple[list[list[str]], ...]]:
    bitext, links, sides = random_bitext(np.random.default_rng(seed), sentences, words=6)
    instances = extract_phrases(bitext, links, max_length=3)
    return score_phrases(instances, bitext, links, lexical_tables(bitext, links)).pairs, bitext, sides


def test_table_limit_keeps_the_best_and_the_earlier_of_equals() -> None:
    # The source phrases do not come in the order of their ids, nor the pairs in that of their scores.
    pairs = table([2, 2, 2, 0, 0, 0, 0, 1], [0.1, 0.4, 0.3, 0.25, 0.5, 0.25, 0.25, 0.01])
    assert table_limit(pairs, 2).target_ids.tolist() == [1, 2, 3, 4, 7]
    assert table_limit(pairs, 1).target_ids.tolist() == [1, 4, 7]
    assert table_limit(pairs, 9).target_ids.tolist() == list(range(8))


def test_table_limit_of_nothing_and_nonsense() -> None:
    assert len(table_limit(table([], []), 3)) == 0
    with pytest.raises(UsageError, match="prune_limit is -1; expected at least 0"):
        PhraseModel(prune_limit=-1)


def test_only_pairs_that_reach_the_least_score_are_kept_and_tested() -> None:
    pairs = table([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.1])
    tested = []

    def log_p(rows: NDArray[np.intp]) -> NDArray[np.float64]:
        tested.append(rows.tolist())
        return np.array([9.0, 0.0])

    assert prune_pairs(pairs, PhraseModel(prune_score=0.2), 5, log_p).target_ids.tolist() == [1, 2]
    assert not tested
    both = PhraseModel(prune_score=0.2, prune_significance="5")
    assert prune_pairs(pairs, both, 5, log_p).target_ids.tolist() == [1]
    assert tested == [[1, 2]]


@pytest.mark.parametrize("seed", range(3))
def test_significance_is_that_of_whole_numbers(seed: int) -> None:
    pairs, bitext, (source_lines, target_lines, _) = trained(seed)
    found = negative_log_p(pairs, bitext)
    for row in range(len(pairs)):
        source = tuple(bitext.source.vocab.text(pairs.sources[int(pairs.source_ids[row])]).split())
        target = tuple(bitext.target.vocab.text(pairs.targets[int(pairs.target_ids[row])]).split())
        counts = co_occurrence(source_lines, target_lines, source, target)
        assert found[row] == pytest.approx(exact(*counts, len(bitext)), rel=1e-13, abs=1e-14)


def test_phrases_of_a_table_with_another_vocabulary() -> None:
    pairs, bitext, _ = trained()
    words = sorted(set(bitext.source.vocab), reverse=True)
    vocab = Vocab.of(["unheard", *words])
    ids = bitext.source.vocab.map_to(vocab)
    foreign = Ragged(ids[pairs.sources.values], pairs.sources.offsets)
    moved = PhrasePairs(
        vocab,
        pairs.target_vocab,
        foreign,
        pairs.targets,
        pairs.source_ids,
        pairs.target_ids,
        pairs.scores,
        pairs.score_names,
    )
    assert np.array_equal(negative_log_p(moved, bitext), negative_log_p(pairs, bitext))
    unheard = Ragged(np.full_like(foreign.values, vocab.id("unheard")), foreign.offsets)
    nothing = PhrasePairs(
        vocab,
        pairs.target_vocab,
        unheard,
        pairs.targets,
        pairs.source_ids,
        pairs.target_ids,
        pairs.scores,
        pairs.score_names,
    )
    assert not negative_log_p(nothing, bitext).any()


def test_named_thresholds_differ_by_the_pairs_that_occur_once() -> None:
    lines = [f"a{i}" for i in range(50)] + ["b", "b"]
    bitext = Bitext(Corpus.from_lines(lines), Corpus.from_lines(lines))
    links = links_of([[(0, 0)]] * 52)
    pairs = score_phrases(extract_phrases(bitext, links), bitext, links, lexical_tables(bitext, links)).pairs
    assert len(significant(pairs, bitext, "a-e")) == 51
    kept = significant(pairs, bitext, "a+e")
    assert kept.source_vocab.text(kept.sources[int(kept.source_ids[0])]) == "b"
    assert len(kept) == 1
    assert len(significant(pairs, bitext, str(math.log(52) + 1))) == 1
    assert len(significant(pairs, bitext, "20")) == 0


def test_threads_do_not_change_anything() -> None:
    pairs, bitext, _ = trained(1, 3000)
    one, two, three = (negative_log_p(pairs, bitext, runtime=Runtime(threads=n)) for n in (1, 2, 3))
    assert one.tobytes() == two.tobytes() == three.tobytes()


@pytest.mark.parametrize("threshold", ["alpha", "nan"])
def test_thresholds_that_make_no_sense(threshold: str) -> None:
    with pytest.raises(UsageError, match=r"expected a\+e, a-e or a number"):
        least_significance(threshold)


def test_an_empty_table_and_an_empty_bitext() -> None:
    pairs, bitext, _ = trained()
    nothing = pairs.take(np.empty(0, np.int64))
    assert len(significant(nothing, bitext, "a+e")) == 0
    empty = Bitext(Corpus.from_lines([]), Corpus.from_lines([]))
    assert not negative_log_p(pairs, empty).any()
