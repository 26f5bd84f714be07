import numpy as np
import pytest

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.ragged import Ragged
from dragoman.model.bundle import Model
from dragoman.model.grammar import NONTERMINAL, Grammar
from dragoman.model.parts import Settings, initial_chart_weights
from dragoman.model.phrase_table import LOG_ZERO
from oracles import chart_space
from oracles.chart_space import rule_pairs

ROWS = [
    ("f0 X1", "X1 e0", (0.5, 0.5, 0.25, 0.5)),
    ("f1", "e0", (1, 1, 0.25, 0.25)),
    ("X1 f0 X2", "X2 e1 X1", (1, 1, 1, 1)),
    ("f1", "", (1, 1, 0.5, 0.75)),
    ("f0 X1", "e1 X1", (0, 0.5, 0.75, 0.5)),
    ("f1", "e2 e3", (1, 1, 0.25, 0.25)),
    ("X1 X2", "X1 X2", (1, 1, 0.5, 0.5)),
    ("f0", "e3", (1, 1, 0.5, 0.5)),
]
LINKS = [[(0, 1)], [(0, 0)], [(1, 1)], [], [(0, 0)], [(0, 0), (0, 1)], [], [(0, 0)]]


@pytest.fixture
def pairs():
    return rule_pairs(ROWS, links=LINKS, counts=True)


@pytest.fixture
def grammar(pairs):
    return Grammar.from_pairs(pairs)


def spelled(vocab, side):
    return " ".join(f"X{-symbol}" if symbol < 0 else vocab[symbol] for symbol in side.tolist())


def symbols(vocab, side):
    return [-1 if symbol[0] == "X" else vocab.id(symbol) for symbol in side.split()]


def targets_of(grammar, pairs, side):
    return [
        spelled(pairs.target_vocab, grammar.targets[row]) for row in grammar.lookup(symbols(pairs.source_vocab, side))
    ]


def as_dict(pairs):
    """Rules by their sides: scores, links, counts."""
    found = {}
    for row in range(len(pairs)):
        key = (
            spelled(pairs.source_vocab, pairs.sources[int(pairs.source_ids[row])]),
            spelled(pairs.target_vocab, pairs.targets[int(pairs.target_ids[row])]),
        )
        assert key not in found
        links = None if pairs.alignments is None else pairs.alignments[row].tolist()
        found[key] = (pairs.scores[row].tolist(), links, None if pairs.counts is None else pairs.counts[row].tolist())
    return found


def test_look_up_gives_the_rules_of_a_side_best_first(grammar, pairs):
    assert targets_of(grammar, pairs, "f1") == ["", "e0", "e2 e3"]  # equals in the order in which they came
    assert targets_of(grammar, pairs, "f0 X1") == ["e1 X1", "X1 e0"]
    assert targets_of(grammar, pairs, "X1 f0 X2") == ["X2 e1 X1"]
    assert targets_of(grammar, pairs, "X1 X2") == ["X1 X2"]
    assert list(grammar.lookup([-1, pairs.source_vocab.id("f0"), -2])) == list(
        grammar.lookup([-7, pairs.source_vocab.id("f0"), -7])
    )


def test_look_up_of_what_is_not_there(grammar, pairs):
    for side in ("", "X1", "X1 f0", "f0 f0", "f3", "f1 X1", "f0 X1 X2"):
        assert targets_of(grammar, pairs, side) == [], side
    assert list(grammar.lookup([2**31 - 1])) == []
    assert list(grammar.lookup([0])) == []


def test_there_and_back_again(grammar, pairs):
    ours, theirs = as_dict(pairs), as_dict(grammar.to_pairs(pairs.source_vocab, pairs.target_vocab))
    assert ours.keys() == theirs.keys()
    for key, (scores, *others) in ours.items():
        assert theirs[key][0] == pytest.approx(scores, rel=1e-6)
        assert theirs[key][1:] == tuple(others)
    assert len(grammar) == len(ROWS)
    assert grammar.about() == {"scores": ["bwd", "bwd_lex", "fwd", "fwd_lex"], "rules": 8}


