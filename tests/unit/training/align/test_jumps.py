"""Jumps in word links, and the reordering limit that they call for."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.core.corpus import Bitext, Corpus, links_of
from dragoman.core.progress import Progress
from dragoman.core.runtime import Runtime
from dragoman.model.parts import Settings
from dragoman.training.align.auto import Auto, share_of_long_jumps
from dragoman.training.align.diagonal import Diagonal
from dragoman.training.align.hmm import Hmm
from dragoman.training.phrase_model import PhraseModel
from dragoman.training.pipeline import TrainRecipe, train_model
from dragoman.training.prepare import PreparedText

WORDS = [f"w{i}" for i in range(10)]


class Listening(Progress):
    def __init__(self):
        self.said = []

    def note(self, text):
        self.said.append(text)

    def warn(self, text):
        """So small a text makes no good language model, of which training warns."""


def test_jumps_are_counted_within_sentences_only():
    assert share_of_long_jumps(links_of([])) == 0
    assert share_of_long_jumps(links_of([[(0, 0)], [(9, 0)]])) == 0
    # From 0 to 8 (7 words are left out), from 8 back to 1 (8 of them), from 1 to 2.
    links = links_of([[(0, 0), (8, 1), (1, 2), (2, 3)]])
    assert share_of_long_jumps(links) == pytest.approx(2 / 3)
    assert share_of_long_jumps(links, 7) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("order", "options", "settings", "expected"),
    [
        (range(10), PhraseModel(), Settings(), 6),
        ([9, 0, 8, 1, 7, 2, 6, 3, 5, 4], PhraseModel(), Settings(), 12),
        ([9, 0, 8, 1, 7, 2, 6, 3, 5, 4], PhraseModel(reordering_limit=4), Settings(), 4),
        ([9, 0, 8, 1, 7, 2, 6, 3, 5, 4], PhraseModel(), Settings(reordering_limit=8), 8),
    ],
)
def test_models_of_distant_languages_have_a_longer_limit(order, options, settings, expected, tmp_path):
    links = tmp_path / "links"
    links.write_text(" ".join(f"{i}-{j}" for j, i in enumerate(order)) + "\n", encoding="utf-8")
    source = " ".join(WORDS)
    target = " ".join(WORDS[i].upper() for i in order)
    bitext = Bitext(Corpus.from_lines([source]), Corpus.from_lines([target]))
    listening = Listening()
    text, recipe = PreparedText(bitext, settings), TrainRecipe(phrase_model=options)
    found = train_model(text, recipe, alignment=links, runtime=Runtime(progress=listening)).model
    assert found.settings.reordering_limit == expected
    assert any("reordering limit is 12" in text for text in listening.said) == (expected == 12)


def in_order(order):
    rng = np.random.default_rng(1)
    rows = [rng.permutation(40)[:10] for _ in range(60)]
    return Bitext(
        Corpus.from_lines(" ".join(f"w{i}" for i in row) for row in rows),
        Corpus.from_lines(" ".join(f"W{i}" for i in row[order]) for row in rows),
    )


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (range(10), Diagonal()),
        ([9, 0, 8, 1, 7, 2, 6, 3, 5, 4], Hmm()),
        # Only from the other side do these links jump far.
        ([0, 2, 4, 6, 8, 1, 3, 5, 7, 9], Hmm()),
    ],
)
def test_the_default_aligner_looks_at_the_word_order_from_both_sides(order, expected):
    bitext, listening = in_order([*order]), Listening()
    found, wanted = Auto().align(bitext, runtime=Runtime(progress=listening)), expected.align(bitext)
    assert found.forward.values.tobytes() == wanted.forward.values.tobytes()
    assert found.reverse.values.tobytes() == wanted.reverse.values.tobytes()
    assert any("aligning again by the HMM" in text for text in listening.said) == isinstance(expected, Hmm)


def test_the_diagonal_aligner_is_said_to_be_made_for_others():
    bitext = in_order([9, 0, 8, 1, 7, 2, 6, 3, 5, 4])
    for aligner in (Diagonal(), Hmm()):
        listening = Listening()
        train_model(PreparedText(bitext), TrainRecipe(aligner=aligner), runtime=Runtime(progress=listening))
        assert any("reordering limit is 12" in text for text in listening.said)
        assert any("try the aligner hmm" in text for text in listening.said) == isinstance(aligner, Diagonal)
