"""What a string, a path and a list mean wherever `import dragoman` takes text."""

import inspect
from pathlib import Path

import pytest

import dragoman as dm
from dragoman.core.errors import DragomanError, UsageError

pytestmark = pytest.mark.filterwarnings("ignore::dragoman.core.progress.DragomanWarning")

REFERENCES = ["A man sleeps.", "A woman runs in the street."]
SOURCES = ["Un homme dort.", "Une femme court dans la rue."]
LANGUAGES = {"source_language": "fr", "target_language": "en"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("texts")
    dm.example(made)
    (made / "sources").write_text("".join(f"{line}\n" for line in SOURCES))
    (made / "references").write_text("".join(f"{line}\n" for line in REFERENCES))
    pairs = [("vnd", "und"), ("vns", "uns"), ("jn", "in"), ("vnter", "unter"), ("haus", "haus")] * 5
    dm.normaliser(examples=pairs, out=made / "normaliser", threads=1, progress=False)
    return made


def lines(path):
    return path.read_text().splitlines()


def trained(folder, tmp_path, source, target, **others):
    model = dm.train(source, target, out=tmp_path / "trained", progress=False, **LANGUAGES, **others)
    return len(model.model.tables["tm"]), model.translate(SOURCES)


def mixed(folder, tmp_path, **texts):
    dev = {"source": folder / "dev.fr", "reference": folder / "dev.en"}
    model = dm.load(folder / "model")
    found = dm.mix({"a": model, "b": model}, out=tmp_path / "mixed", progress=False, **{**dev, **texts})
    return found.translate(SOURCES)


def adapted(folder, tmp_path, corpus=None, **texts):
    corpora = {"a": (corpus or folder / "train.fr", folder / "train.en"), "b": (folder / "dev.fr", folder / "dev.en")}
    dev = {"source": folder / "dev.fr", "reference": folder / "dev.en", **texts}
    found = dm.adapt(corpora, ["in"], out=tmp_path / "adapted", progress=False, aligner="model1", **dev, **LANGUAGES)
    return found["in"].translate(SOURCES)


def copies(hypotheses, references, sources):
    """Score hypotheses by whether they are their sources."""
    return [float(hypothesis == source) for hypothesis, source in zip(hypotheses, sources, strict=True)]


#: By function and parameter: a text of many lines, as a file and what becomes of it.
MANY = {
    ("score", "outputs"): ("references", lambda f, t, text: dm.score(text, REFERENCES, resamples=0).value),
    ("score", "references"): ("references", lambda f, t, text: dm.score(REFERENCES, text, resamples=0).value),
    ("compare", "systems"): (
        "references",
        lambda f, t, text: dm.compare({"a": text, "b": SOURCES}, REFERENCES, trials=9, resamples=9).order,
    ),
    ("compare", "references"): (
        "references",
        lambda f, t, text: dm.compare({"a": SOURCES, "b": REFERENCES}, text, trials=9, resamples=9).order,
    ),
    ("score", "sources"): (
        "references",
        lambda f, t, text: dm.score(REFERENCES, REFERENCES, metric=copies, sources=text, resamples=0).value,
    ),
    ("compare", "sources"): (
        "references",
        lambda f, t, text: (
            dm.compare(
                {"a": SOURCES, "b": REFERENCES}, REFERENCES, metric=copies, sources=text, trials=9, resamples=9
            ).order
        ),
    ),
    ("tune_reranker", "sources"): (
        "references",
        lambda f, t, text: dict(
            dm.tune_reranker(
                [["a man", "A man sleeps."], ["b", "c"]],
                REFERENCES,
                features={"x": [1.0, 2.0, 1.0, 3.0]},
                metric=copies,
                sources=text,
                progress=False,
            )
        ),
    ),
    ("word_classes", "text"): ("references", lambda f, t, text: dm.word_classes(text, classes=2)["man"]),
    ("tune_reranker", "references"): (
        "references",
        lambda f, t, text: dict(
            dm.tune_reranker([["a man"], ["b"]], text, features={"x": [1.0, 2.0]}, metric="chrf", progress=False)
        ),
    ),
    ("mbr", "sources"): ("references", lambda f, t, text: dm.mbr([["a man"], ["b"]], utility="chrf", sources=text)),
    ("train", "source"): ("train.fr", lambda f, t, text: trained(f, t, text, f / "train.en")),
    ("train", "target"): ("train.en", lambda f, t, text: trained(f, t, f / "train.fr", text)),
    ("train", "second_lm_text"): (
        "dev.en",
        lambda f, t, text: trained(f, t, f / "train.fr", f / "train.en", second_lm_text=text),
    ),
    ("mix", "source"): ("dev.fr", lambda f, t, text: mixed(f, t, source=text)),
    ("mix", "reference"): ("dev.en", lambda f, t, text: mixed(f, t, reference=text)),
    ("mix", "align_with"): ("train.fr", lambda f, t, text: mixed(f, t, align_with=(text, f / "train.en"))),
    ("adapt", "corpora"): ("train.fr", lambda f, t, text: adapted(f, t, text)),
    ("adapt", "source"): ("dev.fr", lambda f, t, text: adapted(f, t, source=text)),
    ("adapt", "reference"): ("dev.en", lambda f, t, text: adapted(f, t, reference=text)),
}

#: Sentences, and what becomes of them, as a list with something for each.
SENTENCES = {
    ("System", "translate"): lambda model, _, text: model.translate(text),
    ("System", "explain"): lambda model, _, text: model.explain(text),
    ("System", "hypergraph"): lambda model, _, text: model.hypergraph(text),
    ("System", "nbest"): lambda model, _, text: model.nbest(text, 3),
    ("System", "sample"): lambda model, _, text: model.sample(text, 5),
    ("Normaliser", "normalise"): lambda _, normaliser, text: normaliser.normalise(text),
}


def taking(kind):
    """All that takes a kind of text: functions with their parameters, and methods."""
    for name in dm.__all__:
        thing = getattr(dm, name)
        owned = vars(thing).items() if inspect.isclass(thing) else [(name, thing)]
        for method, function in owned:
            if inspect.isfunction(function) and not method.startswith("_"):
                for parameter in inspect.signature(function).parameters.values():
                    if kind in str(parameter.annotation) and not parameter.name.startswith("tree"):
                        yield (name, method) if inspect.isclass(thing) else (name, parameter.name)


def test_every_function_that_takes_text_is_here():
    assert set(taking("Text")) == set(MANY)
    assert set(taking("Sentences")) == set(SENTENCES)


@pytest.mark.slow
@pytest.mark.parametrize("where", MANY, ids=".".join)
def test_many_lines_are_a_path_a_list_or_the_name_of_a_file(folder, tmp_path, where):
    name, use = MANY[where]
    file = folder / name
    forms = [file, str(file), lines(file)]
    found = [use(folder, tmp_path / str(i), form) for i, form in enumerate(forms)]
    assert found[0] == found[1] == found[2]
    for text in ("no-such-file", "Un homme dort.\nUne femme court.", "a" * 5000):
        with pytest.raises(UsageError, match="which is not a file; expected a Path, or a list of lines"):
            use(folder, tmp_path / "never", text)
    with pytest.raises(DragomanError):
        use(folder, tmp_path / "never", Path("no-such-file"))


@pytest.mark.parametrize("where", SENTENCES, ids=".".join)
def test_a_string_is_a_sentence_and_a_path_a_file_of_sentences(folder, where):
    use, model, normaliser = SENTENCES[where], dm.load(folder / "model"), dm.normaliser(folder / "normaliser")
    file = folder / "sources"
    several, given = use(model, normaliser, file), use(model, normaliser, SOURCES)
    assert len(several) == len(given) == len(SOURCES)
    assert str(several) == str(given)
    one = use(model, normaliser, str(file))  # though there is a file of that name
    assert not isinstance(one, list)
    assert str(one) != str(several)
    with pytest.raises(UsageError, match="expected"):
        use(model, normaliser, [["Un homme dort."]])


def test_lists_of_candidates(folder, tmp_path):
    file = tmp_path / "lists"
    file.write_text("0 ||| a cat ||| x= 1 ||| 1\n0 ||| the cat ||| x= 2 ||| 2\n")
    for use in (dm.mbr, lambda lists: dm.rerank(lists, {"x": 1.0})):
        assert use(file) == use(str(file)) == ["the cat"]
        for wrong in ("no-such-file", "a cat\nthe cat"):
            with pytest.raises(UsageError, match="which is not a file; expected a Path"):
                use(wrong)
        with pytest.raises(UsageError, match="expected a list of its candidates"):
            use(["a cat", "the cat"])


def test_words_are_no_string(folder):
    normaliser = dm.normaliser(folder / "normaliser")
    assert normaliser.words(["vnd"]) == ["und"]
    for use in (normaliser.words, normaliser.explain, normaliser.suggest):
        with pytest.raises(UsageError, match="found 'vnd'; expected a list of words"):
            use("vnd")


def test_what_a_run_remembers_is_a_file(folder, tmp_path):
    model = dm.load(folder / "model")
    with pytest.raises(UsageError, match="this text must be a file"):
        model.tune(SOURCES, folder / "dev.en", out=tmp_path / "run")
