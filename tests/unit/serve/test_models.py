"""Models by name, and objects whose files are written into while they are used."""

import contextlib
import os

import numpy as np
import pytest

from dragoman.core.errors import DataError, DragomanError
from dragoman.core.store import array_origins, changed_in_place, copied_arrays, load_arrays, save_arrays
from dragoman.serve.limits import RequestError
from dragoman.serve.models import ModelRegistry, ReloadableFiles


def test_models_have_names_weights_and_languages(folder):
    registry = ModelRegistry.of(
        [f"a={folder}/model", f"{folder}/rules"], weights=[f"w={folder}/other.txt"], languages=["rules=fr-de"]
    )
    assert [list(one.weight_sets) for one in registry] == [["w"], []]  # the weights are for one kind of model
    assert registry.get("a").info.set_weights["w"]["lm"] == 2.0
    assert registry.get("a").info.set_weights["w"].keys() == {
        feature.name for feature in registry.get("a").info.features
    }
    assert registry.get("rules").languages == ("fr", "de")
    assert registry.get(None).name == "a"
    for wrong, sentence in (
        ({"folders": []}, "there is no model"),
        ({"folders": [f"{folder}/model", f"model={folder}/rules"]}, "two models are called 'model'"),
        ({"folders": [f"{folder}/model"], "weights": ["x"]}, "found 'x'; expected NAME=VALUE"),
        ({"folders": [f"{folder}/model"], "weights": [f"b:x={folder}/other.txt"]}, "names the model 'b'"),
        ({"folders": [f"{folder}/rules"], "weights": [f"x={folder}/other.txt"]}, "has weights for distortion"),
        ({"folders": [f"{folder}/model"], "languages": ["fr"]}, "expected NAME=SOURCE-TARGET"),
        ({"folders": [f"{folder}/model"], "languages": ["x=fr-en"]}, "names the model 'x'"),
    ):
        with pytest.raises(DragomanError, match=sentence):
            ModelRegistry.of(**wrong)


@pytest.fixture
def arrays(tmp_path):
    save_arrays(tmp_path / "model", {"a": np.arange(10), "b": np.arange(5)})
    return tmp_path / "model"


def rewritten(arrays, content):
    """Write into a file, with a time of change of its own."""
    (arrays / "a.npy").write_bytes(content)
    os.utime(arrays / "a.npy", ns=(1, 1))


def test_only_what_is_written_into_has_changed(arrays):
    origins = array_origins(arrays)
    assert changed_in_place(origins) is None
    save_arrays(arrays / "new", {"a": np.arange(3)})
    (arrays / "new" / "a.npy").replace(arrays / "a.npy")
    (arrays / "b.npy").unlink()
    assert changed_in_place(origins) is None
    now = array_origins(arrays)
    os.truncate(arrays / "a.npy", 64)
    assert changed_in_place(now) == str(arrays / "a.npy")


def test_copied_arrays_do_not_see_changes(arrays):
    with copied_arrays():
        copied = load_arrays(arrays)["a"]
    os.truncate(arrays / "a.npy", 64)
    assert copied.tolist() == list(range(10))
    assert not copied.flags.writeable


def test_it_is_loaded_again_when_it_is_whole_and_refused_until_then(arrays):
    whole = (arrays / "a.npy").read_bytes()
    told = []
    watched = ReloadableFiles("fr-en", arrays, array_origins(arrays), 0, lambda: len(load_arrays(arrays)["a"]))
    watched.when_changed.append(lambda: told.append("changed"))
    assert watched.current(look=True) == 0
    rewritten(arrays, whole[:64])
    refusals = []
    while not any("is not whole: is damaged" in refusal for refusal in refusals):
        with pytest.raises(RequestError, match=r"the model fr-en \(in the folder model\) was changed") as refused:
            watched.current(look=True)
        assert (refused.value.status, "Retry-After" in refused.value.headers) == (503, True)
        refusals.append(refused.value.message)
    rewritten(arrays, whole)
    found = None
    while found is None:
        with contextlib.suppress(RequestError):
            found = watched.current(look=True)
    assert (found, told) == (10, ["changed"])


def test_whatever_goes_wrong_is_told_and_tried_again(arrays):
    def broken():
        raise DataError("is odd", path=arrays / "a.npy")

    watched = ReloadableFiles("fr-en", arrays, array_origins(arrays), 0, broken)
    rewritten(arrays, b"")
    message = ""
    while "is not whole" not in message:
        with pytest.raises(RequestError) as refused:
            watched.current(look=True)
        message = refused.value.message
    assert "is not whole: is odd; expected a model" in message
    assert str(arrays) not in message
