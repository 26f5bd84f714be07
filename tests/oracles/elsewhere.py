"""Workers that get and give what can be pickled, and nothing else: a cluster without one."""

import pickle

from dragoman.core.runtime import ThreadWorkers, Workers


class Elsewhere(ThreadWorkers):
    """Does everything in this process; `sizes` are the bytes that came back."""

    parts_at_once = Workers.parts_at_once
    threads_per_part = Workers.threads_per_part
    each = Workers.each
    in_turn = Workers.in_turn
    sizes: list[int]

    def map(self, function, items, *, window=None):
        function = pickle.loads(pickle.dumps(function))
        self.sizes = []
        for item in items:
            made = pickle.dumps(function(pickle.loads(pickle.dumps(item))))
            self.sizes.append(len(made))
            yield pickle.loads(made)
