"""Damages folders of runs, experiments and checkpoints and uses them; started by the tests, because it may not survive.

`python mutate_folders.py WORK SEED COUNT` prints for each damage a line that says what it is, before it is tried, and
then a line with the outcome: `refused` in a sentence, the `same` result, an `other` one where there are no checksums, a
`silent change`, or a traceback.
"""

import random
import shutil
import sys
import traceback
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from oracles.damaged_folders import (
    checkpoint_subjects,
    damage_folder,
    experiment_subjects,
    run_subjects,
    tiny_texts,
    verdict,
)

#: Some of the kinds of runs; the benchmark has all of them.
KINDS = ("lists", "hypergraphs", "pools", "workers")


def main():
    work, seed, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    warnings.simplefilter("ignore")
    tiny_texts(work)
    subjects = [*run_subjects(work, KINDS), *experiment_subjects(work), *checkpoint_subjects(work)]
    expected = {}
    for number in range(count):
        rng, subject = random.Random(f"{seed} {number}"), subjects[number % len(subjects)]
        copy = work / "copy" / subject.folder.name
        if subject.name not in expected:
            expected[subject.name] = subject.use(Path(shutil.copytree(subject.folder, copy)))
            shutil.rmtree(copy.parent)
        shutil.copytree(subject.folder, copy)
        print(f"{subject.name}: {damage_folder(rng, copy)}", flush=True)
        try:
            outcome = verdict(subject, expected[subject.name], subject.use(copy))
        except Exception:
            outcome = traceback.format_exc().replace("\n", " | ")
        print(outcome, flush=True)
        shutil.rmtree(copy.parent)


if __name__ == "__main__":
    main()
