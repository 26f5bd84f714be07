"""Utilities made elsewhere: every way to keep them, MBR over them, and what is said of files that do not fit."""

import io
import zipfile

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.decision.gains import expected_gains
from dragoman.decision.mbr import Mbr
from dragoman.decision.posterior import Posterior
from dragoman.decision.utilities import Utilities
from dragoman.metrics.combined import parse_metric
from oracles.decision import nbest_of

#: The second list has a string twice; that counts as one with the probability of both.
LISTS = nbest_of(
    [
        [((3, 4, 5), -1.0), ((3, 4), -1.5), ((5,), -0.5)],
        [((6, 3), -2.0), ((6, 4, 5, 3), -1.0), ((6, 3), -1.0), ((3,), -1.0)],
    ]
)


def matrices(metric="chrf", lists=LISTS):
    """The metric's gains of all pairs of lines, equal ones too."""
    found = []
    for s in range(len(lists)):
        part = lists.list(s)
        size = len(part.hypotheses)
        cells = np.empty((size, size))
        for i in range(size):
            one = Posterior.of_nbest(nbest_of([[(tuple(part.hypotheses[i].tolist()), 0.0)]]))
            for j in range(size):
                other = Posterior.of_nbest(nbest_of([[(tuple(part.hypotheses[j].tolist()), 0.0)]]))
                cells[i, j] = expected_gains(parse_metric(metric), one, other)[0][0]
        found.append(cells)
    return found


def as_written(path, hypotheses, evidence, metric="bleu", **changed):
    """A file as `dragoman mbr --utility-matrix` writes it."""
    gains, matrix = expected_gains(parse_metric(metric), hypotheses, evidence, matrix=True)
    arrays = {
        "gains": matrix,
        "expected": gains,
        "hypothesis_sentences": hypotheses.sentences,
        "hypothesis_rows": hypotheses.rows,
        "evidence_sentences": evidence.sentences,
        "evidence_rows": evidence.rows,
        "evidence_probabilities": evidence.probabilities,
    }
    np.savez(path, **(arrays | changed))
    return gains


def save_by_number(path):
    np.savez(path, **{str(s): matrix for s, matrix in enumerate(matrices())})


def save_in_order(path):
    np.savez_compressed(path, *matrices())


@pytest.mark.parametrize("save", [save_by_number, save_in_order])
def test_a_matrix_a_sentence_gives_what_our_own_metric_gives(save, tmp_path):
    save(tmp_path / "u.npz")
    posterior = Posterior.of_nbest(LISTS)
    utilities = Utilities.read(tmp_path / "u.npz", LISTS, LISTS)
    expected = expected_gains(parse_metric("chrf"), posterior, posterior)[0]
    np.testing.assert_allclose(utilities.expected(posterior, posterior), expected, rtol=1e-12)
    ours = Mbr(metric="chrf").decide(LISTS)
    assert Mbr().choose_by(utilities, posterior, posterior).lines() == ours.lines()
    top = posterior.top(2)
    np.testing.assert_allclose(
        utilities.expected(top, posterior), expected_gains(parse_metric("chrf"), top, posterior)[0], rtol=1e-12
    )


def test_one_array_for_lists_of_the_same_size(tmp_path):
    lists = nbest_of([[((3, 4), 0.0), ((3,), 0.0)], [((5,), 0.0), ((5, 6), 0.0)]])
    np.save(tmp_path / "u.npy", np.array([[[0, 1], [1, 1]], [[5, 0], [0, 4]]]))
    posterior = Posterior.of_nbest(lists)
    assert Utilities.read(tmp_path / "u.npy", lists, lists).expected(posterior, posterior).tolist() == [0.5, 1, 2.5, 2]
    one = lists.list(0)
    np.save(tmp_path / "u.npy", np.array([[0.0, 1.0], [1.0, 1.0]]))
    chosen = Mbr().choose_by(Utilities.read(tmp_path / "u.npy", one, one), *[Posterior.of_nbest(one)] * 2)
    assert chosen.lines() == ["w0"]


@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_what_mbr_writes_is_read_back_as_the_same(scale, tmp_path):
    """At the scale it was written with it is the same to the last bit; at another the gains have 24 bits."""
    posterior = Posterior.of_nbest(LISTS, scale)
    gains = as_written(tmp_path / "u.npz", posterior, posterior)
    utilities = Utilities.read(tmp_path / "u.npz", LISTS, LISTS)
    np.testing.assert_array_equal(utilities.expected(posterior, posterior), gains)
    assert Mbr().choose_by(utilities, posterior, posterior).lines() == Mbr(scale=scale).decide(LISTS).lines()
    other = Posterior.of_nbest(LISTS, 2 * scale)
    expected = expected_gains(parse_metric("bleu"), other, other)[0]
    np.testing.assert_allclose(utilities.expected(other, other), expected, rtol=1e-6)


