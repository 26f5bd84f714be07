import numpy as np
import pytest

from dragoman.core.corpus import Bitext, Corpus, Links, links_of
from dragoman.core.errors import DataError, UsageError
from dragoman.core.phrases import PHRASE_SCORES
from dragoman.core.runtime import Runtime
from dragoman.training.extract import extract_phrases, score_reordering
from dragoman.training.lexical import lexical_tables
from dragoman.training.score import ScoredPhrases, score_phrases
from oracles.phrase_table import phrase_table, random_bitext


def scored(bitext: Bitext, links: Links, threads: int = 1, max_length: int = 3, **options: str) -> ScoredPhrases:
    instances = extract_phrases(bitext, links, max_length=max_length)
    lexical, runtime = lexical_tables(bitext, links), Runtime(threads=threads)
    result = score_phrases(instances, bitext, links, lexical, runtime=runtime, **options)  # type: ignore[arg-type]
    result.pairs.reordering["msd"] = score_reordering(instances, result.pair_of_instance, len(result.pairs))
    return result


@pytest.mark.parametrize("seed", range(6))
def test_the_table_is_that_of_plain_counting(seed: int) -> None:
    # Two words and many links make phrase pairs with several alignments, and ties among them.
    bitext, links, sides = random_bitext(np.random.default_rng(seed), 120, words=2 + seed % 3, longest=6, links=0.9)
    expected = phrase_table(sides, 3)
    pairs = scored(bitext, links).pairs
    assert pairs.score_names == PHRASE_SCORES
    assert len(pairs) == len(expected)
    assert pairs.alignments is not None
    assert pairs.counts is not None
    for row in range(len(pairs)):
        source = bitext.source.vocab.text(pairs.sources[int(pairs.source_ids[row])])
        target = bitext.target.vocab.text(pairs.targets[int(pairs.target_ids[row])])
        scores, alignment, counts, reordering = expected[tuple(source.split()), tuple(target.split())]
        # The lexical weights are products of rounded numbers; everything else is rounded once.
        np.testing.assert_allclose(pairs.scores[row], np.array(scores, np.float32), rtol=2e-7)
        assert pairs.scores[row, ::2].tolist() == [np.float32(float(p)) for p in scores[::2]]
        assert pairs.alignments[row].tolist() == [256 * s + t for s, t in alignment]
        assert tuple(pairs.counts[row]) == counts
        assert pairs.reordering["msd"][row].tolist() == [np.float32(float(p)) for p in reordering]


def test_of_equally_frequent_alignments_the_greater_is_chosen() -> None:
    # "a b ||| x y" with two alignments, once each: the forward choice looks at x first, the backward choice at a.
    bitext = Bitext(Corpus.from_lines(["a b", "a b"]), Corpus.from_lines(["x y", "x y"]))
    pairs = scored(bitext, links_of([[(0, 0), (0, 1), (1, 1)], [(0, 1), (1, 0)]])).pairs
    assert pairs.alignments is not None
    row = next(i for i in range(len(pairs)) if len(pairs.sources[int(pairs.source_ids[i])]) == 2)
    # x is linked to {a} in the first and to {b} in the second: the second is greater.
    assert pairs.alignments[row].tolist() == [1, 256]


def test_order_of_the_table() -> None:
    bitext, links, _ = random_bitext(np.random.default_rng(3), 300)
    pairs = scored(bitext, links).pairs
    targets = [tuple(phrase.tolist()) for phrase in pairs.targets]
    keys = [
        (int(pairs.source_ids[i]), -pairs.scores[i, 2], -pairs.scores[i, 0], targets[int(pairs.target_ids[i])])
        for i in range(len(pairs))
    ]
    assert keys == sorted(keys)
    assert len({key[0] for key in keys}) == len(pairs.sources)
    assert len(set(pairs.target_ids.tolist())) == len(pairs.targets) == len(set(targets))


def test_pair_of_instance_leads_back_to_the_words() -> None:
    bitext, links, _ = random_bitext(np.random.default_rng(4), 100)
    instances = extract_phrases(bitext, links, max_length=3)
    result = score_phrases(instances, bitext, links, lexical_tables(bitext, links))
    for i, pair in enumerate(result.pair_of_instance.tolist()):
        sentence = bitext.target.sentences[int(instances.sentence[i])]
        begin = int(instances.target_begin[i])
        phrase = result.pairs.targets[int(result.pairs.target_ids[pair])]
        assert sentence[begin : begin + int(instances.target_length[i])].tolist() == phrase.tolist()


def test_threads_do_not_change_anything() -> None:
    bitext, links, _ = random_bitext(np.random.default_rng(6), 5000, words=12)
    one, two, three = (scored(bitext, links, threads) for threads in (1, 2, 3))
    assert len(one.pairs.sources) > 1500

    def everything(result: ScoredPhrases) -> list[bytes]:
        pairs = result.pairs
        assert pairs.alignments is not None
        assert pairs.counts is not None
        ragged = [array for r in (pairs.sources, pairs.targets, pairs.alignments) for array in (r.values, r.offsets)]
        columns = [pairs.source_ids, pairs.target_ids, pairs.scores, pairs.counts, pairs.reordering["msd"]]
        return [array.tobytes() for array in (*ragged, *columns, result.pair_of_instance)]

    assert everything(one) == everything(two) == everything(three)


def test_no_phrases_make_an_empty_table() -> None:
    bitext = Bitext(Corpus.from_lines(["a", ""]), Corpus.from_lines(["x", ""]))
    result = scored(bitext, links_of([[], []]))
    assert len(result.pairs) == len(result.pairs.sources) == len(result.pair_of_instance) == 0
    assert result.pairs.scores.shape == (0, 4)
    assert result.pairs.reordering["msd"].shape == (0, 6)


def test_instances_of_another_bitext_are_refused() -> None:
    long = Bitext(Corpus.from_lines(["a a a"]), Corpus.from_lines(["x x x"]))
    short = Bitext(Corpus.from_lines(["a"]), Corpus.from_lines(["x"]))
    links = links_of([[(0, 0)]])
    instances = extract_phrases(long, links)
    with pytest.raises(DataError, match="reach outside"):
        score_phrases(instances, short, links, lexical_tables(short, links))


def test_unknown_smoothing_is_refused() -> None:
    bitext = Bitext(Corpus.from_lines(["a"]), Corpus.from_lines(["x"]))
    with pytest.raises(UsageError, match="no smoothing is called 'laplace'; there are none, good-turing, kneser-ney"):
        scored(bitext, links_of([[(0, 0)]]), smoothing="laplace")


@pytest.mark.parametrize("smoothing", ["good-turing", "kneser-ney"])
def test_smoothing_changes_the_two_probabilities_only(smoothing: str) -> None:
    bitext, links, _ = random_bitext(np.random.default_rng(8), 400, words=8)
    plain, smooth = scored(bitext, links).pairs, scored(bitext, links, smoothing=smoothing).pairs
    key = [np.lexsort((pairs.target_ids, pairs.source_ids)) for pairs in (plain, smooth)]
    a, b = plain.scores[key[0]], smooth.scores[key[1]]
    assert np.array_equal(a[:, 1::2], b[:, 1::2])
    assert np.all(np.any(a[:, ::2] != b[:, ::2], axis=0))
    assert np.all((b[:, ::2] > 0) & (b[:, ::2] <= 1))
