"""Make the slow twins in tests/oracles importable as `oracles`, and keep tests out of each other's way.

Slow tests come first. A test that patches anything does so in a process of its own, and a module's threads and
processes end with it.
"""

import inspect
import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

from oracles.isolation import check_nothing_runs, run_in_fork, running

# A shell lets its background jobs ignore Ctrl-C, and nohup the end of the terminal, and so would all that the tests
# start; some of them are about these.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


# Generated examples are the same in every run, unless more are asked for to look for others; no machine is too busy.
settings.register_profile("suite", deadline=None, derandomize="DRAGOMAN_FUZZ_EXAMPLES" not in os.environ)
settings.load_profile("suite")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Begin with slow tests, so that no process is left waiting for one at the end."""
    if not config.pluginmanager.hasplugin("randomly"):
        items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Run a test that asks for `monkeypatch` in a fork: what it patches, changes or leaves, nobody else sees.

    One that is marked `needs_threads` stays here: those of its fixtures, a cluster's say, are not there in a fork. So
    do all tests once PyTorch is loaded: what it computes with threads waits in a fork for threads that are not there.
    """
    wanted = inspect.signature(pyfuncitem.obj).parameters
    if "monkeypatch" not in wanted or pyfuncitem.get_closest_marker("needs_threads") or "torch" in sys.modules:
        return None
    run_in_fork(pyfuncitem.obj, {name: pyfuncitem.funcargs[name] for name in wanted})
    return True


@pytest.fixture(scope="module", autouse=True)
def _nothing_left():
    """See that what a module's tests started has ended when they have."""
    before = running()
    yield
    check_nothing_runs(before)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """What tests remember is forgotten after them; commands that they start remember it as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
