"""Which sentences the operators of the sampler cannot explore: those whose segmentation graph is disconnected.

The thesis (5.4) calls a phrase table well-behaved if every part of a phrase is a phrase. With others, there may be
segmentations of a sentence that no series of merges and splits leads to; tables 5.1 and 5.2 count such sentences.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.runtime import Runtime
from dragoman.search.phrase.batch import PhraseBatch

#: Counting stops here.
MOST_COMPONENTS = 1000


def segmentation_components(batch: PhraseBatch, *, runtime: Runtime = Runtime()) -> NDArray[np.int64]:
    """The number of connected parts of each sentence's segmentation graph; 1 if all is well, 1000 also for more.

    A segmentation is a path over the positions between words, a merge or split replaces two of its edges by the one
    that closes the triangle, or one by two. The parts are those of paths to each position in turn, which arise from the
    parts of paths to earlier positions: O(words · longest phrase²) for each part.
    """
    options = batch.options
    lengths = options.source.sentences.lengths.astype(np.int32)
    return kernels.segmentation_components(
        lengths, options.offsets, options.begin, options.end, MOST_COMPONENTS, runtime.threads
    )
