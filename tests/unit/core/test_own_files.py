import pytest

from dragoman.core.errors import DataError
from dragoman.core.own_files import EXPERIMENT, RUN, own_files, refuse_strangers

OURS = ("run.toml", "events.jsonl", "weights.txt", "weights/000.txt", "evidence/001/vocab/blob.npy", "state/002.npz")
THEIRS = ("thesis.pdf", "photos/me.jpg", "weights/notes.txt", "evidence/mine.csv", "state/002.npz.bak", "weights/.lock")


def write(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")


def files(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())


def test_only_our_own_files_are_removed_and_folders_that_are_empty_then(tmp_path):
    write(tmp_path, ".lock", *OURS, *THEIRS)
    (tmp_path / "empty").mkdir()
    RUN.remove(tmp_path, keep=["run.toml"])
    assert files(tmp_path) == sorted([".lock", "run.toml", *THEIRS])
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {
        "empty",
        "photos",
        "weights",
        "evidence",
        "state",
    }
    assert not (tmp_path / "evidence" / "001").exists()


def test_links_are_removed_as_links_and_never_followed(tmp_path):
    home, run = tmp_path / "home", tmp_path / "run"
    write(home, "000.txt", "run.toml")
    run.mkdir()
    (run / "events.jsonl").symlink_to(home / "run.toml")
    (run / "weights").symlink_to(home)
    RUN.remove(run)
    assert [path.name for path in run.iterdir()] == ["weights"]
    assert files(home) == ["000.txt", "run.toml"]


def test_strangers_are_named_the_first_three(tmp_path):
    write(tmp_path, "model.toml", "weights.txt", "vocab/source/blob.npy")
    refuse_strangers(tmp_path)
    write(tmp_path, "vocab/source/notes")
    with pytest.raises(DataError, match=r": holds vocab/source/notes that Dragoman did not write; expected a folder"):
        refuse_strangers(tmp_path)
    write(tmp_path, "thesis.pdf", "photos/1.jpg", "photos/2.jpg", "a", "b")
    with pytest.raises(DataError, match=r": holds a, b, thesis.pdf and 2 more that Dragoman did not write;"):
        refuse_strangers(tmp_path)


def test_arrays_that_a_model_has_no_checksum_of_are_not_its_own(tmp_path):
    write(tmp_path, "model.toml", "vocab/source/blob.npy", "vocab/source/mine.npy")
    (tmp_path / "checksums.toml").write_text('"vocab/source/blob.npy" = 1\n')
    assert own_files(tmp_path).strangers(tmp_path) == ["vocab/source/mine.npy"]


def test_of_a_corpus_only_the_sides_that_it_has_are_its_own(tmp_path):
    write(tmp_path, "train.en", "train.fr.gz", "test.en2", "train.py", "dev.tok.en")
    (tmp_path / "manifest.toml").write_text('source = "en"\ntarget = "fr"\nreferences = ["en2"]\n')
    assert own_files(tmp_path).strangers(tmp_path) == ["dev.tok.en", "train.py"]


def test_a_folder_without_a_mark_is_all_strange(tmp_path):
    write(tmp_path, "weights.txt")
    assert own_files(tmp_path).strangers(tmp_path) == ["weights.txt"]


def test_an_experiment_has_runs_and_models(tmp_path):
    write(tmp_path, "plan.toml", "runs/mert/3/weights/000.txt", "runs/mert/3/tests/in-domain/final.txt")
    write(tmp_path, "models/perp/tables/tm/sources.npy", "untuned/tests/in-domain/MBR/final.txt")
    assert EXPERIMENT.strangers(tmp_path) == []
    write(tmp_path, "runs/mert/3/thesis.pdf", "models/notes")
    assert EXPERIMENT.strangers(tmp_path) == ["models/notes", "runs/mert/3/thesis.pdf"]
