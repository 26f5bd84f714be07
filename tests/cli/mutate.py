"""Damages a model in many ways and uses what can still be loaded; started by the tests, because it may not survive.

`python mutate.py MODEL WORK SEED COUNT` prints for each damage a line that says what it is, before it is tried, and
then a line with the outcome: `refused` in a sentence, used with the `same` translations or with `other` ones, or a
traceback.
"""

import random
import shutil
import sys
import traceback
import warnings
from pathlib import Path

import dragoman as dm
from dragoman.core.errors import DragomanError

sys.path.insert(0, str(Path(__file__).parents[1]))
from oracles.damage import change_array, change_text, use

LINES = ["la ville bleue aime la fleur vieille", "une vol aime la vol", "la xyz cherche la ville petite"]


def main():
    model, work, seed, count = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    warnings.simplefilter("ignore")
    rng = random.Random(seed)
    files = sorted(file.relative_to(model) for file in model.rglob("*") if file.is_file())
    texts = [file for file in files if file.suffix != ".npy"]
    shutil.copytree(model, work)
    (work / "checksums.toml").unlink()
    whole = use(dm.load(work, threads=1), LINES)
    for number in range(count):
        file = rng.choice(texts if number % 8 == 0 else files)
        shutil.copy(model / file, work / file)
        way = (change_array if file.suffix == ".npy" else change_text)(rng, work / file)
        print(f"{file}: {way}", flush=True)
        try:
            outcome = "same" if use(dm.load(work, threads=1), LINES) == whole else "other"
        except DragomanError as error:
            outcome = "refused" if str(error).strip() and "\n" not in str(error) else f"no sentence: {error}"
        except Exception:
            outcome = traceback.format_exc().replace("\n", " | ")
        print(outcome, flush=True)
        shutil.copy(model / file, work / file)
        if file.name == "checksums.toml":
            (work / file).unlink()


if __name__ == "__main__":
    main()