def test_other_gains_in_a_file_of_ours_are_not_overlooked(tmp_path):
    posterior = Posterior.of_nbest(LISTS)
    cells = int((np.diff(posterior.sentences) ** 2).sum())
    as_written(tmp_path / "u.npz", posterior, posterior, gains=np.full(cells, 7.0, np.float32))
    values = Utilities.read(tmp_path / "u.npz", LISTS, LISTS).expected(posterior, posterior)
    np.testing.assert_allclose(values, 7.0)


def test_evidence_apart(tmp_path):
    evidence = nbest_of([[((3,), 0.0), ((4,), 1.0)], [((5,), 0.0)]])
    rng = np.random.default_rng(1)
    cells = [rng.random((3, 2)), rng.random((4, 1))]
    np.savez(tmp_path / "u.npz", *cells)
    hypotheses, posterior = Posterior.of_nbest(LISTS), Posterior.of_nbest(evidence)
    values = Utilities.read(tmp_path / "u.npz", LISTS, evidence).expected(hypotheses, posterior)
    np.testing.assert_allclose(values[:3], cells[0] @ posterior.probabilities[:2])
    np.testing.assert_allclose(values[3:], cells[1][[0, 1, 3], 0])


def refused(path, lists=LISTS):
    with pytest.raises(DataError) as error:
        Utilities.read(path, lists, LISTS)
    assert str(error.value).startswith(f"{path}: ")
    return str(error.value).removeprefix(f"{path}: ")


def test_what_does_not_fit_is_refused_with_a_sentence(tmp_path):
    path = tmp_path / "u.npz"
    good = matrices()
    np.savez(path, good[0], good[1][:, :3])
    assert refused(path) == (
        "the matrix of sentence 2 has the shape (4, 3); expected (4, 4), its candidates and its evidence in the lists"
    )
    np.savez(path, good[0])
    assert refused(path) == "has no matrix called 'arr_1'; expected one for each sentence of the lists"
    np.savez(path, *good, good[0])
    assert refused(path) == "has matrices for 3 sentences; expected 2, as in the lists"
    np.savez(path, **{"0": good[0], "2": good[1]})
    assert refused(path) == "has no matrix called '1'; expected one for each sentence of the lists"
    np.savez(path, **{"0": good[0], "1": good[1], "x": good[1]})
    assert refused(path) == "has a matrix called 'x', which is not a sentence of the lists"
    bad = good[1].copy()
    bad[2, 1] = np.nan
    np.savez(path, good[0], bad)
    assert refused(path) == "the matrix of sentence 2 has nan in row 3, column 2; expected a finite number"
    np.savez(path, good[0], good[1] > 0)
    assert refused(path) == "the matrix of sentence 2 is of the type bool; expected numbers"
    np.save(tmp_path / "u.npy", np.zeros(4))
    assert refused(tmp_path / "u.npy").startswith("has an array of the shape (4,); expected sentences, candidates")
    np.save(tmp_path / "u.npy", np.array([{}, []], object))
    assert refused(tmp_path / "u.npy") == "has Python objects; expected an .npy or .npz file of numbers"
    np.savez(path, good[0], np.array([None]))
    assert refused(path) == "has Python objects; expected an .npy or .npz file of numbers"
    assert refused(tmp_path / "none").startswith("cannot be read")


def test_broken_files_are_refused(tmp_path):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, *matrices())
    whole = buffer.getvalue()
    for data in (b"", b"text\n", whole[:-30], b"\x93NUMPY\x01\x00", whole[:60] + b"\xff" * 20 + whole[80:]):
        (tmp_path / "u").write_bytes(data)
        assert refused(tmp_path / "u") == "cannot be read as arrays of NumPy; expected an .npy or .npz file of numbers"
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive:
        archive.writestr("0", "no array")
        archive.writestr("1", "nor this")
    assert refused(tmp_path / "zip") == "the matrix of sentence 1 is of the type |S8; expected numbers"


def test_a_file_of_ours_for_other_lists(tmp_path):
    posterior = Posterior.of_nbest(LISTS)
    as_written(tmp_path / "u.npz", posterior, posterior)
    other = nbest_of([[((3, 4, 5), 0.0)], [((6, 3), 0.0)]])
    assert refused(tmp_path / "u.npz", other).startswith("was made for other candidates: its distinct strings")
    as_written(tmp_path / "u.npz", posterior, posterior, gains=np.zeros(3, np.float32))
    assert refused(tmp_path / "u.npz").startswith("'gains' has the shape (3,); expected (18,)")
    as_written(tmp_path / "u.npz", posterior, posterior, expected=np.zeros(3))
    assert refused(tmp_path / "u.npz") == "'expected' does not have a number for each candidate"
