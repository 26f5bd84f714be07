from dragoman.evaluation.reports.experiment_sections import mixture_curves, mixture_table

EVENTS = [
    {"iteration": 1, "score": 1.0, "shares": {"mix.tm.fwd.in": 0.7}, "phrases_from": {"tm": {"in": 0.9}}},
    {"iteration": 2, "score": 2.0, "shares": {"mix.tm.fwd.in": 0.65}, "phrases_from": {"tm": {"in": 0.8}}},
]


def test_a_row_for_each_share_and_a_column_for_each_iteration():
    assert mixture_table(EVENTS) == (
        ["share", "1", "2"],
        [("mix.tm.fwd.in", "0.700", "0.650"), ("phrases.tm.in", "0.900", "0.800")],
    )


def test_runs_without_mixtures_have_none():
    assert mixture_table([{"iteration": 1, "score": 1.0}]) == (["share", "1"], [])


def test_curves_are_grouped_by_what_tables_have_a_share_of():
    assert mixture_curves(EVENTS) == {
        "tm.fwd": {"in": [(1, 0.7), (2, 0.65)]},
        "phrases.tm": {"in": [(1, 0.9), (2, 0.8)]},
    }
