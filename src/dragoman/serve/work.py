"""What requests have done with sentences: the searches of the command line, with what is to be told of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dragoman.core.nbest import NBest
from dragoman.core.progress import Progress
from dragoman.core.runtime import Runtime
from dragoman.formats.penn_trees import with_trees
from dragoman.front.system import System
from dragoman.model.source_trees import trees_for
from dragoman.search.search_result import SearchResult
from dragoman.search.translation import Translation
from dragoman.serve.json_text import Written, written


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


@dataclass(frozen=True)
class Done:
    """What became of a sentence: its text as a person would write it, its derivation, and its list if one was made."""

    text: str
    translation: Translation
    nbest: NBest | None = None


def prepared_lines(system: System, sources: Sequence[Source], *, prepared: bool) -> list[str]:
    """Sentences in the model's words, with their trees if it looks at them."""
    lines = system.model.preparation(prepared=prepared).source([source.line for source in sources])
    given = [source.tree for source in sources if source.tree is not None]
    trees = trees_for(system.model, given if len(given) == len(sources) else None, name="trees", runtime=ALONE)
    return list(lines if trees is None else with_trees(lines, trees))


def translated(
    system: System, sources: Sequence[Source], *, prepared: bool, features: bool, nbest: int = 0, distinct: bool = True
) -> list[Done]:
    """Translate sentences, in one search if they fit into a batch."""
    found: list[tuple[Translation, NBest | None]] = []
    lines = prepared_lines(system, sources, prepared=prepared)
    for part in system.translator.search_batches(lines, forests=nbest > 0):
        lists = part.nbest(nbest, distinct=distinct) if nbest else None
        found += [
            (translation, None if lists is None else lists.list(i))
            for i, translation in enumerate(part.translations(features=features))
        ]
    texts = system.model.preparation(prepared=prepared).restore(
        [translation.text for translation, _ in found], [source.line for source in sources]
    )
    return [Done(text, *row) for text, row in zip(texts, found, strict=True)]


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
