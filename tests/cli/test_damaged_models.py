"""Model folders that something happened to."""

import os
import shutil
import subprocess
import sys
import tomllib
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dragoman.core.corpus import Bitext, Corpus
from dragoman.core.errors import DataError, version
from dragoman.core.progress import DragomanWarning
from dragoman.core.store import checked_files, fingerprint, remember_verified, write_checksums
from dragoman.features import FEATURES
from dragoman.formats.tagged_text import TaggedText
from dragoman.model.bundle import Model
from dragoman.model.edit import with_grammar
from dragoman.text.compounds import CompoundSplitter
from dragoman.text.preparation import Casing
from dragoman.training.pipeline import TrainRecipe, train_model
from dragoman.training.prepare import PreparedText
from dragoman.training.rules.model import RuleModel

pytestmark = pytest.mark.slow

SIDES = ("source", "target")
COMMANDS = {
    "show": lambda model, out: ["model", "show", model],
    "check": lambda model, out: ["model", "check", model],
    "export": lambda model, out: ["export", "moses", model, "--out", out],
    "perplexity": lambda model, out: ["lm", "perplexity", model],
}


@pytest.fixture
def damaged(model, tmp_path):
    """A copy of the model to damage."""
    return shutil.copytree(model, tmp_path / "model")


def settle(folder):
    """Let files have been written some time ago."""
    for file in folder.rglob("*"):
        os.utime(file, ns=(10**18, 10**18))


@pytest.fixture(scope="module")
def rich_model(model, toy, tmp_path_factory):
    """The model with features of its own kinds with case and compounds, so that it has every sort of array."""
    lines = [" ".join(pair.target) for pair in toy.pairs]
    tags = Corpus.from_lines([" ".join(f"T{len(word) % 3}" for word in line.split()) for line in lines])
    features = [FEATURES.get(name)() for name in ("boundary-tags", "word-pair", "word-deletion", "phrase-length")]
    loaded = Model.load(model).with_features(features, tagged=TaggedText(Corpus.from_lines(lines), tags))
    out = tmp_path_factory.mktemp("rich") / "model"
    replace(
        loaded,
        casing=Casing.learn([line.title() for line in lines]),
        compounds=CompoundSplitter.learn({"auto": 9, "bahn": 7}),
        settings=replace(loaded.settings, lowercase=True),
    ).save(out)
    return out


@pytest.fixture(scope="module")
def rich_hierarchical_model(toy, tmp_path_factory):
    """A model with a grammar and with rules on demand, and with features of words."""
    few = toy.pairs[:60]
    bitext = Bitext(*(Corpus.from_lines([" ".join(getattr(pair, side)) for pair in few]) for side in SIDES))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DragomanWarning)  # of little text
        table, corpus = (
            train_model(PreparedText(bitext), TrainRecipe(rule_model=RuleModel(), on_demand=one)).model
            for one in (False, True)
        )
    both = with_grammar(corpus, "table", table)
    out = tmp_path_factory.mktemp("rich") / "model"
    both.with_features([FEATURES.get(name)() for name in ("word-pair", "word-insertion")]).save(out)
    return out


