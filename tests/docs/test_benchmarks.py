"""Every benchmark can be imported, and tells its options; with `--quick` it runs on tiny data of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
SCRIPTS = [path for path in sorted(BENCHMARKS.glob("*.py")) if "__main__" in path.read_text(encoding="utf-8")]
QUICK = [path.stem for path in SCRIPTS if "from quick import" in path.read_text(encoding="utf-8")]
#: Writes documents and measures nothing.
NO_BENCHMARK = {"figures"}
COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")

#: As much of KenLM as the program that times it uses.
KENLM = """
#include <string>
namespace lm {
using WordIndex = unsigned int;
namespace ngram {
struct Config {
    bool show_progress;
    std::ostream* messages;
    unsigned char prob_bits, backoff_bits, pointer_bhiksha_bits;
    const char* write_mmap;
};
struct State {};
struct Score { float prob; };
struct Words { WordIndex Index(const std::string&) const; WordIndex EndSentence() const; };
struct ProbingModel {
    ProbingModel(const char*, const Config&);
    const Words& GetVocabulary() const;
    const State& BeginSentenceState() const;
    Score FullScore(const State&, WordIndex, State&) const;
};
using TrieModel = ProbingModel;
using QuantArrayTrieModel = ProbingModel;
}
}
"""

#: Asks the files that it is given for help, all in one process, and prints what became of each.
ASK = """
import contextlib, io, json, runpy, sys, traceback
sys.path.insert(0, sys.argv[1])
answers = {}
for file in sys.argv[2:]:
    sys.argv = [file, "--help"]
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            runpy.run_path(file, run_name="__main__")
    except SystemExit as end:
        answers[file] = said.getvalue() if not end.code else f"ended with {end.code}"
    except BaseException:
        answers[file] = traceback.format_exc()
    else:
        answers[file] = "ended without help"
print(json.dumps(answers))
"""


@pytest.mark.slow
def test_every_benchmark_tells_its_options() -> None:
    command = [sys.executable, "-c", ASK, str(BENCHMARKS), *map(str, SCRIPTS)]
    answers = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert len(answers) == len(SCRIPTS) > 50
    failed = {file: said for file, said in answers.items() if not said.startswith("usage:")}
    assert not failed, "\n".join(f"{file}: {said}" for file, said in failed.items())


def test_every_benchmark_can_be_quick() -> None:
    assert {path.stem for path in SCRIPTS} - NO_BENCHMARK == set(QUICK)


@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")
def test_the_program_that_times_kenlm_compiles(tmp_path: Path) -> None:
    assert COMPILER is not None
    header = tmp_path / "lm" / "model.hh"
    header.parent.mkdir()
    header.write_text(KENLM, encoding="utf-8")
    kernels = BENCHMARKS.parent / "src" / "dragoman" / "kernels"
    command = [COMPILER, "-std=c++20", "-fsyntax-only", f"-I{tmp_path}", f"-I{kernels}"]
    done = subprocess.run([*command, str(BENCHMARKS / "language_model_query.cpp")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_a_benchmark_runs_on_tiny_data(name: str, tmp_path: Path) -> None:
    command = [sys.executable, str(BENCHMARKS / f"{name}.py"), "--quick"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert not [*tmp_path.iterdir()], "files are left behind"
