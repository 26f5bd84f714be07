"""Whatever a file holds, a reader gives a sound result or says what is wrong; never anything else."""

import contextlib

import numpy as np
import pytest

from dragoman.core.corpus import Bitext, Corpus
from dragoman.core.errors import DataError, DragomanError
from dragoman.core.files import read_lines
from dragoman.core.runtime import Runtime
from dragoman.formats import arpa, grammar_lines as numbered_grammar, pharaoh
from dragoman.formats.arpa import read_arpa
from dragoman.formats.cdec import read_cdec_grammar, read_cdec_weights, read_segment_grammars
from dragoman.formats.joshua_grammar import read_joshua_grammar
from dragoman.formats.moses import table_lines
from dragoman.formats.moses.ini import read_moses_ini
from dragoman.formats.moses.phrase_table import read_phrase_table
from dragoman.formats.moses.reordering import attach_reordering, read_reordering
from dragoman.formats.moses.rule_table import is_glue_grammar, read_glue_grammar, read_rule_table, write_rule_table
from dragoman.formats.penn_trees import bracketed_trees, parse_tree
from dragoman.formats.pharaoh import read_links
from dragoman.model.grammar import Grammar
from oracles.fuzzing import QUIET, ReaderFuzzing

pytestmark = pytest.mark.slow

LINES = ["a b", "c", "", "a b c d"]
BITEXT = Bitext(Corpus.from_lines(LINES), Corpus.from_lines(LINES))


def check_ragged(ragged, size):
    assert ragged.offsets[0] == 0
    assert ragged.offsets[-1] == len(ragged.values)
    assert np.all(np.diff(ragged.offsets) >= 0)
    assert ragged.values.size == 0 or (ragged.values.min() >= 0 and ragged.values.max() < size)


def check_pairs(table):
    check_ragged(table.sources, len(table.source_vocab))
    check_ragged(table.targets, len(table.target_vocab))
    for side, ids in ((table.sources, table.source_ids), (table.targets, table.target_ids)):
        assert len(ids) == len(table.scores)
        assert np.all((ids >= 0) & (ids < len(side)))
        assert len(ids) == 0 or (side.lengths[ids].min() >= 1 and side.lengths[ids].max() <= 255)
    assert np.isfinite(table.scores).all()
    assert np.all(table.scores >= 0)
    assert np.all(np.diff(table.source_ids) >= 0)
    assert len({*zip(table.source_ids.tolist(), table.target_ids.tolist(), strict=True)}) == len(table.source_ids)


def phrase_table(path):
    pairs = read_phrase_table(path, runtime=Runtime(progress=QUIET))
    check_pairs(pairs)
    assert len(pairs.score_names) == pairs.scores.shape[1]
    if pairs.alignments is not None:
        check_ragged(pairs.alignments, 1 << 16)
        rows = np.repeat(np.arange(len(pairs)), pairs.alignments.lengths)
        assert np.all(pairs.alignments.values >> 8 < pairs.sources.lengths[pairs.source_ids][rows])
        assert np.all(pairs.alignments.values & 255 < pairs.targets.lengths[pairs.target_ids][rows])
    if pairs.counts is not None:
        assert pairs.counts.shape == (len(pairs), 3)
        assert np.isfinite(pairs.counts).all()


def check_rules(rules):
    """A grammar's own check reads everything, so that nothing unsound gets by."""
    assert np.all(np.diff(rules.source_ids) >= 0)
    assert len(rules.score_names) == rules.scores.shape[1]
    assert np.isfinite(rules.scores).all()
    Grammar.from_pairs(rules).check(rules.source_vocab, rules.target_vocab)


def rule_table(path):
    rules = read_rule_table(path, runtime=Runtime(progress=QUIET))
    check_rules(rules)
    assert np.all((rules.scores >= 0) & (rules.scores <= 1))
    write_rule_table(path.with_name("written"), rules)
    again = read_rule_table(path.with_name("written"), runtime=Runtime(progress=QUIET))
    assert len(again) == len(rules)


def cdec_grammar(path):
    check_rules(read_cdec_grammar(path, runtime=Runtime(progress=QUIET)))


def joshua_grammar(path):
    check_rules(read_joshua_grammar(path, runtime=Runtime(progress=QUIET)))


