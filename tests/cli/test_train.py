"""`dragoman train` with every option, and what is then in the model."""

import bz2
import gzip
import lzma
import math
import tomllib
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
import zstandard

from dragoman.model.bundle import Model
from oracles.toy_language import AMBIGUOUS


def translations(model, phrase, table="tm"):
    """The targets of a source phrase with their scores by name and their links, in the order of the table."""
    pairs = model.tables[table]
    rows = pairs.lookup([model.source_vocab.id(word) for word in phrase.split()])
    found = {}
    for row in rows:
        target = model.target_vocab.text(pairs.targets[int(pairs.target_ids[row])])
        scores = dict(zip(pairs.score_names, np.exp(pairs.log_scores[row].astype(float)).tolist(), strict=True))
        links = [(link >> 8, link & 255) for link in pairs.alignments[row].tolist()]
        found[target] = (scores, links)
    return found


def test_the_folder_holds_what_it_should(model):
    files = {str(path.relative_to(model)) for path in model.rglob("*") if path.is_file()}
    assert {"model.toml", "weights.txt", "checksums.toml"} <= files
    assert {"vocab/source/blob.npy", "vocab/target/blob.npy", "tables/tm/log_scores.npy"} <= files
    assert {"tables/tm/reordering.lr.npy", "language_models/lm/slots.npy"} <= files
    about = tomllib.loads((model / "model.toml").read_text())
    assert about["format"] == 1
    assert [table["name"] for table in about["table"]] == ["tm"]
    assert about["history"]["sentence_pairs"] == 250
    assert about["history"]["aligner"] == {"name": "file"}
    assert about["history"]["cleaning"] == {"max_length": 80, "max_ratio": 9.0}


def test_known_links_give_known_probabilities(model, toy):
    loaded = Model.load(model)
    meanings = Counter(
        pair.target[t] for pair in toy.pairs for s, t in pair.links if pair.source[s] == AMBIGUOUS
    )  # about three to one
    total = sum(meanings.values())
    found = translations(loaded, AMBIGUOUS)
    assert list(found) == ["flight", "theft"]
    for target, (scores, links) in found.items():
        assert scores["fwd"] == pytest.approx(meanings[target] / total, rel=1e-6)
        assert scores["fwd_lex"] == pytest.approx(meanings[target] / total, rel=1e-6)
        assert (scores["bwd"], scores["bwd_lex"]) == (1, 1)
        assert links == [(0, 0)]
    assert list(translations(loaded, "maison bleue")) == ["blue house"]
    scores, links = translations(loaded, "une maison bleue")["a blue house"]
    assert set(scores.values()) == {1.0}
    assert links == [(0, 0), (1, 2), (2, 1)]
    assert translations(loaded, "la maison")["the house"][1] == [(0, 0), (1, 1)]
    assert not translations(loaded, "bleue une")


def test_reordering_scores_know_the_one_rule(model, toy):
    """Between a noun and the adjective after it the order is swapped, always; the count of each pair is smoothed by
    0.5 for each of three orientations."""
    loaded = Model.load(model)
    table = loaded.tables["tm"]
    (row,) = table.lookup([loaded.source_vocab.id("bleue")])
    count = sum(pair.source.count("bleue") for pair in toy.pairs)
    swap = np.exp(table.log_reordering["lr"][row].astype(float))
    # Towards the next target phrase, which is the noun before it.
    assert swap[3:].tolist() == pytest.approx([0.5 / (count + 1.5), (count + 0.5) / (count + 1.5), 0.5 / (count + 1.5)])