def test_probability_zero_has_a_finite_logarithm_and_comes_back_as_zero(grammar, pairs):
    assert grammar.log_scores.min() == LOG_ZERO
    assert as_dict(grammar.to_pairs(pairs.source_vocab, pairs.target_vocab))["f0 X1", "e1 X1"][0][0] == 0


def test_sides_of_rules_that_were_left_out(pairs):
    grammar = Grammar.from_pairs(pairs.take(np.array([3, 0])))
    grammar.check(pairs.source_vocab, pairs.target_vocab)
    assert targets_of(grammar, pairs, "f1") == [""]
    assert targets_of(grammar, pairs, "X1 X2") == []
    assert len(grammar.to_pairs(pairs.source_vocab, pairs.target_vocab).sources) == 2


def test_a_grammar_without_rules(pairs):
    for empty in (Grammar.from_pairs(pairs.take(np.empty(0, np.int64))), Grammar.from_pairs(rule_pairs([]))):
        empty.check(pairs.source_vocab, pairs.target_vocab)
        assert len(empty) == 0
        assert list(empty.lookup([3])) == []
        assert len(Grammar.rebuild(empty.about(), empty.arrays())) == 0
        assert len(empty.to_pairs(pairs.source_vocab, pairs.target_vocab)) == 0


@pytest.mark.parametrize("seed", range(5))
def test_the_trie_against_a_dictionary(seed):
    rng = np.random.default_rng(seed)
    vocabs = Vocab.of([f"s{i}" for i in range(4 + 5 * seed)]), Vocab.of([f"t{i}" for i in range(9)])
    pairs = chart_space.random_pairs(rng, *vocabs, number=400, score_names=("fwd", "other"))
    grammar = Grammar.from_pairs(pairs)
    grammar.check(*vocabs)
    expected, links = {}, {}
    for row in range(len(pairs)):
        side = tuple(pairs.sources[int(pairs.source_ids[row])].tolist())
        target = tuple(pairs.targets[int(pairs.target_ids[row])].tolist())
        expected.setdefault(side, []).append((float(pairs.scores[row, 0]), target))
        links[side, target] = pairs.scores[row].tolist()
    total = 0
    for side, rules in expected.items():
        rows = grammar.lookup(side)
        total += len(rows)
        assert [tuple(grammar.targets[row].tolist()) for row in rows] == [
            target for _, target in sorted(rules, key=lambda rule: -rule[0])
        ]
        for row in rows:
            with np.errstate(divide="ignore"):
                scores = np.maximum(np.log(links[side, tuple(grammar.targets[row].tolist())]), LOG_ZERO)
            assert grammar.log_scores[row] == pytest.approx(scores, rel=1e-6, abs=1e-6)
    assert total == len(grammar) == len(pairs)
    for _ in range(500):
        side = tuple(rng.integers(2, len(vocabs[0]), rng.integers(1, 5)).tolist())
        side = tuple(NONTERMINAL if symbol == 2 else symbol for symbol in side)
        known = {tuple(max(symbol, NONTERMINAL) for symbol in other) for other in expected}
        assert bool(grammar.lookup(side)) == (side in known)
    # What is said of nodes, by following their parents up.
    for node in range(1, len(grammar.symbols)):
        path, at = [], node
        while at:
            path.append(int(grammar.symbols[at]))
            at = int(grammar.parents[at])
        assert grammar.arities[node] == path.count(NONTERMINAL)
        (spelt,) = grammar.sides(np.array([node]))
        assert [max(symbol, NONTERMINAL) for symbol in spelt.tolist()] == path[::-1]
        assert [symbol for symbol in spelt.tolist() if symbol < 0] == [-1, -2][: path.count(NONTERMINAL)]
        assert any(level.start <= node < level.stop for level in grammar.levels[len(path) :][:1])