def segments(path):
    path.with_name("FILE").write_bytes(CDEC)
    found, rules = read_segment_grammars(path, runtime=Runtime(progress=QUIET))
    assert len(found) > 0
    check_rules(rules)


def cdec_weights(path):
    assert np.isfinite([*read_cdec_weights(path).values()]).all()


def glue_grammar(path):
    is_glue_grammar(path)
    assert 0 < read_glue_grammar(path) < np.inf


def reordering(path):
    table = read_reordering(path, runtime=Runtime(progress=QUIET))
    check_pairs(table)
    with contextlib.suppress(DragomanError):
        pairs = read_phrase_table(path, runtime=Runtime(progress=QUIET))
        joined = attach_reordering(pairs, table, "lex", runtime=Runtime(progress=QUIET))
        assert joined.reordering["lex"].shape == (len(pairs), table.scores.shape[1])


def language_model(path):
    ngrams = read_arpa(path, runtime=Runtime(progress=QUIET))
    unigrams = set(ngrams.orders[0].words[:, 0].tolist())
    for order, table in enumerate(ngrams.orders, 1):
        assert table.words.shape == (len(table), order)
        assert set(table.words.reshape(-1).tolist()) <= unigrams
        assert len(table.logprobs) == len(table.backoffs) == len(table)
        assert np.all(table.logprobs <= 0)
        assert np.isfinite(table.backoffs).all()
        assert len(np.unique(table.words, axis=0)) == len(table)


def links(path):
    rows = read_links(path)
    check_ragged(rows, 1 << 32)
    for row in rows:
        assert np.all(np.diff(row.astype(np.int64)) > 0)


def links_of_bitext(path):
    rows = read_links(path, BITEXT)
    assert len(rows) == len(BITEXT)
    for row, length in zip(rows, BITEXT.source.sentences.lengths.tolist(), strict=True):
        assert np.all(row >> 16 < length)
        assert np.all(row & 0xFFFF < length)


def configuration(path):
    ini = read_moses_ini(path, runtime=Runtime(progress=QUIET))
    assert len({feature.name for feature in ini.features}) == len(ini.features) > 0
    assert np.isfinite([weight for feature in ini.features for weight in feature.weights]).all()
    assert ini.distortion_limit is None or isinstance(ini.distortion_limit, int)
    assert ini.table_limit is None or isinstance(ini.table_limit, int)


def trees(path):
    for number, line in enumerate(read_lines(path), 1):
        with contextlib.suppress(DataError):
            found = parse_tree(line)
            assert found.tree.words == len(found.leaves)
            assert found.over([*found.leaves]).labels == found.tree.labels
            continue
        with pytest.raises(DataError, match=rf":{number}: "):
            list(bracketed_trees(read_lines(path), path))
        raise DataError("is no tree")


