"""SampleRank (Haddow, Arun & Koehn 2011): the method, its chains, and the pools that it jumps within."""

from dragoman.tuning.methods.samplerank.method import SampleRank

__all__ = ["SampleRank"]
