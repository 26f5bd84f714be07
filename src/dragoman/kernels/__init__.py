"""The inner loops, in C++: plain functions; arrays, and small classes of them made by keyword, in and arrays out.

Callers validate before they call: a kernel takes arrays of exact dtype and layout and trusts what is in them. Classes
refuse columns whose lengths do not agree, and keep their arrays. Every kernel releases the interpreter lock; the long
ones can be interrupted with Ctrl-C and report progress.
"""

from dragoman.kernels import _kernels
from dragoman.kernels._kernels import *  # noqa: F403

__all__ = [name for name in dir(_kernels) if not name.startswith("_")]
