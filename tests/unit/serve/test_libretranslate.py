"""LibreTranslate's clients: its own library, and what others send."""

import pytest
from libretranslatepy import LibreTranslateAPI


@pytest.fixture(scope="module")
def library(server):
    return LibreTranslateAPI(server.url)


def test_its_own_client_can_use_the_service(library):
    assert library.translate("Un homme dort. Une femme court.", "fr", "en") == "A man sleeps. A woman runs."
    assert library.detect("Un homme dort.") == [{"confidence": 100, "language": "fr"}]
    assert library.languages() == [
        {"code": "fr", "name": "French", "targets": ["en"]},
        {"code": "en", "name": "English", "targets": []},
    ]


def test_json_and_forms_one_text_and_many(client):
    asked = {"source": "fr", "target": "en"}
    one, two = {"translatedText": "A man sleeps."}, {"translatedText": ["A man sleeps.", "A cat"]}
    assert client.post("/translate", json={"q": "Un homme dort.", **asked}).json() == one
    assert client.post("/translate", data={"q": "Un homme dort.", **asked}).json() == one
    found = client.post("/translate", json={"q": ["Un homme dort.", "un chat"], **asked}).json()
    assert found["translatedText"][0] == two["translatedText"][0]
    assert len(found["translatedText"]) == 2
    auto = client.post("/translate", json={"q": "Un homme dort.", "source": "auto", "target": "en"}).json()
    assert auto == {**one, "detectedLanguage": {"confidence": 100, "language": "fr"}}


def test_tags_of_html_stay(client):
    html = "<p class='x'>Un homme dort.</p><!-- Un chat --><script>var un = 'chat';</script>Une femme &amp; x"
    asked = {"q": html, "source": "fr", "target": "en", "format": "html"}
    found = client.post("/translate", json=asked).json()["translatedText"]
    assert found.startswith(
        "<p class='x'>A man sleeps.</p><!-- Un chat --><script>var un = 'chat';</script>A woman &amp;"
    )


JSON, FORM = {"Content-Type": "application/json"}, {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize(
    ("body", "headers", "status", "sentence"),
    [
        (b"{", JSON, 400, "the body is not JSON in UTF-8"),
        (b"{}", JSON, 400, "q: Field required"),
        (b"q=%ff", FORM, 400, "the form is not UTF-8"),
        (b"q=a", {"Content-Type": "text/plain"}, 400, "the body is neither JSON nor a form"),
        (
            b'{"q": "a", "source": "de"}',
            {"Content-Type": "application/json"},
            400,
            "no model translates from de to auto",
        ),
        (b'{"q": "a", "format": "pdf"}', JSON, 400, "format: String should match"),
        (b'{"q": "%s"}' % (b"a " * 300), JSON, 413, "a sentence has 300 words"),
        (b" " * 5_000_000, JSON, 413, "the body has more than"),
    ],
    ids=range(8),
)
def test_errors_have_its_shape(client, body, headers, status, sentence):
    found = client.post("/translate", content=body, headers=headers)
    assert found.status_code == status
    assert found.json()["error"].startswith(sentence)


def test_forms_of_many_fields_are_refused(client):
    found = client.post(
        "/translate", content=b"q=a&" * 100_000, headers={"Content-Type": "application/x-www-form-urlencoded"}
    )
    assert (found.status_code, found.json()["error"][:30]) == (413, "the form has too many fields; ")
