import contextlib
import os

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.core.store import array_origins, changed_in_place, copied_arrays, load_arrays, save_arrays
from dragoman.serve.failures import RequestError
from dragoman.serve.watched import Watched


@pytest.fixture
def folder(tmp_path):
    save_arrays(tmp_path / "model", {"a": np.arange(10), "b": np.arange(5)})
    return tmp_path / "model"


def rewritten(folder, content):
    """Write into a file, with a time of change of its own."""
    (folder / "a.npy").write_bytes(content)
    os.utime(folder / "a.npy", ns=(1, 1))


def test_only_what_is_written_into_has_changed(folder):
    origins = array_origins(folder)
    assert changed_in_place(origins) is None
    save_arrays(folder / "new", {"a": np.arange(3)})
    (folder / "new" / "a.npy").replace(folder / "a.npy")
    (folder / "b.npy").unlink()
    assert changed_in_place(origins) is None
    now = array_origins(folder)
    os.truncate(folder / "a.npy", 64)
    assert changed_in_place(now) == str(folder / "a.npy")


def test_copied_arrays_do_not_see_changes(folder):
    with copied_arrays():
        copied = load_arrays(folder)["a"]
    os.truncate(folder / "a.npy", 64)
    assert copied.tolist() == list(range(10))
    assert not copied.flags.writeable


def test_it_is_loaded_again_when_it_is_whole_and_refused_until_then(folder):
    whole = (folder / "a.npy").read_bytes()
    told = []
    watched = Watched("fr-en", folder, array_origins(folder), 0, lambda: len(load_arrays(folder)["a"]))
    watched.when_changed.append(lambda: told.append("changed"))
    assert watched.current(look=True) == 0
    rewritten(folder, whole[:64])
    refusals = []
    while not any("is not whole: is damaged" in refusal for refusal in refusals):
        with pytest.raises(RequestError, match=r"the model fr-en \(in the folder model\) was changed") as refused:
            watched.current(look=True)
        assert (refused.value.status, "Retry-After" in refused.value.headers) == (503, True)
        refusals.append(refused.value.message)
    rewritten(folder, whole)
    found = None
    while found is None:
        with contextlib.suppress(RequestError):
            found = watched.current(look=True)
    assert (found, told) == (10, ["changed"])


def test_whatever_goes_wrong_is_told_and_tried_again(folder):
    def broken():
        raise DataError("is odd", path=folder / "a.npy")

    watched = Watched("fr-en", folder, array_origins(folder), 0, broken)
    rewritten(folder, b"")
    message = ""
    while "is not whole" not in message:
        with pytest.raises(RequestError) as refused:
            watched.current(look=True)
        message = refused.value.message
    assert "is not whole: is odd; expected a model" in message
    assert str(folder) not in message
