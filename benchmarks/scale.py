"""Training in bounded memory: peak memory, time and temporary space against the number of sentence pairs.

    python benchmarks/scale.py --data ../shared/data --pairs 29000 116000 --memory 100M 150M --json figures.json
    python benchmarks/scale.py --data ../shared/data --pairs 29000 --memory 100M --options "--hierarchical"
    python benchmarks/scale.py --figures figures.json --plot scale.svg

The text is Multi30k and, beyond its 29,000 pairs, copies of it in which one word in ten has the number of the copy in
its name, so that vocabulary and phrases grow. Each training is a process of its own, once with all the memory of the
machine and once with `--memory`; whether the two models are the same bytes is a column. Figures are lines of JSON,
which are added to those of the file; the last call draws them, and fits a line to each.
"""

from __future__ import annotations

import argparse
import filecmp
import gzip
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from quick import parse_arguments

TRAIN = "from dragoman.cli.main import main; main()"


def make_text(data: Path, pairs: int, folder: Path) -> list[Path]:
    """Write so many sentence pairs; words of every copy but the first are told apart."""
    files = []
    for side in ("fr", "en"):
        with gzip.open(data / "multi30k" / f"train.{side}.gz", "rt", encoding="utf-8") as stream:
            lines = [line.split() for line in stream]
        path = folder / f"text.{side}"
        with path.open("w", encoding="utf-8") as out:
            for row in range(pairs):
                copy, line = divmod(row, len(lines))
                words = [word if copy == 0 or hash_of(word, copy) % 10 else f"{word}~{copy}" for word in lines[line]]
                out.write(" ".join(words) + "\n")
        files.append(path)
    return files


def hash_of(word: str, copy: int) -> int:
    """A number that does not depend on the process."""
    return sum((i + 1) * byte for i, byte in enumerate(word.encode())) * 7919 + copy * 104_729


class Watched(threading.Thread):
    """Looks at how much a folder holds, again and again."""

    def __init__(self, folder: Path):
        super().__init__(daemon=True)
        self._folder, self.most, self.running = folder, 0, True

    def run(self) -> None:
        while self.running:
            total = 0
            for place, _, names in os.walk(self._folder):
                for name in names:
                    try:
                        total += (Path(place) / name).stat().st_size
                    except OSError:
                        continue
            self.most = max(self.most, total)
            time.sleep(0.2)


def measure(files: list[Path], out: Path, temporary: Path, memory: str | None, options: list[str]) -> dict[str, float]:
    """Train in a process of its own; returns megabytes, seconds of the processors, and megabytes of temporary files."""
    command = [sys.executable, "-c", TRAIN, "train", "--source", str(files[0]), "--target", str(files[1])]
    command += ["--out", str(out), "--force", "--temporary", str(temporary), "--memory", memory or "1T", *options]
    command += ["--preset", "moses"]
    watched = Watched(temporary)
    watched.start()
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    said = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    watched.running = False
    watched.join()
    if status:
        raise SystemExit(said)
    return {
        "memory": usage.ru_maxrss / 1024,
        "processor": usage.ru_utime + usage.ru_stime,
        "clock": time.monotonic() - start,
        "temporary": watched.most / (1 << 20),
    }


def same_folders(one: Path, two: Path) -> bool:
    """Whether two folders hold the same files."""
    names = [sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file()) for folder in (one, two)]
    return names[0] == names[1] and all(filecmp.cmp(one / name, two / name, shallow=False) for name in names[0])


def fitted(rows: list[dict[str, Any]], name: str) -> tuple[float, float]:
    """The line through figures that is wrong by the least share: what is there anyway, and what a pair takes."""
    pairs, values = (np.array([row[key] for row in rows], float) for key in ("pairs", name))
    begin, slope = np.linalg.lstsq(np.stack([1 / values, pairs / values], axis=1), np.ones(len(rows)), rcond=None)[0]
    return float(begin), float(slope)


def main() -> None:
    """Measure and print, or draw what was measured."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path)
    arguments.add_argument("--pairs", type=int, nargs="+", default=[29_000, 116_000])
    arguments.add_argument("--memory", nargs="+", default=["100M", "150M"], help="for each number of pairs")
    arguments.add_argument("--options", default="--tokenised --threads 2", help="more options of training")
    arguments.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()))
    arguments.add_argument("--json", type=Path, help="where the figures go")
    arguments.add_argument("--figures", type=Path, help="draw these, and train nothing")
    arguments.add_argument("--plot", type=Path)
    given = parse_arguments(arguments, "--data {data} --pairs 200 --memory 100M")
    if given.figures is not None:
        draw(json.loads(given.figures.read_text(encoding="utf-8")), given.plot)
        return
    options = given.options.split()
    kind = "rules" if "--hierarchical" in options else "phrases"
    rows: list[dict[str, Any]] = []
    if given.json and given.json.exists():
        rows = json.loads(given.json.read_text(encoding="utf-8"))
    for pairs, memory in zip(given.pairs, given.memory, strict=True):
        with tempfile.TemporaryDirectory(dir=given.work) as name:
            folder = Path(name)
            (folder / "temporary").mkdir()
            files = make_text(given.data, pairs, folder)
            found = {
                limit or "all": measure(files, folder / f"model-{limit}", folder / "temporary", limit, options)
                for limit in (None, memory)
            }
            same = same_folders(folder / "model-None", folder / f"model-{memory}")
        for limit, figures in found.items():
            rows.append({"kind": kind, "pairs": pairs, "limit": limit, "same": same, **figures})
            print(json.dumps(rows[-1]), flush=True)
        if given.json:
            given.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


FIGURES = (("memory", "peak memory (MB)"), ("processor", "processor time (s)"), ("temporary", "temporary files (MB)"))


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Plot memory, time and temporary space against the number of pairs; print the lines that fit."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter, StrMethodFormatter

    figure = Figure(figsize=(9, 3.2), layout="constrained")
    for axes, (name, label) in zip(figure.subplots(1, 3), FIGURES, strict=True):
        for kind, colour in (("phrases", "C0"), ("rules", "C1")):
            for marker, line, limited in (("o", "--", False), ("s", "-", True)):
                chosen = [row for row in rows if row["kind"] == kind and (row["limit"] != "all") == limited]
                if len(chosen) < 2 or (name == "temporary" and not limited):
                    continue
                chosen.sort(key=lambda row: row["pairs"])
                begin, slope = fitted(chosen, name)
                name_of_line = f"{kind}, {'bounded' if limited else 'all in memory'}"
                if name != "memory" or not limited:  # which is what was asked for
                    print(f"{name_of_line}: {label} {begin:.0f} + {slope * 1e6:.0f} a million pairs")
                axes.plot(
                    [row["pairs"] for row in chosen],
                    [row[name] for row in chosen],
                    line,
                    marker=marker,
                    color=colour,
                    label=name_of_line,
                )
        axes.set_xlabel("sentence pairs")
        axes.set_title(label, fontsize=9)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_minor_formatter(NullFormatter())
        axes.grid(alpha=0.3)
    figure.axes[0].legend(fontsize=7)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