def test_saved_and_loaded_with_a_model(grammar, pairs, tmp_path):
    plain = Grammar.from_pairs(rule_pairs([("f0", "e0", (0.5,)), ("f0", "e1", (0.75,))], ("s0",)))
    grammars = {"tm": grammar, "more": plain}
    weights = initial_chart_weights({name: part.score_names for name, part in grammars.items()}, [])
    settings = Settings(span_limit=7, glue=False)
    model = Model(pairs.source_vocab, pairs.target_vocab, {}, {}, weights, settings, grammars=grammars)
    assert model.kind == "chart"
    assert repr(model) == "Model(tm: 8 rules; more: 2 rules)"
    model.save(tmp_path / "one")
    loaded = Model.load(tmp_path / "one")
    assert (loaded.kind, loaded.settings) == ("chart", settings)
    assert list(loaded.grammars) == ["tm", "more"]
    assert loaded.feature_names == model.feature_names == list(loaded.read_weights(tmp_path / "one"))
    assert model.feature_names[-2:] == ["more.s0", "more.penalty"]
    for name, part in grammars.items():
        assert loaded.grammars[name].arrays().keys() == part.arrays().keys()
        for array_name, array in part.arrays().items():
            np.testing.assert_array_equal(loaded.grammars[name].arrays()[array_name], array)
    assert loaded.grammars["more"].alignments is None
    assert loaded.grammars["more"].counts is None
    assert targets_of(loaded.grammars["more"], pairs, "f0") == ["e0", "e1"]  # nothing to sort by
    loaded.save(tmp_path / "two")
    for file in (tmp_path / "one").rglob("*"):
        if file.is_file():
            assert file.read_bytes() == (tmp_path / "two" / file.relative_to(tmp_path / "one")).read_bytes()


def test_a_damaged_grammar_is_refused_with_its_folder(grammar, pairs, tmp_path):
    model = Model(pairs.source_vocab, pairs.target_vocab, {}, {}, Weights(), grammars={"tm": grammar})
    model.save(tmp_path / "m")
    np.save(tmp_path / "m" / "grammars" / "tm" / "symbols.npy", grammar.symbols + 1)
    with pytest.raises(DataError, match=r"grammars.tm: the array 'symbols' has no root; expected a grammar"):
        Model.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("X1", "X1 e0")], "no word on its source side, so that it could be used without end"),
        ([("", "e0")], "no word on its source side"),
        ([("f0 X1", "e0")], "other nonterminals on its two sides; expected the same"),
        ([("f0", "e0 X1")], "other nonterminals on its two sides"),
        ([("f0 X1", "X1 e0 X1")], "other nonterminals on its target side; expected -1 and -2, each at most once"),
        ([("f0 X1 X1", "X1 e0")], "other nonterminals on its source side; expected -1 and -2, each at most once"),
        ([("f0 X1 X2 X3", "X1 X2 X3")], "other nonterminals on its source side"),
        ([("f0 X2", "X2")], "other nonterminals on its source side; expected -1 before -2"),
        ([("X2 f0 X1", "X2 X1")], "other nonterminals on its source side; expected -1 before -2"),
        ([(" ".join(["f0"] * 256), "e0")], "source side of 256 symbols; expected 255"),
        ([("f0", " ".join(["e0"] * 256))], "target side of 256 symbols; expected 255"),
    ],
)
def test_rules_that_no_chart_can_use(rows, message):
    sound = [("f0", "e0"), ("f1 X1 X2", "X2 X1 e0")]
    with pytest.raises(UsageError, match=message):
        Grammar.from_pairs(rule_pairs([(*row, (1, 1, 1, 1)) for row in [*sound, *rows]]))