@pytest.mark.parametrize(
    ("aligner", "options"),
    [
        ("diagonal", {"iterations": "4", "favour-diagonal": "false"}),
        ("model1", {"iterations": "3", "variational_bayes": "true"}),
        ("hmm", {"iterations": "2"}),
    ],
)
def test_aligners_find_the_dictionary(dragoman, toy, tmp_path, aligner, options):
    assignments = [part for name, value in options.items() for part in ("--aligner-option", f"{name}={value}")]
    assert dragoman(*toy.train, "--aligner", aligner, *assignments, "--out", tmp_path / "m").code == 0
    loaded = Model.load(tmp_path / "m")
    recorded = loaded.history["aligner"]
    assert recorded["name"] == aligner
    assert all(str(recorded[name.replace("-", "_")]).lower() == value for name, value in options.items())
    for source, target in (("maison", "house"), ("bleue", "blue"), ("cherche", "seeks"), (AMBIGUOUS, "flight")):
        assert next(iter(translations(loaded, source))) == target


def test_two_finished_language_models_take_the_place_of_ours(dragoman, toy, tmp_path):
    for name, order in (("small", 1), ("large", 2)):
        dragoman("lm", "estimate", toy.target, "--order", order, "--out", tmp_path / f"{name}.arpa.gz")
    arpas = ["--arpa", tmp_path / "small.arpa.gz", "--arpa", tmp_path / "large.arpa.gz"]
    result = dragoman(*toy.train, "--alignment", toy.links, *arpas, "--out", tmp_path / "m")
    assert result.code == 0
    loaded = Model.load(tmp_path / "m")
    assert {name: model.order for name, model in loaded.language_models.items()} == {"lm": 1, "lm2": 2}
    assert loaded.weights["lm"] == loaded.weights["lm2"] == 0.5
    assert loaded.history["language_model"] == {"name": "file"}


def test_more_text_for_the_language_model(dragoman, toy, tmp_path):
    (tmp_path / "more").write_text("the zebra sees a zebra\n\n<s> the yak </s>\n")
    arguments = ["--alignment", toy.links, "--lm-text", tmp_path / "more", "--lm-order", "2", "--out", tmp_path / "m"]
    assert dragoman(*toy.train, *arguments).code == 0
    loaded = Model.load(tmp_path / "m")
    language_model = loaded.language_models["lm"]
    assert language_model.order == 2
    assert language_model.vocab.id("zebra") != 0
    assert language_model.vocab.id("yak") == 0  # a line with marks of sentence ends is no text
    assert loaded.target_vocab.id("zebra") == 0


def test_a_second_language_model_and_features(dragoman, toy, tmp_path):
    (tmp_path / "more.en").write_text("the yak sleeps\na gnu\n")
    options = ["--hierarchical", "--second-lm-text", tmp_path / "more.en", "--feature", "rule-class:generate=all"]
    assert dragoman(*toy.train, "--alignment", toy.links, *options, "--out", tmp_path / "model").code == 0
    model = Model.load(tmp_path / "model")
    assert [*model.language_models] == ["lm", "lm2"]
    assert model.language_models["lm2"].vocab.id("gnu")
    assert not model.language_models["lm"].vocab.id("gnu")
    assert model.copy_feature is not None


def test_pruning_makes_tables_smaller(dragoman, toy, model, tmp_path):
    whole = Model.load(model).tables["tm"]
    sizes = {}
    for name, options in {
        "limit": ["--prune-limit", "1"],
        "score": ["--prune-score", "0.5"],
        "a+e": ["--prune-significance", "a+e"],
        "a-e": ["--prune-significance", "a-e"],
        "number": ["--prune-significance", "20"],
    }.items():
        out = tmp_path / name
        assert dragoman(*toy.train, "--alignment", toy.links, *options, "--out", out).code == 0
        loaded = Model.load(out)
        sizes[name] = len(loaded.tables["tm"])
        if name in ("limit", "score"):
            assert list(translations(loaded, AMBIGUOUS)) == ["flight"]
    several = np.diff(whole.first_pair)
    assert sizes["limit"] == len(several) < len(whole)
    assert sizes["score"] == int((whole.log_scores[:, 2] >= math.log(0.5)).sum())
    assert sizes["number"] < sizes["a+e"] < sizes["a-e"] <= len(whole)