PHRASES = b"""a b ||| x y ||| 0.5 0.25 1 2.718 ||| 0-0 1-1 ||| 4 3 2 ||| |||
a b ||| x ||| 0.5 8.44177e-05 1 1e-3 ||| 1-0 ||| 1 1 1 ||| k=v 1 ||| {p}
c\xc2\xa0d ||| \xc3\xa9 ||| 0 0 0 0 |||  ||| 0.5 1e6 3 ||| |||
"""
RULES = b"""[X][X] a [X][X] [X] ||| [X][X] [X][X] x [X] ||| 0.5 0.25 ||| 0-1 1-2 2-0 ||| 4 3 2 ||| |||
[X][X] a [X][X] [X] ||| [X][X] [X][X] x [X] ||| 0.5 1e-3 ||| 0-0 2-1 ||| 1 1 0.5 ||| |||
c\xc2\xa0d [X] ||| \xc3\xa9 [X] ||| 0 1 |||  ||| 0.5 1e6 3 ||| |||
"""
CDEC = b"""[X] ||| [X,1] a [X,2] ||| [2] x [1] ||| f=0.5 g=-99 ||| 1-1
[X] ||| b [X,1] ||| [X,1] ||| g=1;h=0 |||
[X] ||| c\xc2\xa0d ||| \xc3\xa9 ||| f=1e-3 ||| 0-0
"""
JOSHUA = b"""[X] ||| [X,1] a [X,2] ||| [X,2] x [X,1] ||| 0.5 99 ||| 1-1
[X] ||| b [X,1] ||| [X,1] ||| -1 0 f=1 |||
"""
SEGMENTS = b"""<seg grammar="FILE" id="0"> a b </seg>
<seg id=1 grammar=FILE>c</seg> ||| \xc3\xa9
"""
WEIGHTS = b"Glue 0.5\n# tuned\nWordPenalty -1e-3\n"
GLUE = b"""<s> [X] ||| <s> [S] ||| 1 ||| 0-0 ||| 0 ||| |||
[X][S] </s> [X] ||| [X][S] </s> [S] ||| 1 ||| 0-0 1-1 ||| 0 ||| |||
[X][S] [X][X] [X] ||| [X][S] [X][X] [S] ||| 2.718 ||| 0-0 1-1 ||| 0 ||| |||
"""
REORDERING = b"""a b ||| x y ||| 0.6 0.2 0.2 0.714286 0.142857 0.142857
a b ||| x ||| 0.1 0.2 0.7 0.3 0.3 0.4
c ||| \xc3\xa9 ||| 1 1 1 1 1 1e-9
"""
ARPA = b"""\\data\\
ngram 1=4
ngram 2=2

\\1-grams:
-1.5\t<unk>\t0
-99\t<s>\t-0.25
-0.75\t</s>
-inf\t\xc3\xa9

\\2-grams:
-0.25\t<s> \xc3\xa9
-0.5\t\xc3\xa9 </s>

\\end\\
"""
LINKS = b"0-0 1-1 0-1\n0-0:0.5\n\n3p2 1-3 1-3\n"
INI = b"""[mapping]
0 T 0 # comment
[distortion-limit]
6
[feature]
UnknownWordPenalty
WordPenalty
PhraseDictionaryMemory name=T0 num-features=2 path=FILE input-factor=0
Strange name=S
[weight]
WordPenalty0= -1
T0= 0.5 1e-3
"""
OLD_INI = b"""[ttable-file]
0 0 0 2 FILE
[lmodel-file]
8 0 3 FILE
[distortion-file]
0-0 msd 1 FILE
[weight-t]
0.5
0.5
[weight-l]
1
[weight-d]
1
0.2
[weight-w]
-1
"""
TREES = b"""(ROOT (S (NP-SBJ (DT a) (NN \xc3\xa9)) (VP (VBZ -LRB-) (-NONE- *T*-1))))
()

( (NP a (NN b)) ) (X c)
"""
READERS = {
    "phrases": (phrase_table, PHRASES),
    "rules": (rule_table, RULES),
    "cdec": (cdec_grammar, CDEC),
    "joshua": (joshua_grammar, JOSHUA),
    "segments": (segments, SEGMENTS),
    "weights": (cdec_weights, WEIGHTS),
    "glue": (glue_grammar, GLUE),
    "reordering": (reordering, REORDERING),
    "arpa": (language_model, ARPA),
    "links": (links, LINKS),
    "bitext": (links_of_bitext, LINKS),
    "ini": (configuration, INI),
    "old_ini": (configuration, OLD_INI),
    "trees": (trees, TREES),
}

PIECES = [
    *(b"|||", b" ||| ", b"\n", b"\r\n", b" ", b"\t", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8"),
    *(b"-", b"0-0", b"-1", b"nan", b"-inf", b"1e999", b"1e-999", b"0x1p3", b"99999999999", b"<unk>", b"a " * 300),
    *(b"\\end\\\n", b"\\2-grams:\n", b"ngram 3=1\n", b"[weight]\n", b"=", b"[", b"]", b"#", b"path=", b"name="),
    *(
        b"[X]",
        b"[X][X]",
        b" [X,1] ",
        b" [X,2] ",
        b" [1] ",
        b"[S]",
        b"[]",
        b"f=1",
        b";",
        b"<seg ",
        b"</seg>",
        b'"',
        b"1.5",
        b"(",
        b")",
        b"(NP (",
    ),
]


@pytest.fixture(params=READERS)
def reader(request, tmp_path, monkeypatch):
    read, valid = READERS[request.param]
    (tmp_path / "FILE").write_bytes(b"")
    monkeypatch.chdir(tmp_path)

    def run(data):
        path = tmp_path / "fuzzed"
        path.write_bytes(data)
        read(path)

    run.valid = valid
    return run


class TestReaders(ReaderFuzzing):
    pieces = PIECES
    chunked = (arpa, numbered_grammar, pharaoh, table_lines)