def test_sides_of_the_greatest_length():
    rows = [(" ".join(["f0"] * 255), " ".join(["e0"] * 255), (1, 1, 1, 1))]
    pairs = rule_pairs(rows)
    grammar = Grammar.from_pairs(pairs)
    grammar.check(pairs.source_vocab, pairs.target_vocab)
    assert list(grammar.lookup([3] * 255)) == [0]
    assert len(grammar.levels) == 256


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("symbols", None, "the array 'symbols' is missing"),
        ("targets", None, "the array 'targets' is missing"),
        ("alignments", None, "the array 'alignments' is missing"),
        ("alignment_offsets", None, "the array 'alignment_offsets' is missing"),
        ("symbols", lambda a: a.astype(np.int64), "the array 'symbols' is of the wrong type or shape"),
        ("first_child", lambda a: a[:-1], "the array 'first_child' is of the wrong type or shape"),
        ("first_rule", lambda a: a[:-1], "the array 'first_rule' is of the wrong type or shape"),
        ("targets", lambda a: a[:-1], "the array 'target_offsets' does not fit 'targets'"),
        ("log_scores", lambda a: a[:, :3], "the array 'log_scores' is of the wrong type or shape"),
        ("counts", lambda a: a[:2], "the array 'counts' is of the wrong type or shape"),
    ],
)
def test_arrays_that_do_not_fit_together(grammar, name, change, message):
    arrays = grammar.arrays()
    if change is None:
        del arrays[name]
    else:
        arrays[name] = change(arrays[name])
    with pytest.raises(DataError) as error:
        Grammar.rebuild(grammar.about(), arrays)
    assert str(error.value) == f"{message}; expected a grammar"


def test_links_for_another_number_of_rules(grammar):
    links = Ragged.of([[0]] * 3, np.uint16)
    arrays = grammar.arrays() | {"alignments": links.values, "alignment_offsets": links.offsets}
    with pytest.raises(DataError, match="the array 'alignment_offsets' does not fit the others"):
        Grammar.rebuild(grammar.about(), arrays)


@pytest.mark.parametrize("names", [[], "fwd", [3], None])
def test_scores_without_names(grammar, names):
    with pytest.raises(DataError, match=r"calls its scores .*; expected a list of names"):
        Grammar.rebuild({"scores": names}, grammar.arrays())


def put(at, value):
    def change(array):
        array = array.copy()
        array[at] = value
        return array

    return change