def arrays_of(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.npy"))


@pytest.mark.parametrize("what", COMMANDS)
def test_another_format(dragoman, damaged, tmp_path, what):
    file = damaged / "model.toml"
    file.write_text(file.read_text().replace("format = 1\n", "format = 999\n").replace(f'"{version()}"', '"9.0"'))
    result = dragoman(*COMMANDS[what](damaged, tmp_path / "out"), stdin=b"the house\n")
    assert result.code == 1
    assert result.error.startswith(f"{file}: has format 999, written by dragoman ")
    assert "; expected format 1, which dragoman " in result.error
    assert not (tmp_path / "out").exists()


def test_no_toml(dragoman, damaged):
    (damaged / "model.toml").write_text("format = 1\n[settings\n")
    result = dragoman("model", "show", damaged)
    assert result.code == 1
    assert result.error.startswith(f"{damaged}/model.toml: is not TOML (")


def test_every_array_that_is_cut_off_is_named(dragoman, damaged):
    for name in arrays_of(damaged):
        file = damaged / name
        whole = file.read_bytes()
        for length in (len(whole) - 1, 40, 0):
            file.write_bytes(whole[:length])
            result = dragoman("model", "show", damaged)
            assert result.code == 1
            assert result.error.startswith(f"{file}: ")
        file.write_bytes(whole)
    assert dragoman("model", "show", damaged).code == 0


def test_every_array_that_is_missing_is_missed(dragoman, damaged):
    """By loading if a model cannot do without it, and by checking in any case."""
    for name in arrays_of(damaged):
        file = damaged / name
        whole = file.read_bytes()
        file.unlink()
        result = dragoman("model", "show", damaged)
        if name not in ("tables/tm/counts.npy", "tables/tm/reordering.lr.npy"):
            assert result.code == 1, name
            assert result.error.startswith(f"{file.parent}: "), name
        result = dragoman("model", "check", damaged)
        assert (result.code, result.error) == (1, f"{file}: is missing; expected an array of the model")
        file.write_bytes(whole)


def test_every_flipped_byte_is_found_by_check(dragoman, damaged):
    for name in arrays_of(damaged):
        file = damaged / name
        whole = file.read_bytes()
        changed = bytearray(whole)
        changed[-1] ^= 0x10
        file.write_bytes(changed)
        result = dragoman("model", "check", damaged)
        assert result.code == 1, name
        assert result.error.startswith(f"{file}: is damaged"), name
        file.write_bytes(whole)
    result = dragoman("model", "check", damaged)
    assert (result.code, result.out) == (0, f"{damaged}: {len(arrays_of(damaged))} arrays, all as they were written\n")


def test_checksums_cover_every_array(model):
    assert sorted(tomllib.loads((model / "checksums.toml").read_text())) == arrays_of(model)


def test_arrays_of_another_type(dragoman, damaged):
    for name, array in {
        "tables/tm/log_scores": np.zeros((3, 4), np.float64),
        "tables/tm/index": np.zeros(7, np.int32),
        "tables/tm/sources": np.zeros((2, 2), np.int32),
        "tables/tm/first_pair": np.zeros(4, np.int64),
        "tables/tm/target_ids": np.zeros(2, np.int32),
        "vocab/source/blob": np.zeros(7, np.uint8),
        "language_models/lm/slots": np.zeros((5, 2), np.uint64),
    }.items():
        file = damaged / f"{name}.npy"
        whole = file.read_bytes()
        np.save(file, array)
        result = dragoman("model", "show", damaged, "la maison")
        assert result.code == 1, name
        assert result.error.startswith(f"{file.parent}: "), name
        file.write_bytes(whole)


def test_weights_that_are_no_numbers(dragoman, damaged):
    (damaged / "weights.txt").write_text("lm 0.5\ntm.fwd much\n")
    result = dragoman("model", "show", damaged)
    assert (result.code, result.error) == (
        1,
        f"{damaged}/weights.txt:2: the weight of tm.fwd is 'much'; expected a number",
    )


def test_loading_copies_no_array(model, damaged):
    """Arrays are mapped: processes share what they hold."""
    loaded = Model.load(damaged)
    table = loaded.tables["tm"]
    for array in (table.sources.values, table.log_scores, table.targets.values, table.alignments.values):
        assert isinstance(array.base, np.memmap)
        assert not array.flags.writeable
    for array in (loaded.language_models["lm"].slots, loaded.source_vocab.blob):
        assert isinstance(array.base, np.memmap)


def test_a_huge_model_that_was_checked_before_is_open_at_once(damaged):
    """A table of 40 GB that is a hole in the disk: reading it would take half a minute, or all memory."""
    folder = damaged / "tables" / "tm"
    header = np.lib.format.header_data_from_array_1_0(np.empty(0, np.int32)) | {"shape": (10**10,)}
    with (folder / "targets.npy").open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, header)
        stream.truncate(stream.tell() + 4 * 10**10)
    offsets = np.load(folder / "target_offsets.npy")
    offsets[-1] = 10**10
    np.save(folder / "target_offsets.npy", offsets)
    settle(damaged)
    remember_verified(fingerprint(checked_files(damaged)))
    assert len(Model.load(damaged).tables["tm"].targets.values) == 10**10


