import contextlib
import io

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from dragoman.core.errors import DataError
from dragoman.core.store import ArrayReader, ArrayWriter, load_array, load_arrays, read_rows, release_pages, save_arrays
from dragoman.core.workspace import resident_memory

ARRAYS = {
    "ids": np.arange(12, dtype=np.int32).reshape(3, 4),
    "empty": np.empty((0, 6), np.float32),
    "text": np.frombuffer(b"abc", np.uint8),
}


def test_arrays_come_back_read_only_and_mapped(tmp_path):
    save_arrays(tmp_path / "new", ARRAYS)
    loaded = load_arrays(tmp_path / "new")
    assert sorted(loaded) == sorted(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(loaded[name], array)
        assert loaded[name].dtype == array.dtype
    assert isinstance(loaded["ids"].base, np.memmap)
    assert not loaded["ids"].flags.writeable


def test_columns_and_strided_arrays_are_stored_by_row(tmp_path):
    array = np.asfortranarray(ARRAYS["ids"])
    save_arrays(tmp_path, {"a": array, "b": ARRAYS["ids"][:, ::2]})
    np.testing.assert_array_equal(load_array(tmp_path / "a.npy"), array)
    np.testing.assert_array_equal(load_array(tmp_path / "b.npy"), ARRAYS["ids"][:, ::2])


def test_the_same_arrays_are_the_same_bytes(tmp_path):
    for folder in ("a", "b"):
        save_arrays(tmp_path / folder, ARRAYS)
    for name in ARRAYS:
        assert (tmp_path / "a" / f"{name}.npy").read_bytes() == (tmp_path / "b" / f"{name}.npy").read_bytes()


def test_a_missing_or_short_file(tmp_path):
    with pytest.raises(DataError, match=r"x\.npy: cannot be read"):
        load_array(tmp_path / "x.npy")
    save_arrays(tmp_path, ARRAYS)
    whole = (tmp_path / "ids.npy").read_bytes()
    (tmp_path / "ids.npy").write_bytes(whole[:-1])
    with pytest.raises(DataError, match="has 175 bytes; expected 176, as its header says"):
        load_array(tmp_path / "ids.npy")


def test_pickled_objects_are_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(DataError, match="damaged"):
        load_array(tmp_path / "x.npy")


def test_arrays_by_column_are_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.asfortranarray(ARRAYS["ids"]))
    with pytest.raises(DataError, match="damaged"):
        load_array(tmp_path / "x.npy")


def npy(header):
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    "shape", ["(-1,)", f"({2**70},)", f"({2**32}, {2**32})", "('a',)", "(((((", "3", "(1.5,)", "(True,)"]
)
def test_impossible_shapes_are_refused(tmp_path, shape):
    path = tmp_path / "x.npy"
    path.write_bytes(npy(f"{{'descr': '<i4', 'fortran_order': False, 'shape': {shape}}}"))
    with pytest.raises(DataError, match=r"x\.npy"):
        load_array(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, 140), st.binary(max_size=3))
def test_any_change_to_the_header_gives_an_array_or_a_data_error(tmp_path, at, patch):
    stream = io.BytesIO()
    np.save(stream, ARRAYS["ids"])
    data = bytearray(stream.getvalue())
    data[at : at + len(patch)] = patch
    (tmp_path / "x.npy").write_bytes(data)
    with contextlib.suppress(DataError):
        assert isinstance(load_array(tmp_path / "x.npy"), np.ndarray)


def test_an_array_written_piece_by_piece_is_that_written_at_once(tmp_path):
    for name, array in (("a", np.arange(1234)), ("b", np.ones((5, 3), np.float32)), ("c", np.empty(0, np.uint16))):
        save_arrays(tmp_path, {name: array})
        writer = ArrayWriter(tmp_path / "pieces.npy", array.dtype.type, *array.shape[1:])
        for piece in np.array_split(array, 3):
            writer.write(piece)
        writer.finish()
        writer.finish()
        assert (tmp_path / "pieces.npy").read_bytes() == (tmp_path / f"{name}.npy").read_bytes()
        assert np.array_equal(ArrayReader(tmp_path / "pieces.npy").rows(), array)
        last = len(array)
        assert np.array_equal(ArrayReader(tmp_path / "pieces.npy").rows(last // 2, last), array[last // 2 :])


def test_mapped_arrays_are_copied_as_files_and_parts_of_them_as_arrays(tmp_path):
    save_arrays(tmp_path / "old", {"a": np.arange(10), "b": np.arange(12).reshape(4, 3)})
    mapped = load_arrays(tmp_path / "old")
    save_arrays(
        tmp_path / "new",
        {**mapped, "part": mapped["a"][2:5], "turned": mapped["b"].T, "view": mapped["b"].reshape(3, 4)},
    )
    assert {name: array.tolist() for name, array in load_arrays(tmp_path / "new").items()} == {
        "a": list(range(10)),
        "b": mapped["b"].tolist(),
        "part": [2, 3, 4],
        "turned": mapped["b"].T.tolist(),
        "view": mapped["b"].reshape(3, 4).tolist(),
    }
    assert (tmp_path / "new" / "b.npy").read_bytes() == (tmp_path / "old" / "b.npy").read_bytes()


def test_a_mapped_array_is_what_it_was_after_its_file_was_replaced(tmp_path):
    save_arrays(tmp_path / "old", {"a": np.arange(10)})
    mapped = load_arrays(tmp_path / "old")
    save_arrays(tmp_path / "other", {"a": np.zeros(10, np.int64)})
    (tmp_path / "other" / "a.npy").replace(tmp_path / "old" / "a.npy")
    save_arrays(tmp_path / "new", mapped)
    assert load_array(tmp_path / "new" / "a.npy").tolist() == list(range(10))


def test_rows_of_a_mapped_array_are_read_and_not_mapped(tmp_path):
    save_arrays(tmp_path, ARRAYS)
    mapped = load_array(tmp_path / "ids.npy")
    for array in (mapped, ARRAYS["ids"], mapped[1:]):
        assert read_rows(array, 1, 9).tolist() == array[1:9].tolist()
    assert not np.shares_memory(read_rows(mapped, 0, 2), mapped)
    assert np.shares_memory(read_rows(ARRAYS["ids"], 0, 2), ARRAYS["ids"])


def test_arrays_that_were_let_go_take_no_memory_until_they_are_read_again(tmp_path):
    save_arrays(tmp_path, {"many": np.arange(1 << 22)})
    mapped, own = load_array(tmp_path / "many.npy"), np.arange(3)
    before = resident_memory()
    assert mapped.sum() == (1 << 22) * ((1 << 22) - 1) // 2
    read = resident_memory()
    release_pages(mapped, own)
    assert read - resident_memory() > 0.9 * (read - before) > 1 << 24
    assert (mapped[-1], own.tolist()) == ((1 << 22) - 1, [0, 1, 2])
