import pytest

from dragoman.core.errors import DragomanError
from dragoman.serve.models import Shelf


def test_models_have_names_weights_and_languages(folder):
    shelf = Shelf.of(
        [f"a={folder}/model", f"{folder}/rules"], weights=[f"w={folder}/other.txt"], languages=["rules=fr-de"]
    )
    assert [list(one.weight_sets) for one in shelf] == [["w"], []]  # the weights are for one kind of model
    assert shelf.get("a").info.set_weights["w"]["lm"] == 2.0
    assert shelf.get("a").info.set_weights["w"].keys() == {feature.name for feature in shelf.get("a").info.features}
    assert shelf.get("rules").languages == ("fr", "de")
    assert shelf.get(None).name == "a"
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
            Shelf.of(**wrong)
