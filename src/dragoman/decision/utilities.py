"""Utilities from another program, such as a neural metric: for each sentence a matrix of candidates and evidence.

A NumPy file has them in one of these forms; pickled objects are never read.

- `.npz` with a matrix for each sentence, under the sentence's number or name, or as `np.savez(file, *matrices)` names
  them (arr_0, arr_1, …). Row i is candidate i of the list as the file has it, column j string j of the evidence.
- `.npy` with three axes: sentences, candidates, evidence, where all lists have the same size; or two, for one sentence.
- The output of `dragoman mbr --utility-matrix`, whose rows and columns are distinct strings.
"""

from __future__ import annotations

import contextlib
import io
import re
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, open_input
from dragoman.core.nbest import NBest
from dragoman.decision.posterior import Posterior

_OURS = {
    *("gains", "expected", "hypothesis_sentences", "hypothesis_rows"),
    *("evidence_sentences", "evidence_rows", "evidence_probabilities"),
}


@dataclass(frozen=True, eq=False)
class Utilities:
    """The gain of each candidate with each string of the evidence as reference; higher is better.

    `matrices[s]` has a row for each candidate of sentence `s` in `candidate_rows[s]`, which are places among all
    hypotheses of the lists, and a column for each string of the evidence in `evidence_rows[s]`.
    """

    matrices: Sequence[NDArray[Any]]
    candidate_rows: Sequence[NDArray[np.int64]]
    evidence_rows: Sequence[NDArray[np.int64]]
    #: Expected gains that the file has, and the probabilities for which they were computed.
    known: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    @classmethod
    def read(cls, path: PathLike, candidates: NBest, evidence: NBest) -> Utilities:
        """Read a file, and check that it fits the lists."""
        arrays = _arrays(path)
        if isinstance(arrays, Mapping) and arrays.keys() >= {"gains", "hypothesis_rows", "evidence_rows"}:
            return _own(arrays, candidates, evidence, path)
        matrices = _stacked(arrays, path) if isinstance(arrays, np.ndarray) else _named(arrays, candidates, path)
        if len(matrices) != len(candidates):
            raise DataError(
                f"has matrices for {len(matrices)} sentences", path=path, expected=f"{len(candidates)}, as in the lists"
            )
        rows, columns = (
            [np.arange(begin, end) for begin, end in zip(part.sentences, part.sentences[1:], strict=False)]
            for part in (candidates, evidence)
        )
        for s, matrix in enumerate(matrices):
            _check(matrix, (len(rows[s]), len(columns[s])), candidates.called(s), path)
        return cls(matrices, rows, columns)

    def expected(self, hypotheses: Posterior, evidence: Posterior) -> NDArray[np.float64]:
        """Return the expected gain of each hypothesis, if the true translation follows its sentence's evidence.

        Both must come from the lists that the utilities were read for. Equal strings, among hypotheses and in the
        evidence, have the gain of the first of them.
        """
        values = np.zeros(len(hypotheses.strings))
        for s in range(len(self.matrices)):
            ours, theirs = (slice(*side.sentences[s : s + 2].tolist()) for side in (hypotheses, evidence))
            values[ours] = self._matrix(s, hypotheses, evidence) @ evidence.probabilities[theirs]
        if self.known is not None and np.array_equal(self.known[1], evidence.probabilities):
            # The file's own expectations have more digits than its gains, so that ties stay ties. They do not count if
            # the gains in the file were changed.
            expected = self.known[0]
            if expected.shape == values.shape and np.allclose(expected, values, rtol=1e-5, atol=1e-6):
                return expected
        return values

    def cells(self, hypotheses: Posterior, evidence: Posterior) -> NDArray[np.float32]:
        """Return all gains of distinct strings, sentence by sentence, hypothesis by hypothesis."""
        found = [self._matrix(s, hypotheses, evidence).ravel() for s in range(len(self.matrices))]
        return np.concatenate([np.empty(0), *found]).astype(np.float32)

    def _matrix(self, s: int, hypotheses: Posterior, evidence: Posterior) -> NDArray[np.float64]:
        """Return the gains of the distinct strings of a sentence."""
        ours, theirs = (slice(*side.sentences[s : s + 2].tolist()) for side in (hypotheses, evidence))
        rows = np.searchsorted(self.candidate_rows[s], hypotheses.rows[ours])
        columns = np.searchsorted(self.evidence_rows[s], evidence.rows[theirs])
        return self.matrices[s][np.ix_(rows, columns)].astype(np.float64)