@pytest.mark.parametrize("smoothing", ["good-turing", "kneser-ney"])
def test_smoothing_takes_from_what_is_rare(dragoman, toy, model, tmp_path, smoothing):
    result = dragoman(*toy.train, "--alignment", toy.links, "--smoothing", smoothing, "--out", tmp_path / "m")
    assert result.code == 0
    assert not any("unsmoothed" in warning for warning in result.warnings)
    plain, smooth = Model.load(model).tables["tm"], Model.load(tmp_path / "m").tables["tm"]
    assert len(plain) == len(smooth)
    once = plain.counts[:, 2] == 1
    assert smooth.log_scores[:, 2].sum() < plain.log_scores[:, 2].sum()
    assert once.any()


def test_without_reordering(dragoman, toy, tmp_path):
    dragoman(*toy.train, "--alignment", toy.links, "--no-reordering", "--out", tmp_path / "m")
    loaded = Model.load(tmp_path / "m")
    assert loaded.reorderings == []
    assert not any(name.startswith("lr") for name in loaded.weights)
    assert list(loaded.weights) == loaded.feature_names or set(loaded.weights) == set(loaded.feature_names)


def test_phrases_are_as_long_as_allowed(dragoman, toy, tmp_path):
    dragoman(*toy.train, "--alignment", toy.links, "--max-phrase-length", "2", "--out", tmp_path / "m")
    table = Model.load(tmp_path / "m").tables["tm"]
    assert table.max_source_length == 2
    assert int(table.targets.lengths.max()) == 2


def test_raw_text_is_tokenised_and_lower_cased(dragoman, tmp_path):
    (tmp_path / "text.fr").write_text("L'ÉTÉ arrive, enfin!\nUne maison.\n" * 3, encoding="utf-8")
    (tmp_path / "text.en").write_text("SUMMER isn't here!\nA house.\n" * 3, encoding="utf-8")
    text = ["--source", tmp_path / "text.fr", "--target", tmp_path / "text.en"]
    assert dragoman("train", *text, "--out", tmp_path / "m").code == 0
    loaded = Model.load(tmp_path / "m")
    assert {"l'", "été", "arrive", ",", "enfin", "!"} <= set(loaded.source_vocab)
    assert {"summer", "isn", "'t", "house", "."} <= set(loaded.target_vocab)
    settings = loaded.settings
    assert (settings.source_language, settings.target_language) == ("fr", "en")
    assert settings.tokenise
    assert settings.lowercase
    dragoman("train", *text, "--no-lowercase", "--source-language", "en", "--out", tmp_path / "cased")
    loaded = Model.load(tmp_path / "cased")
    assert {"L", "'ÉTÉ", "Une"} <= set(loaded.source_vocab)
    assert loaded.settings.source_language == "en"
    assert not loaded.settings.lowercase
    dragoman("train", *text, "--tokenised", "--out", tmp_path / "tokenised")
    loaded = Model.load(tmp_path / "tokenised")
    assert "L'ÉTÉ" in set(loaded.source_vocab)
    assert not loaded.settings.tokenise


def _compounds(folder):
    parts = ["auto", "bahn", "haus", "platz", "markt", "spiel"]
    words = [f"{a}{b}" for a in parts for b in parts if a != b and a + b != "hausmarkt"] + parts * 6
    pairs = [(word, " ".join(part for part in parts if part in word)) for word in words]
    pairs += [("der " * 50, "the " * 50)] * 150
    for name, side in zip(("text.de", "text.en"), zip(*pairs, strict=True), strict=True):
        (folder / name).write_text("".join(f"{line}\n" for line in side))
    return ["--source", folder / "text.de", "--target", folder / "text.en"]


