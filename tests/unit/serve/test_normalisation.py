import pytest

from dragoman.serve.limits import Limits
from dragoman.serve.models import ModelRegistry
from dragoman.serve.service import Service


@pytest.fixture(scope="module")
def spelling(folder):
    """Two models, the first of which is a normaliser's."""
    return ModelRegistry.of([f"{folder}/old-to-new", f"{folder}/model"])


@pytest.fixture
def normalise(spelling, live_of):
    server = live_of(Service(spelling, Limits(words=20)))
    return lambda **body: server.client.post("/api/v1/normalise", json=body)


def test_text_keeps_what_is_not_a_word(normalise):
    found = normalise(text="  Vnd (jn\n\nvns!)").json()
    assert (found["model"], found["text"]) == ("old-to-new", "  Und (in\n\nuns!)")
    assert [line["between"] for line in found["lines"]] == [["  ", " (", ""], [""], ["", "!)"]]
    (first, _), _, (last,) = (line["words"] for line in found["lines"])
    assert (first["word"], first["modern"], last["word"], last["modern"]) == ("Vnd", "Und", "vns", "uns")
    assert 0.5 < first["confidence"] <= 1


def test_markup_is_recognised_and_stays(normalise):
    marked = "<p n='vnd'>Vnd\n<hi\nrend='jn'>jn</hi></p>\n"
    found = normalise(text=marked).json()
    assert (found["text"], found["markup"]) == (marked.replace("Vnd", "Und").replace(">jn<", ">in<"), True)
    assert [[word["word"] for word in line["words"]] for line in found["lines"]] == [["Vnd"], [], ["jn"], []]
    as_text = normalise(text=marked, markup="none").json()
    assert (as_text["markup"], as_text["lines"][0]["words"][2]["modern"]) == (False, "und")


@pytest.mark.slow
def test_other_forms_come_with_their_probabilities(normalise):
    (line,) = normalise(text="vnter", alternatives=2).json()["lines"]
    others = line["words"][0]["alternatives"]
    assert 1 <= len(others) <= 2
    assert all(line["words"][0]["confidence"] >= other["confidence"] >= 0 for other in others)
    (bare,) = normalise(text="vnd", alternatives=0).json()["lines"]
    assert bare["words"][0]["alternatives"] == []


def test_odd_text_is_taken_and_too_much_refused(normalise):
    odd = "x" * 700 + " \u0440\u0430\u0443 \u0364 1642 \U0001f600\r\n"
    assert normalise(text=odd).json()["text"].startswith("x" * 700)
    assert normalise(text="").json() == {
        "model": "old-to-new",
        "text": "",
        "lines": [{"words": [], "between": [""]}],
        "markup": False,
    }
    assert normalise(text="vnd " * 21).status_code == 413
    assert normalise(text="vnd", alternatives=11).status_code == 422


def test_half_a_character_is_refused(spelling, live_of):
    body, of_json = b'{"text": "vnd \\ud800"}', {"Content-Type": "application/json"}
    response = live_of(Service(spelling)).client.post("/api/v1/normalise", content=body, headers=of_json)
    assert response.status_code == 400


def test_other_models_do_not_normalise(normalise, refused, client):
    assert "the model model is not a normaliser's" in normalise(text="vnd", model="model").json()["error"]["message"]
    assert normalise(text="vnd", model="old-to-new").status_code == 200
    assert refused("normalise", text="vnd") == (
        404,
        "the service has no normaliser; start it with --model FOLDER of `dragoman normalise train`",
    )
    assert not any(model["normalises"] for model in client.get("/api/v1/models").json()["models"])


def test_the_model_of_characters_translates_too(spelling, live_of):
    server = live_of(Service(spelling))
    found = server.client.post("/api/v1/translate", json={"text": "vnd", "model": "old-to-new"}).json()
    assert found["translations"][0]["text"] == "und"
    assert [model["normalises"] for model in server.client.get("/api/v1/models").json()["models"]] == [False, True]


def test_requests_that_name_no_model_are_not_translated_by_a_normaliser(spelling, live_of):
    server = live_of(Service(spelling))
    assert server.client.post("/api/v1/translate", json={"text": "un homme"}).json()["model"] == "model"
    plain = {"q": "un homme", "source": "auto", "target": "auto"}
    assert "man" in server.client.post("/translate", json=plain).json()["translatedText"]
