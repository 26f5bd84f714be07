from dragoman.evaluation.figures.runs import draw_runs

EVENTS = [
    {"iteration": i, "score": 30.0 + i, "shares": {"mix.tm.fwd.in": 0.5 + i / 10, "mix.tm.fwd.out": 0.5 - i / 10}}
    for i in (1, 2, 3)
]


def test_shares_of_mixed_tables_have_a_panel_for_each_run_that_has_them():
    plain = [{"iteration": 1, "score": 30.0}]
    *_, shares = draw_runs({"mixed": EVENTS, "plain": plain}, "bleu").axes
    assert [line.get_label() for line in shares.get_lines()] == ["tm.fwd.in", "tm.fwd.out"]
    assert list(shares.get_lines()[0].get_ydata()) == [0.6, 0.7, 0.8]
    assert len(draw_runs({"plain": plain}, "bleu").axes) == 1
