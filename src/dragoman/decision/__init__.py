"""One decision rule a file: from evidence (n-best lists, hypergraphs, samples) to a translation."""

from dragoman.core.options import Registry
from dragoman.decision.rule import Rule

RULES = Registry("rule", "dragoman.decision", Rule)
