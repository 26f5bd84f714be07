"""Part-of-speech taggers, one a file: `TAGGERS.get("textblob")().tag_lines(lines)`."""

from dragoman.core.options import Registry
from dragoman.training.tag.tagger import Tagger

TAGGERS: Registry[Tagger] = Registry("tagger", "dragoman.training.tag", Tagger)

__all__ = ["TAGGERS", "Tagger"]