# The nodes: 0 root; 1 X, 2 f0, 3 f1; 4 X X, 5 X f0, 6 f0 X; 7 X f0 X. The rules: 0 of node 2, 1 to 3 of node 3 ...
@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("symbols", put(0, 3), "the array 'symbols' has no root"),
        ("first_child", put(0, 0), "the array 'symbols' has no root"),
        ("first_child", put(-1, 9), "the array 'first_child' has other ends"),
        ("first_child", put(1, 2**40), r"the array 'first_child' falls from 1099511627775 to"),
        ("first_child", put(4, 4), "the array 'first_child' falls"),
        ("first_child", lambda a: np.array([1, 1, 1, 1, 1, 1, 1, 1, 8]), "has nodes before their parents"),
        ("symbols", put(2, 7), "the array 'symbols' holds 7; expected numbers from -1 to 6"),
        ("symbols", put(2, -2), "the array 'symbols' holds -2"),
        ("symbols", put(2, 4), "the array 'symbols' does not rise; expected the children of a node in order"),
        ("symbols", put(1, 3), "the array 'symbols' does not rise"),
        ("symbols", put(5, -1), "the array 'symbols' does not rise"),
        ("first_rule", put(0, 1), "the array 'first_rule' has other ends"),
        ("first_rule", put(-1, 9), "the array 'first_rule' has other ends"),
        ("first_rule", put(4, 2**40), "the array 'first_rule' falls"),
        ("first_rule", put(1, 1), "the array 'first_rule' .*"),
        ("first_rule", lambda a: np.where(np.arange(9) == 2, 1, a), "rules without a word; expected words in every so"),
        (
            "first_rule",
            lambda a: a - (np.arange(9) == 5),
            "the array 'targets' has other nonterminals than its source side",
        ),
        ("target_offsets", put(1, 2**40), "the array 'target_offsets' falls"),
        ("targets", put(0, 7), "the array 'targets' holds 7; expected numbers from -2 to 6"),
        ("targets", put(0, -3), "the array 'targets' holds -3"),
        ("targets", put(0, -1), "the array 'targets' has other nonterminals than its source side; expected the same"),
        ("targets", lambda a: np.where(a == -2, -1, a), "the array 'targets' has other nonterminals"),
        ("targets", lambda a: np.where(a == -1, 3, a), "the array 'targets' has other nonterminals"),
        ("log_scores", put((3, 1), np.nan), "the array 'log_scores' holds nan"),
        ("log_scores", put((3, 1), np.inf), "the array 'log_scores' holds inf"),
        ("alignment_offsets", put(1, 2**40), "the array 'alignment_offsets' falls"),
        ("alignments", put(0, 255), "the array 'alignments' links words that do not exist"),
        ("alignments", put(0, 255 << 8), "the array 'alignments' links words that do not exist"),
    ],
)
def test_arrays_that_would_lead_a_chart_astray(grammar, pairs, name, change, message):
    grammar.check(pairs.source_vocab, pairs.target_vocab)
    arrays = grammar.arrays()
    arrays[name] = change(arrays[name])
    damaged = Grammar.rebuild(grammar.about(), arrays)
    with pytest.raises(DataError, match=message):
        damaged.check(pairs.source_vocab, pairs.target_vocab)


def test_tries_that_are_too_deep_or_have_too_many_nonterminals(pairs):
    def chain(symbols):
        nodes = len(symbols) + 1
        rule = Grammar.from_pairs(rule_pairs([("f0", "e0", (1, 1, 1, 1))])).arrays()
        first_rule = np.zeros(nodes + 1, np.int64)
        first_rule[-1] = 1
        arrays = {"symbols": np.array([-2, *symbols], np.int32), "first_rule": first_rule}
        arrays["first_child"] = np.append(np.arange(1, nodes + 1), nodes)
        return Grammar.rebuild({"scores": ["bwd", "bwd_lex", "fwd", "fwd_lex"]}, rule | arrays)

    chain([3] * 255).check(pairs.source_vocab, pairs.target_vocab)
    with pytest.raises(DataError, match="'first_child' is too deep; expected at most 255 symbols"):
        chain([3] * 256).check(pairs.source_vocab, pairs.target_vocab)
    for nonterminals in (3, 4, 128, 254):
        with pytest.raises(DataError, match="'symbols' has too many nonterminals; expected at most 2"):
            chain([3, *[-1] * nonterminals]).check(pairs.source_vocab, pairs.target_vocab)


def test_no_change_of_a_byte_is_dangerous(grammar, pairs):
    # Whatever is not refused can be searched.
    rng = np.random.default_rng(8)
    accepted = 0
    for _ in range(400):
        arrays = {name: array.copy() for name, array in grammar.arrays().items()}
        name = str(rng.choice(sorted(arrays)))
        flat = arrays[name].reshape(-1).view(np.uint8)
        flat[int(rng.integers(len(flat)))] ^= np.uint8(1 << int(rng.integers(8)))
        try:
            changed = Grammar.rebuild(grammar.about(), arrays)
            changed.check(pairs.source_vocab, pairs.target_vocab)
        except DataError:
            continue
        accepted += 1
        again = Grammar.from_pairs(changed.to_pairs(pairs.source_vocab, pairs.target_vocab))
        again.check(pairs.source_vocab, pairs.target_vocab)
        np.testing.assert_array_equal(again.first_rule[-1:], changed.first_rule[-1:])
    assert accepted > 20
