"""Joshua's grammars: `[X] ||| la [X,1] ||| the [X,1] ||| 0.5 1.25 0 ||| 0-0`, one rule per line.

Numbers without a name are costs (negative logarithms), identified by position; numbers with a name are used unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.core.corpus import Vocab
from dragoman.core.files import PathLike
from dragoman.core.phrases import PhrasePairs
from dragoman.core.runtime import Runtime
from dragoman.formats.grammar_lines import read_numbered_grammar, write_numbered_grammar


def read_joshua_grammar(
    path: PathLike,
    *,
    source_vocab: Vocab | None = None,
    target_vocab: Vocab | None = None,
    score_names: Sequence[str] | None = None,
    runtime: Runtime = Runtime(),
) -> PhrasePairs:
    """Read a grammar of Joshua (or Thrax), compressed or not.

    Scores are the exponentials of features. Those without a name are called s0, s1 and so on, unless `score_names` is
    given; name p(e|f) `fwd` if rules are to be limited by it.
    """
    return read_numbered_grammar(
        path,
        unnamed="s{}".format,
        costs=True,
        source_vocab=source_vocab,
        target_vocab=target_vocab,
        score_names=score_names,
        runtime=runtime,
    )


def write_joshua_grammar(
    path: PathLike, rules: PhrasePairs, *, named: bool = False, runtime: Runtime = Runtime()
) -> None:
    """Write a grammar for Joshua: negative logarithms of the scores in their order or, if `named`, NAME=LOGARITHM."""
    write_numbered_grammar(path, rules, named=named, costs=not named, runtime=runtime)