def _arrays(path: PathLike) -> NDArray[Any] | dict[str, NDArray[Any]]:
    with contextlib.closing(open_input(path)) as stream:
        data = stream.read()
    try:
        loaded = np.load(io.BytesIO(data), allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        # NumPy returns a member of the archive that is no array as bytes.
        return {name: np.asarray(loaded[name]) for name in loaded.files}
    except (ValueError, OSError, EOFError, KeyError, SyntaxError, MemoryError, zipfile.BadZipFile, zlib.error) as error:
        found = "has Python objects" if "Object arrays" in str(error) else "cannot be read as arrays of NumPy"
        raise DataError(found, path=path, expected="an .npy or .npz file of numbers") from None


def _stacked(array: NDArray[Any], path: PathLike) -> list[NDArray[Any]]:
    if array.ndim not in (2, 3):
        expected = "sentences, candidates and evidence as its axes"
        raise DataError(f"has an array of the shape {array.shape}", path=path, expected=expected)
    return [*array] if array.ndim == 3 else [array]


def _named(arrays: Mapping[str, NDArray[Any]], lists: NBest, path: PathLike) -> list[NDArray[Any]]:
    if all(re.fullmatch("arr_[0-9]+", name) for name in arrays):
        names = [f"arr_{i}" for i in range(max(len(arrays), len(lists)))]
    else:
        names = [str(name) for name in lists.sentence_ids]
    missing = [name for name in names if name not in arrays]
    if missing:
        raise DataError(
            f"has no matrix called '{missing[0]}'", path=path, expected="one for each sentence of the lists"
        )
    unknown = sorted(arrays.keys() - set(names))
    if unknown:
        raise DataError(f"has a matrix called '{unknown[0]}', which is not a sentence of the lists", path=path)
    return [arrays[name] for name in names]


def _check(matrix: NDArray[Any], shape: tuple[int, int], sentence: str, path: PathLike) -> None:
    if matrix.dtype.kind not in "fiu":
        raise DataError(f"the matrix of {sentence} is of the type {matrix.dtype}", path=path, expected="numbers")
    if matrix.shape != shape:
        raise DataError(
            f"the matrix of {sentence} has the shape {matrix.shape}",
            path=path,
            expected=f"{shape}, its candidates and its evidence in the lists",
        )
    wrong = np.argwhere(~np.isfinite(matrix))
    if len(wrong):
        row, column = wrong[0].tolist()
        found = f"the matrix of {sentence} has {matrix[row, column]} in row {row + 1}, column {column + 1}"
        raise DataError(found, path=path, expected="a finite number")


def _own(arrays: Mapping[str, NDArray[Any]], candidates: NBest, evidence: NBest, path: PathLike) -> Utilities:
    """Read the output of `dragoman mbr --utility-matrix`: distinct strings, and one matrix after the other."""
    missing = sorted(_OURS - arrays.keys())
    if missing:
        raise DataError(f"has no '{missing[0]}'", path=path, expected="all that `dragoman mbr` writes")
    rows, columns = (
        _distinct(arrays, side, lists, path) for side, lists in (("hypothesis", candidates), ("evidence", evidence))
    )
    sizes = np.array([len(r) * len(c) for r, c in zip(rows, columns, strict=True)], np.int64)
    gains, expected, probabilities = (arrays[name] for name in ("gains", "expected", "evidence_probabilities"))
    if gains.shape != (int(sizes.sum()),):
        found = f"'gains' has the shape {gains.shape}"
        raise DataError(found, path=path, expected=f"({int(sizes.sum())},), all pairs of candidates and evidence")
    matrices: list[NDArray[Any]] = []
    for s, (r, c, end) in enumerate(zip(rows, columns, np.cumsum(sizes).tolist(), strict=True)):
        matrices.append(gains[end - len(r) * len(c) : end].reshape(len(r), len(c)))
        _check(matrices[-1], (len(r), len(c)), candidates.called(s), path)
    whole = expected.shape == (sum(map(len, rows)),) and expected.dtype == probabilities.dtype == np.float64
    if not whole or not np.isfinite(expected).all():
        raise DataError("'expected' does not have a number for each candidate", path=path)
    return Utilities(matrices, rows, columns, (expected, probabilities))


def _distinct(arrays: Mapping[str, NDArray[Any]], side: str, lists: NBest, path: PathLike) -> list[NDArray[np.int64]]:
    """Return the rows of distinct strings of each sentence; refuse a file whose rows differ from the lists'."""
    bounds, rows = arrays[f"{side}_sentences"], arrays[f"{side}_rows"]
    ours = Posterior.of_nbest(lists, weights_from="uniform")
    if not np.array_equal(bounds, ours.sentences) or not np.array_equal(rows, ours.rows):
        called = "candidates" if side == "hypothesis" else "evidence"
        raise DataError(
            f"was made for other {called}: its distinct strings are not where the lists have them", path=path
        )
    return [ours.rows[begin:end] for begin, end in zip(ours.sentences, ours.sentences[1:], strict=False)]
