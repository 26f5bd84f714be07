"""Damages folders of runs, experiments and checkpoints, many thousand times, uses them, and counts what becomes of it.

    python benchmarks/folder_mutations.py --mutants 5000 --seed 1
    python benchmarks/folder_mutations.py --seed 1 --only 4711

Runs are of every kind that keeps something (lists, hypergraphs, references' derivations, pairs of mixed tables, pools,
and the states of learners), ended, killed midway, and as older versions left them, without checksums. A file is
changed, cut off, emptied, removed, overwritten or exchanged with another; then weights are read, the service tells of
the run, and it is gone on with. All of that is refused in a sentence or gives what the whole folder gives; where there
are no checksums, something else may come of it, but no crash and no traceback. As in `mutations.py`, damage is tried in
child processes, a number stands for one damage whatever came before, and `--only` does it again.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
import warnings
from pathlib import Path

from mutations import HARM, OUTCOMES, run
from quick import parse_arguments

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from oracles.damaged_folders import (
    checkpoint_subjects,
    damage_folder,
    experiment_subjects,
    run_subjects,
    tiny_texts,
    verdict,
)

#: How much of the damage is to runs, to experiments, and to checkpoints, of which there are fewer.
SHARES = (7, 2, 1)


class Folders:
    """All folders that are damaged, and what is made of them when they are whole."""

    def __init__(self, work: Path):
        tiny_texts(work)
        self._work = work
        made = [*run_subjects(work)], [*experiment_subjects(work)], [*checkpoint_subjects(work)]
        self._subjects = [[(one, one.use(self._copy(one.folder))) for one in subjects] for subjects in made]

    def damaged(self, rng: random.Random) -> str:
        """Damage a folder, use it, and return what came of it and of what."""
        subject, expected = rng.choice(*rng.choices(self._subjects, SHARES))
        copy = self._copy(subject.folder)
        way = damage_folder(rng, copy)
        return f"{verdict(subject, expected, subject.use(copy))} {subject.name}: {way}"

    def _copy(self, folder: Path) -> Path:
        copies = self._work / "copy"
        shutil.rmtree(copies, ignore_errors=True)
        return Path(shutil.copytree(folder, copies / folder.name))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=5000)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the number of one damage, tried in this process")
    options = parse_arguments(parser, "--mutants 20")
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as temporary:
        folders = Folders(Path(temporary))
        if options.only is not None:
            print(folders.damaged(random.Random(f"{options.seed} {options.only}")))
            return 0
        start = time.monotonic()
        found = run(folders, options.seed, options.mutants, start + 60 * options.minutes)
        minutes = (time.monotonic() - start) / 60
    print(f"| tried (seed {options.seed}, {minutes:.1f} minutes) | " + " | ".join(OUTCOMES) + " |")
    print("|---" * (len(OUTCOMES) + 1) + "|")
    print(f"| {found.total():,} | " + " | ".join(f"{found[name]:,}" for name in OUTCOMES) + " |")
    return int(any(found[name] for name in HARM))


if __name__ == "__main__":
    sys.exit(main())
