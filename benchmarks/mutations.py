"""Damages models and texts, many thousand times, uses what is not refused, and counts what becomes of it.

    make mutations MUTATIONS="--minutes 15"
    python benchmarks/mutations.py --count 1000000 --seed 2
    python benchmarks/mutations.py --seed 2 --only 4711
    make mutations MUTATIONS="--minutes 15 --hierarchical"

These run under AddressSanitizer and UBSan where `make` starts them; the last damages a hierarchical model, with a
grammar and a corpus that has its rules on demand. Most arrays are changed in memory, some on disk, as are texts of the
model; changed sentences go to an undamaged model. Whatever is not refused translates, makes an n-best list, samples,
and is read as a whole. Damage is tried in child processes, thousands in each: a number stands for one damage whatever
came before, and `--only` does it again, with all that it has to say. Runs, experiments and checkpoints are damaged by
`folder_mutations.py`.
"""

from __future__ import annotations

import argparse
import os
import random
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import dragoman as dm
from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.errors import DragomanError
from dragoman.core.store import Arrays
from dragoman.features import FEATURES
from dragoman.formats.tagged_text import TaggedText
from dragoman.front.system import System
from dragoman.model.bundle import Model
from dragoman.model.edit import with_grammar
from dragoman.model.parts import PARTS
from dragoman.search.limits import SearchLimits
from dragoman.text.preparation import Casing
from quick import parse_arguments

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from oracles.damage import change_array, change_text, changed_array, changed_line, use

LINES = ["un homme dort sur xyz"]
#: Little is looked at, so that much is tried.
LIMITS = SearchLimits(pop_limit=10)
NAMES = ("boundary-tags", "word-pair", "word-deletion", "phrase-length")
#: Damage that a child tries before another takes its place, so that what it leaves behind does not add up.
A_CHILD = 5000
#: A child that says nothing for so many seconds hangs.
PATIENCE = 60
HARM = ("no sentence", "silent change", "traceback", "crash", "hang")
OUTCOMES = ("refused", "same", "other", *HARM)


def tiny_model(folder: Path) -> Path:
    """Train a model of a few sentences that has every sort of array."""
    system = dm.example(folder)
    lines = (folder / "train.en").read_text(encoding="utf-8").lower().replace(".", " .").splitlines()
    tags = Corpus.from_lines([" ".join(f"T{len(word) % 3}" for word in line.split()) for line in lines])
    features = [FEATURES.get(name)() for name in NAMES]
    model = system.model.with_features(features, tagged=TaggedText(Corpus.from_lines(lines), tags))
    out = folder / "rich"
    replace(model, casing=Casing.learn([line.title() for line in lines])).save(out)
    (out / "checksums.toml").unlink()
    return out


def tiny_hierarchical_model(folder: Path) -> Path:
    """Train a model of some of these sentences that has rules as a grammar and on demand."""
    dm.example(folder)
    for language in ("fr", "en"):
        lines = (folder / f"train.{language}").read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / f"few.{language}").write_text("".join(lines[::7]), encoding="utf-8")
    texts = folder / "few.fr", folder / "few.en"
    table = dm.train(*texts, out=folder / "table", hierarchical=True).model
    corpus = dm.train(*texts, out=folder / "corpus", hierarchical=True, on_demand=True).model
    model = with_grammar(corpus, "table", table)
    out = folder / "hierarchical"
    model.with_features([FEATURES.get(name)() for name in NAMES[1:]]).save(out)
    (out / "checksums.toml").unlink()
    return out


class Damaging(Protocol):
    """Something that is damaged and used, again and again."""

    def damaged(self, rng: random.Random) -> str:
        """Damage something, use it, and return what came of it and of what."""


