"""Commands and programs of pages, and a shell to run them in.

Blocks of a page are run in order: indented ones and fences of `sh` by one shell, fences of `python` each as a program
of its own. A block below `<!-- not run: REASON -->` is not. Servers run until the next one is started, and the port
that pages show stands for a free one; packages are installed, so that `pip` has nothing to do.

A page of docs/how-to has a comment `<!-- given: ... -->`, whose first line names what it may take for granted
(`test_how_to.py` says what there is), and whose other lines are commands that make what a reader would bring.
"""

import contextlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMANDS = Path(__file__).with_name("warm_commands.py")

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$|(?<=\n\n)(?: {4}[^\n]+\n+)+", re.M | re.S)
_GIVEN = re.compile(r"^<!-- given:([^\n]*?)(?: -->|\n(.*?)^-->)$", re.M | re.S)

_SESSION = r"""
set -e -o pipefail
trap 'echo "failed: $BASH_COMMAND" >&2' ERR
dragoman() {
    if [ "$1" = serve ]; then
        stop_serving
        exec {said}< <(exec "$PYTHON" -c 'from dragoman.cli.main import main; main()' "$@" --port 0 2>&1)
        serving=$!
        read -r line <&$said
        port=$(expr "$line" : '.*http://127.0.0.1:\([0-9]*\)')
    else
        "$PYTHON" -I -S "$COMMANDS" "$SOCKET" "$@"
    fi
}
stop_serving() { if [ -n "$serving" ]; then kill "$serving"; wait "$serving" || true; serving=; fi; }
trap stop_serving EXIT
python() { [ "$1" = -c ] && "$PYTHON" -I -S "$COMMANDS" "$SOCKET" - <<< "$2"; }
curl() { command curl -sSf "${@//127.0.0.1:8017/127.0.0.1:$port}"; }
pip() { :; }
"""


def blocks(text):
    """Yield the blocks to run, with their languages: indented ones, and fences of `sh` and `python`."""
    for match in _BLOCK.finditer(text):
        if text[: match.start()].rstrip().rpartition("\n")[2].lstrip().startswith("<!-- not run: "):
            continue
        if match[2] is None:
            yield "sh", re.sub(r"^ {4}", "", match[0], flags=re.M)
        elif match[1] in ("sh", "python"):
            yield match[1], match[2]


def quoted(text):
    """Return the lines of output that a page shows, in fences of `text`."""
    return [line for match in _BLOCK.finditer(text) if match[1] == "text" for line in match[2].splitlines() if line]


def given(text):
    """Return the names of what a page takes for granted, and commands that make the rest."""
    found = _GIVEN.search(text)
    return (found[1].split(), found[2] or "") if found else ([], "")


def session(page):
    """Return a page as one script."""
    python = '"$PYTHON" -I -S "$COMMANDS" "$SOCKET" - <<\'PROGRAM\'\n{}PROGRAM\n'
    return "\n".join(body if kind == "sh" else python.format(body) for kind, body in blocks(page))


def files_in(script):
    """Return the names of files that commands write."""
    return re.findall(r"(?:--(?:[a-z]+-)?out|--picture|--plot|--details|--hypergraphs| >) (\S+)", script)


@contextlib.contextmanager
def shell():
    """Give a function that runs a script in a folder; its commands need not load packages of others."""
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "PYTHON": sys.executable, "PYTHONPATH": paths, "MPLBACKEND": "agg"}
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/socket"
        server = subprocess.Popen(
            [sys.executable, COMMANDS, path], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        environment |= {"COMMANDS": str(COMMANDS), "SOCKET": path}
        with server:  # which ends when its input does
            assert server.stdout.readline() == b"ready\n"

            def run(script, where):
                told = {"cwd": where, "env": environment, "text": True, "encoding": "utf-8"}
                done = subprocess.run(["bash"], input=_SESSION + script, capture_output=True, check=False, **told)
                assert done.returncode == 0, done.stderr[-3000:]
                return done

            yield run