@pytest.mark.parametrize("form", [[], ["--tokenised"], ["--hierarchical"]])
def test_compounds_are_split_in_training_and_in_translation(dragoman, tmp_path, form):
    text = _compounds(tmp_path)
    done = dragoman("train", *text, *form, "--out", tmp_path / "m")
    assert "compounds are split" in done.err
    assert dragoman("prepare", "--model", tmp_path / "m", stdin=b"hausmarkt\n").out == "haus markt\n"
    assert "haus" in dragoman("translate", "--model", tmp_path / "m", stdin=b"hausmarkt\n").out.lower().split()
    prepared = dragoman("translate", "--prepared", "--model", tmp_path / "m", stdin=b"hausmarkt\n").out
    assert "haus" in prepared.lower().split(), "text that is tokenised elsewhere has its compounds whole"
    again = dragoman("translate", "--prepared", "--model", tmp_path / "m", stdin=b"haus markt\n").out
    assert again == prepared


def test_compounds_stay_whole_beside_a_word_alignment(dragoman, tmp_path):
    text = _compounds(tmp_path)
    lines = (tmp_path / "text.de").read_text().splitlines()
    (tmp_path / "links").write_text("0-0\n" * len(lines))
    linked = ["train", *text, "--tokenised", "--alignment", tmp_path / "links"]
    assert dragoman(*linked, "--out", tmp_path / "m").code == 0
    assert "autobahn" in set(Model.load(tmp_path / "m").source_vocab)
    refused = dragoman(*linked, "--compounds", "split", "--out", tmp_path / "n")
    assert (refused.code, "of whole words" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("ending", "compress"),
    [
        ("gz", gzip.compress),
        ("bz2", bz2.compress),
        ("xz", lzma.compress),
        ("zst", lambda data: zstandard.ZstdCompressor().compress(data)),
    ],
)
def test_compressed_text_is_the_same_text(dragoman, toy, model, tmp_path, ending, compress):
    for name in ("s", "t", "links"):
        (tmp_path / f"{name}.{ending}").write_bytes(compress((toy.folder / name).read_bytes()))
    source, target, links = (tmp_path / f"{name}.{ending}" for name in ("s", "t", "links"))
    arguments = ["--source", source, "--target", target, "--alignment", links, "--tokenised", "--out", tmp_path / "m"]
    assert dragoman("train", *arguments).code == 0
    assert (tmp_path / "m" / "checksums.toml").read_text() == (model / "checksums.toml").read_text()


def test_one_side_from_standard_input(dragoman, toy, model, tmp_path):
    arguments = ["--source", "-", "--target", toy.target, "--alignment", toy.links, "--tokenised"]
    result = dragoman("train", *arguments, "--out", tmp_path / "m", stdin=toy.source.read_bytes())
    assert result.code == 0
    assert (tmp_path / "m" / "checksums.toml").read_text() == (model / "checksums.toml").read_text()


def test_an_existing_folder_is_replaced_only_by_force(dragoman, toy, tmp_path):
    out = tmp_path / "m"
    out.mkdir()
    (out / "precious").write_text("mine")
    result = dragoman(*toy.train, "--out", out)
    assert (result.code, result.error) == (2, f"{out} exists; use --force to replace it")
    assert result.err.count("\n") == 1  # before the work, not after it
    assert [path.name for path in out.iterdir()] == ["precious"]
    # What somebody else put there is not ours to delete.
    refused = dragoman(*toy.train, "--out", out, "--force")
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert refused.error == f"{out}: holds precious that Dragoman did not write; expected a folder of its own"
    assert (out / "precious").read_text() == "mine"
    (out / "precious").rename(out / "model.toml")
    assert dragoman(*toy.train, "--out", out, "--force").code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    Model.load(out)


def test_results_go_to_standard_output_and_the_rest_to_standard_error(dragoman, toy, tmp_path):
    result = dragoman(*toy.train, "--out", tmp_path / "m")
    assert "phrase table tm" in result.out
    assert "dragoman:" not in result.out
    assert all(line.startswith("dragoman: ") for line in result.err.splitlines())
    assert "extracting phrases" in result.err


