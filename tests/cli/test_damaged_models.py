"""Model folders that something happened to."""

import os
import shutil
import tomllib

import numpy as np
import pytest

from dragoman.core.verified import fingerprint, remember_verified
from dragoman.model.bundle import Model
from dragoman.model.checksums import checked_files

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


def arrays_of(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.npy"))


@pytest.mark.parametrize("what", COMMANDS)
def test_another_format(dragoman, damaged, tmp_path, what):
    file = damaged / "model.toml"
    file.write_text(file.read_text().replace("format = 1\n", "format = 999\n").replace('"0.1.0"', '"9.0"'))
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