class Target:
    """A model to damage: in memory, and as a folder of which a copy is damaged."""

    def __init__(self, folder: Path, copy: Path):
        self._folder, self._copy = folder, copy
        self._model = Model.load(folder)
        self._system = System(self._model, limits=LIMITS, threads=1)
        self._arrays = [*self._listed()]
        self._files = sorted(file.relative_to(folder) for file in folder.rglob("*") if file.is_file())
        self._texts = [file for file in self._files if file.suffix != ".npy"]
        self._whole = use(self._system, LINES)

    def _listed(self) -> Iterator[tuple[str, str, str]]:
        """All arrays: attribute of the model, which of several parts, name."""
        model = self._model
        for place in ("source_vocab", "target_vocab", "casing"):
            yield from ((place, "", name) for name in getattr(model, place).arrays())
        for sort in PARTS.values():
            for part, found in sort.of(model).items():
                yield from ((sort.attribute, part, name) for name in found.arrays())
        for feature, arrays in model.sparse_features.items():
            yield from (("features", feature.name, name) for name in arrays)

    def damaged(self, rng: random.Random) -> str:
        """Damage something, use it, and return what came of it and of what."""
        chance = rng.random()
        if chance < 0.12:
            return f"{self._sentence(rng)} sentence"
        if chance < 0.16:
            return f"{self._on_disk(rng, self._texts)} text of the model"
        if chance < 0.22:
            return f"{self._on_disk(rng, self._files)} file"
        return f"{self._in_memory(rng)} array"

    def _sentence(self, rng: random.Random) -> str:
        line = rng.choice(LINES)
        for _ in range(rng.choice([1, 1, 2, 5])):
            line, _ = changed_line(rng, line or "x")
        prepared = rng.random() < 0.9
        found = self._system.translate([line], prepared=prepared)
        if len(line) < 200:
            self._system.nbest(line, 3, prepared=prepared)
            self._system.sample(line, 3, prepared=prepared)
        return "same" if found == self._whole else "other"

    def _on_disk(self, rng: random.Random, files: list[Path]) -> str:
        file = rng.choice(files)
        try:
            (change_array if file.suffix == ".npy" else change_text)(rng, self._copy / file)
            return self._used(System(Model.load(self._copy), limits=LIMITS, threads=1))
        finally:
            shutil.copy(self._folder / file, self._copy / file)

    def _in_memory(self, rng: random.Random) -> str:
        place, part, name = rng.choice(self._arrays)
        model = self._with(place, part, name, rng)
        model.check(self._folder)
        return self._used(System(model, limits=LIMITS, threads=1))

    def _with(self, place: str, part: str, name: str, rng: random.Random) -> Model:
        """The model with one array changed, made as it is when it is loaded."""
        model, there = self._model, getattr(self._model, place)
        if place == "features":
            (feature,) = (feature for feature in there if feature.name == part)
            return replace(model, features={**there, feature: self._changed(there[feature], name, rng)})
        if not part:
            built = (Vocab if place.endswith("vocab") else Casing).from_arrays(self._changed(there.arrays(), name, rng))
            made: dict[str, Any] = {place: built}
            return replace(model, **made)
        old = there[part]
        new = type(old).rebuild({"name": part, **old.about()}, self._changed(old.arrays(), name, rng))
        parts: dict[str, Any] = {place: {**there, part: new}}
        return replace(model, **parts)

    def _changed(self, arrays: Arrays, name: str, rng: random.Random) -> Arrays:
        return {**arrays, name: changed_array(rng, arrays[name])[0]}

    def _used(self, system: System) -> str:
        return "same" if use(system, LINES) == self._whole else "other"


def outcome(target: Damaging, seed: int, number: int) -> str:
    """Try one damage; returns what came of it, and of what."""
    rng = random.Random(f"{seed} {number}")
    try:
        return target.damaged(rng)
    except DragomanError as error:
        said = str(error).strip()
        return "refused model or sentence" if said and "\n" not in said else f"no sentence: {said!r}"
    except Exception:
        return f"traceback {traceback.format_exc()!r}"


def child(target: Damaging, seed: int, numbers: range, pipe: int) -> None:
    """Try all of these, and say before each its number, after each what came of it."""
    warnings.simplefilter("ignore")
    for number in numbers:
        os.write(pipe, f"{number}\n".encode())
        os.write(pipe, f"{outcome(target, seed, number)}\n".encode())


def tried(target: Damaging, seed: int, numbers: range) -> Iterator[tuple[int, str]]:
    """Try these in a child process; ends early, with a crash or a hang, when the child does."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        try:
            child(target, seed, numbers, writing)
        finally:
            os._exit(0)
    os.close(writing)
    number, rest = None, b""
    try:
        with os.fdopen(reading, "rb", buffering=0) as stream:
            while select.select([stream], [], [], PATIENCE)[0]:
                if not (data := stream.read(1 << 16)):
                    break
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    if number is None:
                        number = int(line)
                    else:
                        yield number, line.decode(errors="replace")
                        number = None
            else:
                yield numbers.start if number is None else number, f"hang for {PATIENCE} s"
                number = None
    finally:
        os.kill(process, signal.SIGKILL)  # it may have ended already
        _, status = os.waitpid(process, 0)
    if number is not None:
        yield number, f"crash {os.waitstatus_to_exitcode(status)}"


def run(target: Damaging, seed: int, count: int, until: float) -> Counter[str]:
    """Try so many, or as many as there is time for; prints every harm, and counts outcomes."""
    found: Counter[str] = Counter()
    first = 0
    while first < count and time.monotonic() < until:
        last = first
        for last, line in tried(target, seed, range(first, min(count, first + A_CHILD))):
            kind = next(name for name in OUTCOMES if line.startswith(name))
            found[kind] += 1
            if kind in HARM:
                print(f"{last}: {line}", flush=True)
            if time.monotonic() > until:
                break
        first = last + 1
        print(f"{found.total():,} so far", file=sys.stderr, flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hierarchical", action="store_true", help="damage a hierarchical model")
    parser.add_argument("--only", type=int, help="the number of one damage, tried in this process")
    options = parse_arguments(parser, "--count 20")
    with tempfile.TemporaryDirectory() as temporary:
        folder = (tiny_hierarchical_model if options.hierarchical else tiny_model)(Path(temporary))
        target = Target(folder, Path(shutil.copytree(folder, Path(temporary) / "copy")))
        if options.only is not None:
            print(target.damaged(random.Random(f"{options.seed} {options.only}")))
            return 0
        start = time.monotonic()
        found = run(target, options.seed, options.count, start + 60 * options.minutes)
        minutes = (time.monotonic() - start) / 60
    print(f"| tried (seed {options.seed}, {minutes:.1f} minutes) | " + " | ".join(OUTCOMES) + " |")
    print("|---" * (len(OUTCOMES) + 1) + "|")
    print(f"| {found.total():,} | " + " | ".join(f"{found[name]:,}" for name in OUTCOMES) + " |")
    return int(any(found[name] for name in HARM))


if __name__ == "__main__":
    sys.exit(main())