def test_a_hierarchical_model(dragoman, toy, tmp_path):
    out = tmp_path / "model"
    flags = ["--hierarchical", "--with-phrases", "--rule-min-hole-source", "1", "--rule-max-span", "6"]
    shown = dragoman(*toy.train, "--alignment", toy.links, *flags, "--out", out)
    assert shown.code == 0, shown.err
    assert "grammar tm" in shown.out
    assert "grammar phrases" in shown.out
    loaded = Model.load(out)
    assert loaded.settings.span_limit == 6
    assert loaded.history["rule_model"]["min_hole_source"] == 1
    grammar = loaded.grammars["tm"]
    # A noun and the adjective after it change places, whatever the noun phrase.
    rows = grammar.lookup([-1, loaded.source_vocab.id("bleue")])
    targets = {tuple(grammar.targets[row].tolist()) for row in rows}
    assert (loaded.target_vocab.id("blue"), -1) in targets


def test_rules_on_demand_translate_as_those_of_the_table(dragoman, toy, tmp_path):
    source = "\n".join(" ".join(pair.source) for pair in toy.pairs[:5]).encode() + b"\n"
    written = []
    for name, flags in (("table", []), ("corpus", ["--on-demand"])):
        out = tmp_path / name
        shown = dragoman(*toy.train, "--alignment", toy.links, "--hierarchical", *flags, "--out", out)
        assert shown.code == 0, shown.err
        assert ("rules on demand" in shown.out) == bool(flags)
        written.append(dragoman("translate", "--model", out, stdin=source).out)
    assert (tmp_path / "corpus" / "corpora" / "tm" / "suffixes.npy").exists()
    assert written[0] == written[1]
    assert written[0].count("\n") == 5


def test_phrases_beside_rules_need_rules(dragoman, toy, tmp_path):
    failed = dragoman(*toy.train, "--with-phrases", "--out", tmp_path / "model")
    assert failed.code == 2
    assert "--hierarchical" in failed.error


def test_the_model_is_the_same_whatever_the_memory(dragoman, toy, model, tmp_path):
    (tmp_path / "temporary").mkdir()
    options = ["--alignment", toy.links, "--memory", "2M", "--temporary", tmp_path / "temporary"]
    result = dragoman(*toy.train, *options, "--out", tmp_path / "m")
    assert result.code == 0
    assert "memory: 2.0 MB\n" in result.err
    assert "counting target phrases" in result.err  # which is done for parts only
    files = sorted(path.relative_to(model) for path in model.rglob("*") if path.is_file())
    assert all((tmp_path / "m" / file).read_bytes() == (model / file).read_bytes() for file in files)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_the_memory_is_said_at_the_start_and_bad_sizes_are_refused(dragoman, toy, tmp_path):
    result = dragoman(*toy.train, "--alignment", toy.links, "--out", tmp_path / "m")
    assert result.err.splitlines()[0].startswith("dragoman: memory: ")
    for size in ("0", "4GB", "-1G", "much"):
        result = dragoman(*toy.train, "--memory", size, "--out", tmp_path / "n")
        assert result.code == 2
        assert result.error == f"the memory is '{size}'; expected a number above 0 and K, M, G or T, as in 4G"
    result = dragoman(*toy.train, "--temporary", tmp_path / "no", "--out", tmp_path / "n")
    assert result.error == f"{tmp_path}/no: is not a folder; expected a folder for temporary files"
    assert not (tmp_path / "n").exists()


def test_a_disk_that_is_too_small_is_refused_before_the_work_begins(dragoman, toy, tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=1000))
    result = dragoman(*toy.train, "--memory", "1M", "--temporary", tmp_path, "--out", tmp_path / "m")
    assert result.code == 1
    assert result.error.startswith(f"{tmp_path}: has 1000 bytes free, and about ")
    assert "align" not in result.err
    assert list(tmp_path.iterdir()) == []
