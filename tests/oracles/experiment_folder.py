"""What an experiment leaves in its folder, as tests compare it, and an experiment that is killed."""

import csv
import json
import signal
import subprocess
import time


def rows(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def timeless_files(folder):
    """What must be the same: all but clocks, and the page that shows them."""
    found = files(folder)
    for name in [name for name in found if name.endswith("events.jsonl")]:
        events = [json.loads(line) for line in found[name].splitlines()]
        found[name] = json.dumps([{k: v for k, v in event.items() if k != "seconds"} for event in events]).encode()
    return {name: text for name, text in found.items() if name != "report.html"}


def kill_experiment(command, plan, out, pattern):
    """Carry out a plan until there are files of a pattern, and no further."""
    arguments = [command, "experiment", plan, "--out", out, "--threads", "1"]
    process = subprocess.Popen([*map(str, arguments)], stderr=subprocess.DEVNULL, start_new_session=True)
    while process.poll() is None and not list(out.glob(pattern)):
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (out / "report.html").exists()
    time.sleep(1)  # a worker that is left ends when it is done with what it does
