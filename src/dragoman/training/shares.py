"""The share done of work that may be done elsewhere."""

from __future__ import annotations

from dragoman.core.progress import ShareDone


class ShareHere:
    """Passes the share done on in this process; what is sent of it to a worker tells nobody.

    >>> import pickle
    >>> share = ShareHere(print)
    >>> share(0.5)
    0.5
    >>> pickle.loads(pickle.dumps(share))(0.5)
    """

    def __init__(self, share: ShareDone = lambda share: None):
        self._share = share

    def __call__(self, done: float) -> None:
        """Say how much is done, from 0 to 1."""
        self._share(done)

    def __reduce__(self) -> tuple[type[ShareHere], tuple[()]]:
        return ShareHere, ()
