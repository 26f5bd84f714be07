"""What Dragoman has written may be replaced by force: it knows all files of all its folders."""

import subprocess

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def hierarchical(command, toy, tmp_path_factory):
    out = tmp_path_factory.mktemp("hierarchical") / "model"
    arguments = [command, *toy.train, "--alignment", toy.links, "--hierarchical", "--rule-max-span", "3", "--out", out]
    subprocess.run([*map(str, arguments)], check=True, capture_output=True)
    return out


@pytest.mark.parametrize("what", ["moses", "moses of rules", "cdec", "joshua", "diagnose"])
def test_a_folder_of_ours_is_replaced_by_force(dragoman, toy, model, hierarchical, tmp_path, what):
    toy.write(tmp_path, text=slice(2))
    arguments = {
        "moses": ["export", "moses", model],
        "moses of rules": ["export", "moses", hierarchical],
        "cdec": ["export", "cdec", hierarchical],
        "joshua": ["export", "joshua", hierarchical],
        "diagnose": ["diagnose", "--model", model, "--source", tmp_path / "text.s", "--samples", "10", "--prepared"],
    }[what]
    for _ in range(2):
        result = dragoman(*arguments, "--out", tmp_path / "out", "--force")
        assert result.code == 0, result.err
