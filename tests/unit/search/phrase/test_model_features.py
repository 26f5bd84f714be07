"""A model's extra features in every search, against their definitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.errors import UsageError
from dragoman.features import FEATURES
from dragoman.model.bundle import Model
from dragoman.model.edit import encode, filter_to_text
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.search.phrase.translator import PhraseTranslator
from oracles import extra_features, forest, phrase_space
from oracles.phrase_case import Boundaries

pytestmark = pytest.mark.filterwarnings("ignore:only .* target phrases occur")

EVERYTHING = SearchLimits(algorithm="exhaustive")
PREFIXES = ("pb.", "pl.", "swd.", "twi.", "wp.")


class Case:
    """A random model with all extra features, random weights for them, and a sentence with all its derivations."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        plain = phrase_space.random_model(rng, tables=int(rng.integers(1, 3)))
        plain = extra_features.with_random_links(plain, rng, counts=bool(rng.integers(2)))
        self.cutoffs = extra_features.Cutoffs(
            *(int(n) for n in rng.integers(0, 4, 4)),
            longest=int(rng.integers(1, 4)),
            tags_of=str(rng.choice(["phrases", "words"])),
        )
        self.tagged = extra_features.random_tagged_text(rng)
        chosen = [
            FEATURES.get("word-insertion")(target_words=self.cutoffs.inserted),
            FEATURES.get("word-deletion")(source_words=self.cutoffs.deleted),
            FEATURES.get("word-pair")(source_words=self.cutoffs.sources, target_words=self.cutoffs.targets),
            FEATURES.get("phrase-length")(longest=self.cutoffs.longest),
            FEATURES.get("boundary-tags")(tags_of=self.cutoffs.tags_of),
        ]
        model = plain.with_features(chosen, tagged=self.tagged)
        if len(model.tables) == 2 and rng.random() < 0.5:  # links that one table knows and the other does not
            name = list(model.tables)[int(rng.integers(2))]
            model = replace(model, tables={**model.tables, name: replace(model.tables[name], alignments=None)})
        self.model = model
        self.sentence = phrase_space.random_sentence(rng, 4)
        self.limit = int(rng.integers(-1, 4))
        options = phrase_space.options(self.model, self.sentence, 3)
        self.derivations = [
            (
                derivation,
                extra_features.derivation_features(model, self.tagged, self.sentence, derivation, self.cutoffs),
            )
            for derivation in phrase_space.derivations(options, len(self.sentence.split()), self.limit)
        ]
        names = sorted({name for _, values in self.derivations for name in values})
        self.weights = self.model.weights.updated({name: float(rng.normal()) for name in names})
        self.space = SpaceLimits(reordering_limit=self.limit, table_limit=3)

    def translator(self, **settings):
        return PhraseTranslator(self.model, self.weights, space=self.space, **settings)


def sparse_part(values):
    return {name: value for name, value in values.items() if name.startswith(PREFIXES)}


@pytest.mark.parametrize("seed", range(40))
def test_hypergraphs_hold_what_the_definitions_say(seed):
    case = Case(seed)
    graph = case.translator(limits=EVERYTHING).search(case.sentence)
    found = [tuple(sorted(sparse_part(total).items())) for total in forest.totals(graph, case.weights)]
    assert sorted(found) == sorted(tuple(sorted(values.items())) for _, values in case.derivations)


@pytest.mark.parametrize("seed", range(40))
def test_the_best_derivation_and_lists_agree_with_enumeration(seed):
    case = Case(seed)

    def score(derivation, sparse):
        dense = phrase_space.features(case.model, derivation)
        return sum(case.weights.get(name, 0.0) * value for name, value in {**dense, **sparse}.items())

    best = max(score(*one) for one in case.derivations)
    (translation,) = case.translator(limits=EVERYTHING).translate([case.sentence], features=True)
    assert translation.score == pytest.approx(best, abs=1e-9)
    (lists,) = case.translator(limits=EVERYTHING).nbest([case.sentence], 5)
    np.testing.assert_allclose(lists.features.dot(case.weights), lists.scores, atol=1e-9)
    every = sorted((score(*one) for one in case.derivations), reverse=True)
    np.testing.assert_allclose(lists.scores, every[: len(lists.scores)], atol=1e-9)
    used = {name for h in range(len(lists.scores)) for name in lists.features.row(h)}
    assert {n for n in lists.features.names if n.startswith(PREFIXES)} == {n for n in used if n.startswith(PREFIXES)}


def test_models_keep_their_features_on_disk(tmp_path):
    case = Case(3)
    case.model.save(tmp_path / "m")
    loaded = Model.load(tmp_path / "m")
    assert list(loaded.sparse_features) == list(case.model.sparse_features)
    before, after = (
        PhraseTranslator(model, case.weights, space=case.space).search(case.sentence) for model in (case.model, loaded)
    )
    np.testing.assert_array_equal(after.scores, before.scores)
    loaded.save(tmp_path / "again")
    for file in (tmp_path / "m").rglob("*.*"):
        assert (tmp_path / "again" / file.relative_to(tmp_path / "m")).read_bytes() == file.read_bytes()
    corpus_file = tmp_path / "text"
    corpus_file.write_text(f"{case.sentence}\n", encoding="utf-8")
    cut = filter_to_text(loaded, encode(loaded, corpus_file))
    small = PhraseTranslator(cut, case.weights, space=case.space).search(case.sentence)
    # A table's logarithms are made anew from probabilities, in single precision.
    np.testing.assert_allclose(np.sort(small.scores), np.sort(before.scores), atol=1e-6)


def test_given_translations_and_dropped_words_have_no_links():
    case = Case(2)
    translator = PhraseTranslator(case.model, case.weights, markup=True)
    (found,) = translator.translate(['f9 <x translation="e0 new e0">f0 f1</x>'], features=True)
    sparse = sparse_part(found.features)
    longest = case.cutoffs.longest
    assert not [name for name in sparse if name.startswith(("twi.", "swd.", "wp."))]
    assert sparse[f"pl.s{min(2, longest)}t{min(3, longest)}"] == 1
    dropping = PhraseTranslator(case.model, case.weights, space=SpaceLimits(unknown_words="drop"))
    (found,) = dropping.translate(["f9"], features=True)
    assert sparse_part(found.features) == {"pl.s1t0": 1, "pb.<s>:<unk>": 1, "pb.<unk>:</s>": 1}


def test_a_second_boundary_feature_is_refused():
    case = Case(1)
    with pytest.raises(UsageError, match="a model can have one feature of neighbours only"):
        PhraseTranslator(case.model, features=[Boundaries()])
