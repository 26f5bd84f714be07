"""What requests have done with sentences: the searches of the command line, with what is to be told of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from dragoman.core.nbest import NBest
from dragoman.core.progress import Progress
from dragoman.core.runtime import Runtime
from dragoman.formats.penn_trees import TreeFile, with_trees
from dragoman.front.system import System
from dragoman.model.source_trees import trees_for
from dragoman.search.search_result import SearchResult
from dragoman.search.translation import Translation
from dragoman.serve.json_text import Written, written
from dragoman.translation.outputs import Outputs, SentenceResult
from dragoman.translation.stream import Stream


class Quiet(Progress):
    """What is odd about a request is no news for the log of a service."""

    def warn(self, text: str) -> None:
        """Say nothing."""


#: What a request runs on: others have the other cores.
ALONE = Runtime(threads=1, progress=Quiet())


class Source(NamedTuple):
    """A sentence, and its tree if there is one."""

    line: str
    tree: str | None = None


def trees_of(system: System, sources: Sequence[Source]) -> TreeFile | None:
    """The trees of sentences, if the model looks at them."""
    given = [source.tree for source in sources if source.tree is not None]
    return trees_for(system.model, given if len(given) == len(sources) else None, name="trees", runtime=ALONE)


def prepared_lines(system: System, sources: Sequence[Source], *, prepared: bool) -> list[str]:
    """Sentences in the model's words, with their trees if it looks at them."""
    lines = system.model.preparation(prepared=prepared).source([source.line for source in sources])
    trees = trees_of(system, sources)
    return list(lines if trees is None else with_trees(lines, trees))


def translated(
    system: System, sources: Sequence[Source], *, prepared: bool, features: bool, nbest: int = 0, distinct: bool = True
) -> list[SentenceResult]:
    """Translate sentences, in one search if they fit into a batch."""
    stream = Stream(system.translator, prepared=prepared, runtime=system.translator.runtime)
    outputs = Outputs(features=features, nbest=nbest or None, distinct=distinct)
    return list(stream.results([source.line for source in sources], outputs, trees=trees_of(system, sources)))


def searched(system: System, source: Source, *, prepared: bool) -> SearchResult:
    """Search one sentence and keep all of it."""
    (part,) = system.translator.search_batches(prepared_lines(system, [source], prepared=prepared), forests=True)
    return part


def derivation_json(translation: Translation) -> Written:
    """The object that `dragoman translate --details` writes."""
    return Written(translation.json(0))


def hypotheses_json(lists: NBest) -> list[Written]:
    """The hypotheses of each list, as answers have them: texts, because a great many objects hold up everybody."""
    texts, scores, bounds = lists.texts(), lists.scores.tolist(), lists.sentences.tolist()

    def row(h: int) -> dict[str, object]:
        return {"text": texts[h], "score": scores[h], "features": lists.features.row(h)}

    return [Written(written(list(map(row, range(*bound))))) for bound in itertools.pairwise(bounds)]
