import errno
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from dragoman.core.corpus import Bitext, Corpus
from dragoman.core.errors import DataError, DragomanError, UsageError
from dragoman.training.align.eflomal import Eflomal


def bitext():
    return Bitext(Corpus.from_lines(["la maison", "", "le"]), Corpus.from_lines(["the house", "x", "the the"]))


def install(monkeypatch, forward, reverse):
    """Put a package in eflomal's place that remembers its input and writes the given links."""
    seen = {}

    def write_text(stream, sentences, words):
        seen.setdefault("texts", []).append(([s.tolist() for s in sentences], words))
        assert all(s.dtype == np.uint32 for s in sentences)

    def align(source, target, links_filename_fwd, links_filename_rev, **options):
        seen["options"] = options
        Path(links_filename_fwd).write_text(forward)
        Path(links_filename_rev).write_text(reverse)

    module = types.ModuleType("eflomal")
    module.write_text, module.align = write_text, align
    monkeypatch.setitem(sys.modules, "eflomal", module)
    return seen


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "eflomal", None)
    with pytest.raises(UsageError, match=r"pip install 'dragoman\[eflomal\]'"):
        Eflomal().align(bitext())


def test_links_are_read_sorted_and_options_passed(monkeypatch):
    seen = install(monkeypatch, "1-1 0-0\n\n0-1 0-0\n", "0-0 1-1\n\n0-1\n")
    both = Eflomal(samplers=2).align(bitext())
    assert both.forward.values.tolist() == [0, 1 << 16 | 1, 0, 1]
    assert both.forward.offsets.tolist() == [0, 2, 2, 4]
    assert both.reverse.offsets.tolist() == [0, 2, 2, 3]
    assert seen["options"] == {"n_samplers": 2, "rel_iterations": 1.0, "null_prior": 0.2}
    assert seen["texts"][0] == ([[3, 4], [], [5]], 6)


def test_a_run_that_failed_is_an_error(monkeypatch):
    install(monkeypatch, "0-0\n", "")
    with pytest.raises(DragomanError, match="wrote 1 lines of word alignment for 3 sentence pairs"):
        Eflomal().align(bitext())


def test_sentences_that_eflomal_skips_are_counted(monkeypatch):
    install(monkeypatch, "\n", "\n")
    with pytest.warns(UserWarning, match="1 sentence pairs are longer than 1023 words"):
        Eflomal().align(Bitext(Corpus.from_lines(["a " * 1024]), Corpus.from_lines(["b"])))


def test_a_full_disk_for_temporary_files(monkeypatch):
    def no_space(stream, sentences, words):
        raise OSError(errno.ENOSPC, "No space left on device")

    install(monkeypatch, "", "")
    monkeypatch.setattr(sys.modules["eflomal"], "write_text", no_space)
    with pytest.raises(DataError, match="/s: could not be written: the disk is full"):
        Eflomal().align(bitext())
