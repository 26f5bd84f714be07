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

import numpy as np

import dragoman as dm
from dragoman.core.errors import DataError

LINES = ["la ville bleue aime la fleur vieille", "une vol aime la vol", "la xyz cherche la ville petite"]
VALUES = [
    "[]",
    "{}",
    '""',
    '"../.."',
    '"x/y"',
    '"lm"',
    "true",
    "-1",
    "0",
    "1e400",
    "nan",
    "9" * 30,
    "[[1]]",
    "[" * 3000,
]
WEIGHTS = ["nan", "-inf", "1e300", "-1e300", "1e29", "0", "x", ""]


def use(folder):
    """Everything that reads the arrays: search, samplers, features, language models, and the tables as a whole."""
    system = dm.load(folder, threads=1)
    found = system.translate(LINES)
    system.sample(LINES[0], 5)
    model = system.model
    for lm in model.language_models.values():
        lm.full_scores(found[0])
        lm.to_ngrams()
        _ = lm.sizes
    for table in model.tables.values():
        table.to_pairs(model.source_vocab, model.target_vocab)
        table.lookup([3])
    return found


def extremes(rng, array):
    if array.dtype.kind == "f":
        return rng.choice([np.nan, np.inf, -np.inf, 3e38, -3e38, 0.0, 1e20])
    if array.dtype.kind == "b":
        return rng.random() < 0.5
    about = np.iinfo(array.dtype)
    near = [-1, 0, 1, len(array), len(array) + 1, 255, 256, about.max, about.min, about.max - 1, rng.getrandbits(70)]
    return (rng.choice(near) - about.min) % (about.max - about.min + 1) + about.min


def change_array(rng, file):
    """Change one array in one of many ways; returns which."""
    array = np.load(file)
    way = rng.choice(["bit", "bit", "byte", "half", "extreme", "extreme", "extreme", "swap", "constant", "header"])
    way = rng.choice([way, way, way, "shorter", "longer", "reversed"])
    flat = array.reshape(-1).copy()
    if not len(flat):
        way = "longer"
    if way == "header":
        whole = bytearray(file.read_bytes())
        whole[rng.randrange(128)] ^= 1 << rng.randrange(8)
        file.write_bytes(whole)
        return way
    if way in ("bit", "byte"):
        data = flat.view(np.uint8)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8) if way == "bit" else rng.randrange(1, 256)
    elif way == "half" and flat.itemsize == 8:  # of what is packed: a number, or a state
        data = flat.view(np.uint32)
        data[rng.randrange(len(data))] = rng.choice([0, 1, 2**31, 2**32 - 1, len(array), 0x7F800000, 0x7FC00000])
    elif way == "swap":
        i, j = rng.randrange(len(flat)), rng.randrange(len(flat))
        flat[[i, j]] = flat[[j, i]]
    elif way == "constant":
        flat[:] = extremes(rng, array)
    elif way == "reversed":
        flat = flat[::-1]
    elif way in ("extreme", "half"):
        flat[rng.randrange(len(flat))] = extremes(rng, array)
    if way == "shorter":
        array = array[: rng.randrange(len(array))]
    elif way == "longer":
        array = np.concatenate([array, np.zeros((rng.choice([1, len(array)]), *array.shape[1:]), array.dtype)])
    else:
        array = flat.reshape(array.shape)
    np.save(file, np.ascontiguousarray(array))
    return way


def change_text(rng, file):
    """Change a line of a text."""
    lines = file.read_text().split("\n")
    at = rng.randrange(len(lines))
    way = rng.choice(["value", "value", "value", "without", "twice", "bit"])
    mark = " = " if file.suffix == ".toml" else " "
    if way == "value":
        lines[at] = f"{lines[at].split(mark)[0]}{mark}{rng.choice(VALUES if file.suffix == '.toml' else WEIGHTS)}"
    elif way == "without":
        del lines[at]
    elif way == "twice":
        lines.insert(at, lines[at])
    data = bytearray("\n".join(lines).encode())
    if way == "bit":
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    file.write_bytes(data)
    return f"{way} of line {at + 1}"


def main():
    model, work, seed, count = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    warnings.simplefilter("ignore")
    rng = random.Random(seed)
    files = sorted(file.relative_to(model) for file in model.rglob("*") if file.is_file())
    texts = [file for file in files if file.suffix != ".npy"]
    shutil.copytree(model, work)
    (work / "checksums.toml").unlink()
    whole = use(work)
    for number in range(count):
        file = rng.choice(texts if number % 8 == 0 else files)
        shutil.copy(model / file, work / file)
        way = (change_array if file.suffix == ".npy" else change_text)(rng, work / file)
        print(f"{file}: {way}", flush=True)
        try:
            outcome = "same" if use(work) == whole else "other"
        except DataError as error:
            outcome = "refused" if str(error).strip() and "\n" not in str(error) else f"no sentence: {error}"
        except Exception:
            outcome = traceback.format_exc().replace("\n", " | ")
        print(outcome, flush=True)
        shutil.copy(model / file, work / file)
        if file.name == "checksums.toml":
            (work / file).unlink()


if __name__ == "__main__":
    main()
