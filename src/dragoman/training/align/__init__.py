"""Word aligners, one algorithm a file: `ALIGNERS.get("diagonal")().align(bitext)`."""

from dragoman.core.options import Registry
from dragoman.training.align.base import Aligner, Directions

ALIGNERS: Registry[Aligner] = Registry("aligner", "dragoman.training.align", Aligner)

__all__ = ["ALIGNERS", "Aligner", "Directions"]
