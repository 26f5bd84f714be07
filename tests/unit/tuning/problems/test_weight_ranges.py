"""Ranges of random starts: ours, and those of the thesis."""

from __future__ import annotations

from dragoman.tuning.problems.problem import weight_ranges

NAMES = ["lm", "lm2", "word_penalty", "distortion", "tm.fwd", "tm2.lex_bwd", "phrase_penalty", "lr.swap_fwd", "glue"]
MOSES = ["LM0", "WordPenalty0", "Distortion0", "TranslationModel0", "PhrasePenalty0", "LexicalReordering0"]


def test_the_preset_has_the_values_of_tables_7_1_and_7_4():
    two, half, other = (0.0, 2.0), (0.0, 0.5), (-1.0, 1.0)
    assert [*weight_ranges(NAMES, "schuth").values()] == [two, two, other, two, half, half, half, two, other]
    assert [*weight_ranges(MOSES, "schuth").values()] == [two, other, two, half, half, two]
    assert weight_ranges(["tm2.penalty"], "schuth") == {"tm2.penalty": other}


def test_ours_stay_the_default():
    one, other = (0.0, 1.0), (-1.0, 1.0)
    assert [*weight_ranges(NAMES).values()] == [one, one, other, one, one, one, other, one, other]