@pytest.mark.parametrize(
    ("kind", "seed", "count"),
    [*(("rich_model", seed, 500) for seed in range(4)), ("rich_hierarchical_model", 4, 300)],
)
def test_no_damage_does_harm(request, tmp_path, kind, seed, count):
    """Whatever an array or a text holds, and without checksums: a sentence says so, or the model can be used."""
    script, model = Path(__file__).with_name("mutate.py"), request.getfixturevalue(kind)
    arguments = [sys.executable, script, model, tmp_path / "model", str(seed), str(count)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, (lines[-1:], done.stderr)
    found = Counter(lines[1::2])
    harm = [pair for pair in zip(lines[::2], lines[1::2], strict=True) if pair[1] not in ("refused", "same", "other")]
    assert not harm
    assert found.total() == count
    assert found["refused"] > count / 2
    assert found["same"] > found["other"] > 0


def change(folder, name, at, value):
    """Set an element of an array, and let its checksum be right."""
    file = folder / f"{name}.npy"
    array = np.load(file)
    array.reshape(-1)[at] = value
    np.save(file, array)
    write_checksums(folder)


@pytest.mark.parametrize(
    ("name", "at", "value", "expected"),
    [
        ("language_models/lm/states", 2, 5 << 32, "'states' has the state 1 back off to 5; expected a smaller one"),
        ("language_models/lm/states", 2, 0x7FC00000, "'states' holds nan; expected finite numbers of a usual size"),
        ("language_models/lm/unigrams", 1, 10**5 << 32, "'unigrams' holds 100000; expected numbers from 0 to "),
        ("language_models/lm/bounds", 0, 1, "'bounds' has other ends; expected offsets from 0 to "),
        ("language_models/lm/slots", slice(None), 1 << 32, "'slots' has no free slot; expected at least one"),
        ("tables/tm/sources", 0, 10**6, "'sources' holds 1000000; expected numbers from 0 to "),
        ("tables/tm/targets", 0, -1, "'targets' holds -1; expected numbers from 0 to "),
        ("tables/tm/source_offsets", 1, 10**9, "'source_offsets' falls from 1000000000 to "),
        ("tables/tm/index", slice(None), 0, "'index' has no free slot; expected at least one"),
        ("tables/tm/target_ids", 0, 10**6, "'target_ids' holds 1000000; expected numbers from 0 to "),
        ("tables/tm/log_scores", 3, np.nan, "'log_scores' holds nan; expected finite numbers of a usual size"),
        ("tables/tm/reordering.lr", 3, -np.inf, "'reordering.lr' holds -inf; expected finite numbers of a usual size"),
        ("tables/tm/alignments", 0, 65535, "'alignments' links words that do not exist; expected a phrase table"),
        ("vocab/target/blob", 15, 10, "'blob' holds white space; expected words"),
        ("vocab/target/blob", 15, 255, "'blob' is not UTF-8; expected words"),
        ("casing/forms", 0, 255, "'forms' is not UTF-8; expected the case of words"),
        ("compounds/forms", 0, 255, "'forms' is not UTF-8; expected counts of words"),
        ("compounds/counts", 0, 0, "'counts' has a word that does not occur; expected counts of words"),
        ("grammars/table/symbols", 2, 10**6, "'symbols' holds 1000000; expected numbers from -1 to "),
        ("grammars/table/first_child", 2, 1, "'first_child' falls from "),
        ("grammars/table/targets", 0, -2, "'targets' has other nonterminals than its source side; expected the same"),
        ("corpora/tm/suffixes", 0, -1, "'suffixes' holds -1; expected numbers from 0 to "),
    ],
)
def test_what_does_not_fit_is_named(dragoman, rich_model, rich_hierarchical_model, tmp_path, name, at, value, expected):
    of_rules = name.startswith(("grammars/", "corpora/"))
    folder = shutil.copytree(rich_hierarchical_model if of_rules else rich_model, tmp_path / "model")
    change(folder, name, at, value)
    result = dragoman("translate", "--model", folder, stdin=b"la ville\n")
    assert result.code == 1
    assert result.error.startswith(f"{(folder / name).parent}: the array {expected}")


def test_changed_numbers_are_found_when_a_model_is_loaded_for_the_first_time(dragoman, damaged):
    file = damaged / "tables" / "tm" / "log_scores.npy"
    scores = np.load(file)
    scores[0, 0] += 1
    np.save(file, scores)
    result = dragoman("model", "show", damaged)
    assert result.code == 1
    assert result.error.startswith(f"{file}: is damaged; expected checksum ")


def test_what_was_checked_is_not_read_again_until_it_changes(damaged, monkeypatch):
    checks = []
    check = Model.check
    monkeypatch.setattr(Model, "check", lambda model, folder: checks.append(folder) or check(model, folder))
    Model.load(damaged)
    settle(damaged)
    for _ in range(3):
        Model.load(damaged)
    assert len(checks) == 2  # files that have only just been written may yet change
    file = damaged / "tables" / "tm" / "target_ids.npy"
    ids = np.load(file)
    ids[0] += 1
    np.save(file, ids)
    for _ in range(2):
        with pytest.raises(DataError, match=r"target_ids\.npy: is damaged"):
            Model.load(damaged)


def test_a_cache_that_cannot_be_written_is_done_without(damaged, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    settle(damaged)
    for _ in range(2):
        assert Model.load(damaged).tables


@pytest.mark.parametrize("name", ["../tm", "..", ".", "", "a/b", "/tmp", "a\\\\b", "a\\u0000b", "x" * 300])
def test_names_that_lead_elsewhere(dragoman, damaged, name):
    file = damaged / "model.toml"
    file.write_text(file.read_text().replace('name = "tm"', f'name = "{name}"'))
    result = dragoman("model", "show", damaged)
    assert result.code == 1
    assert result.error.startswith(f"{file}: has a table of the name ")
    assert result.error.endswith("; expected a name without a path")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('kind = "phrase-based"', "kind = []", "has a model of the kind []; expected phrase-based"),
        ("[[table]]", "[table]", "has no tables under table; expected [[table]]"),
        ("[settings]", "[[settings]]", "has a value for settings; expected a table [settings]"),
        ("reordering_limit = 6", "reordering_limit = 9999999999", "reordering_limit is 9999999999; expected at most "),
        ("reordering_limit = 6", f"reordering_limit = {'[' * 5000}", "is not TOML ("),
        ("reordering_limit = 6", f"reordering_limit = {'9' * 5000}", "is not TOML ("),
    ],
)
def test_descriptions_of_another_shape(dragoman, damaged, old, new, expected):
    file = damaged / "model.toml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    result = dragoman("model", "show", damaged)
    assert result.code == 1
    assert result.error.startswith(f"{file}: {expected}")


def test_weights_that_no_sum_can_hold(dragoman, damaged):
    file = damaged / "weights.txt"
    file.write_text(file.read_text().replace("lm 0.5", "lm 1e300"))
    result = dragoman("translate", "--model", damaged, stdin=b"la ville\n")
    assert result.code == 1
    assert "lm is -" in result.error
    assert result.error.endswith("and weighs 1e+300; expected features and weights whose sum is finite")


def test_the_longest_jump_that_there_is(dragoman, model, toy):
    text = toy.source.read_bytes()
    free, long = (
        dragoman("translate", "--model", model, "--reordering-limit", n, stdin=text) for n in (1000, 2**31 - 1)
    )
    assert (free.code, long.code) == (0, 0)
    assert free.out == long.out
