"""Makes the slow twins in tests/oracles importable as `oracles`, and Ctrl-C work wherever the tests are started."""

import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

# A shell lets its background jobs ignore Ctrl-C, and so would all that the tests start; some of them are about Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """What tests remember is forgotten after them; commands that they start remember it as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
