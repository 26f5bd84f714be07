import pytest

from dragoman.formats.cdec import read_cdec_grammar
from dragoman.formats.grammar_lines import union_of_rules
from oracles.rules import rules_as_dict


@pytest.fixture
def read(tmp_path):
    def read(*texts):
        parts = []
        for i, text in enumerate(texts):
            (tmp_path / str(i)).write_text(text)
            vocabs = (parts[-1].source_vocab, parts[-1].target_vocab) if parts else (None, None)
            parts.append(read_cdec_grammar(tmp_path / str(i), source_vocab=vocabs[0], target_vocab=vocabs[1]))
        return parts

    return read


def test_rules_of_all_lists_are_there_once_and_sources_together(read):
    one = "[X] ||| a [X,1] ||| [X,1] x ||| f=0 ||| 0-1\n[X] ||| b ||| y ||| f=0\n"
    two = "[X] ||| c ||| z ||| g=0\n[X] ||| b ||| y ||| f=5 g=5 ||| 0-0\n[X] ||| b ||| x ||| g=-100\n"
    union = union_of_rules(read(one, two))
    assert union.score_names == ("f", "g")
    assert rules_as_dict(union) == {
        (("a", -1), (-1, "x")): (["1", "1"], [(0, 1)], None),
        (("b",), ("y",)): (["1", "1"], [], None),
        (("b",), ("x",)): (["1", "3.7201e-44"], [], None),
        (("c",), ("z",)): (["1", "1"], [], None),
    }
    assert sorted(union.source_ids.tolist()) == union.source_ids.tolist()


def test_one_list_is_itself_and_links_may_be_missing(read):
    (rules,) = read("[X] ||| a ||| x ||| f=0\n")
    assert union_of_rules([rules]) is rules
    assert union_of_rules(read("[X] ||| a ||| x ||| f=0\n", "[X] ||| b ||| x ||| f=0\n")).alignments is None
