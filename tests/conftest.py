"""Makes the slow twins in tests/oracles importable as `oracles`, and Ctrl-C work wherever the tests are started.

Also says in which order: what is long comes first.
"""

import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

# A shell lets its background jobs ignore Ctrl-C, and nohup the end of the terminal, and so would all that the tests
# start; some of them are about these.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


# What takes longest comes first, the very longest before all others, so that no core is left waiting for it at the end.
_LONG = (
    "docs/test_tutorial.py",
    "cli/test_demo.py",
    "cli/test_experiment_decisions.py",
    "cli/test_experiment.py",
    "docs/test_notebooks.py",
    "cli/test_damaged_models.py",
    "statistical/test_sampler_exactness.py",
    "unit/metrics/test_against_sacrebleu.py",
    "unit/tuning/runs/test_sparse_loop.py",
    "cli/test_interruption.py",
)
_PLACES = {Path(__file__).parent / name: place for place, name in enumerate(_LONG)}


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: _PLACES.get(item.path, len(_LONG)))


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """What tests remember is forgotten after them; commands that they start remember it as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
