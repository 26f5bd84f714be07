"""N-best lists that know each phrase pair of a mixed table, with what each component says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError, UsageError
from dragoman.core.files import output_folder
from dragoman.core.nbest import NBest
from dragoman.core.own_files import EVIDENCE
from dragoman.core.phrases import Components
from dragoman.core.runtime import Runtime
from dragoman.core.sound import check_numbers, typed_array
from dragoman.core.store import load_arrays, save_arrays
from dragoman.core.toml import format_toml, read_toml
from dragoman.core.weights import Weights
from dragoman.metrics.metric import Scorer
from dragoman.model.bundle import Model
from dragoman.model.features import phrase_features
from dragoman.model.mixture import read_shares, share_names
from dragoman.model.parts import in_folder
from dragoman.search.searched import PAIR_MARK
from dragoman.tuning.problems.mixture_problem import MixedScores, MixtureProblem
from dragoman.tuning.problems.nbest_evidence import DecodedLists
from dragoman.tuning.problems.ranges import Ranges

_LISTS, _MIXTURES, _SHARES = "lists", "mixtures.toml", "shares.txt"


@dataclass(frozen=True, eq=False)
class MixedPairs:
    """The pairs of one mixed table that occur in lists: their rows there, ascending, and their components."""

    table: str
    score_names: tuple[str, ...]
    rows: NDArray[np.int64]
    components: Components

    def joined(self, other: MixedPairs) -> MixedPairs:
        """The pairs of both, each once."""
        rows, first = np.unique(np.concatenate([self.rows, other.rows]), return_index=True)
        both = np.concatenate([self.components.probabilities, other.components.probabilities])
        return replace(self, rows=rows, components=replace(self.components, probabilities=both[first]))

    @property
    def names(self) -> list[list[str]]:
        """The names of the shares, a row for each score."""
        return share_names(self.table, self.score_names, self.components.names)


@dataclass(frozen=True, eq=False)
class DecodedMixtures(DecodedLists):
    """N-best lists with a feature for each pair of mixed tables, and the shares that they were last decoded with."""

    tables: tuple[MixedPairs, ...]
    shares: Weights

    @classmethod
    def of(cls, nbest: NBest, model: Model, weights: Weights) -> DecodedMixtures:
        """Add to lists (`Searched.pair_lists`) what their model says of the pairs in them."""
        tables = []
        for name, table in model.tables.items():
            if table.components is not None:
                rows = np.unique(_pairs_among(nbest.features.names, name)[1])
                tables.append(MixedPairs(name, table.score_names, rows, table.components.take(rows)))
        return cls(nbest, tuple(tables), Weights({name: weights[name] for name in model.share_names}))

    def after(self, earlier: DecodedLists) -> DecodedMixtures:
        """The earlier lists, and behind them what is new in these."""
        assert isinstance(earlier, DecodedMixtures)
        tables = tuple(old.joined(new) for old, new in zip(earlier.tables, self.tables, strict=True))
        return replace(self, nbest=NBest.merge([earlier.nbest, self.nbest]), tables=tables)

    def problem(
        self, names: Sequence[str], ranges: Ranges, scorer: Scorer, *, sign: int = 1, runtime: Runtime = Runtime()
    ) -> MixtureProblem:
        """The problem of choosing the weights and shares `names`; shares with other names stay as they are."""
        plain = super().problem(names, ranges, scorer, sign=sign, runtime=runtime)
        place = {name: i for i, name in enumerate(names)}
        return MixtureProblem(
            sentences=plain.sentences,
            features=plain.features,
            statistics=plain.statistics,
            scorer=plain.scorer,
            ranges=plain.ranges,
            sign=plain.sign,
            mixtures=tuple(self._scores(table, place) for table in self.tables),
        )

    def _scores(self, table: MixedPairs, place: Mapping[str, int]) -> MixedScores:
        from scipy.sparse import csr_matrix

        features = self.nbest.features
        ids, rows = _pairs_among(features.names, table.table)
        # Columns that are none of our pairs are left out; -1 stands for them.
        column = np.full(len(features.names), -1, np.int64)
        column[ids] = np.searchsorted(table.rows, rows)
        columns = column[features.ids]
        kept = columns >= 0
        offsets = np.concatenate([[0], np.cumsum(kept)])[features.offsets]
        shape = (len(features), len(table.rows))
        return MixedScores(
            counts=csr_matrix((features.values[kept], columns[kept], offsets), shape=shape),
            probabilities=np.ascontiguousarray(table.components.probabilities.transpose(2, 1, 0), np.float64),
            columns=np.array([place.get(name, -1) for name in phrase_features(table.table, table.score_names)]),
            share_columns=np.array([[place.get(name, -1) for name in row] for row in table.names]),
            shares=read_shares(table.names, self.shares),
        )

    def details(self) -> dict[str, Any]:
        """The shares, and that of each component in the phrases of the best translations: what it adds to p(e|f)."""
        found = {}
        first = self.nbest.features.take(self.nbest.sentences[:-1])
        for table in self.tables:
            ids, rows = _pairs_among(first.names, table.table)
            counts = np.bincount(first.ids, first.values, len(first.names))[ids]
            score = table.score_names.index("fwd") if "fwd" in table.score_names else 0
            parts = table.components.probabilities[np.searchsorted(table.rows, rows), :, score].astype(np.float64)
            parts *= read_shares(table.names, self.shares)[score]
            there = (counts > 0) & (parts.sum(axis=1) > 0)
            parts = parts[there] / parts[there].sum(axis=1, keepdims=True)
            shares = counts[there] @ parts / max(counts[there].sum(), 1)
            found[table.table] = dict(zip(table.components.names, shares.round(4).tolist(), strict=True))
        return {"shares": dict(self.shares), "phrases_from": found}

    def save(self, folder: Path) -> None:
        """Write the lists, the pairs and the shares; whole or not at all."""
        with output_folder(folder, EVIDENCE) as partial:
            super().save(partial / _LISTS)
            self.shares.write(partial / _SHARES)
            about = []
            for table in self.tables:
                save_arrays(
                    partial / table.table, {"rows": table.rows, "probabilities": table.components.probabilities}
                )
                names = {"scores": list(table.score_names), "components": list(table.components.names)}
                about.append({"table": table.table, **names})
            (partial / _MIXTURES).write_text(format_toml({"mixture": about}), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> DecodedMixtures:
        """Read what `save` wrote; refuses arrays that do not fit the lists."""
        nbest, shares = DecodedLists.load(folder / _LISTS).nbest, Weights.read(folder / _SHARES)
        rows: Any = read_toml(folder / _MIXTURES).get("mixture")
        there = {path.name for path in folder.iterdir()}
        tables = []
        for row in rows if isinstance(rows, list) else [rows]:
            names = [row.get("scores"), row.get("components")] if isinstance(row, dict) else [None]
            if not all(isinstance(one, list) and all(isinstance(n, str) for n in one) for one in names) or (
                row.get("table") not in there - {_LISTS}
            ):
                raise DataError(f"has a mixture {row}", path=folder / _MIXTURES, expected="table, scores, components")
            tables.append(_checked(row["table"], tuple(row["scores"]), tuple(row["components"]), folder, nbest))
            try:
                read_shares(tables[-1].names, shares)
            except UsageError as error:
                raise DataError(str(error), path=folder / _SHARES) from None
        return cls(nbest, tuple(tables), shares)


def _checked(name: str, scores: tuple[str, ...], components: tuple[str, ...], folder: Path, nbest: NBest) -> MixedPairs:
    """The pairs of a table, if each that is in the lists is among them."""

    def fitting() -> MixedPairs:
        arrays, part = load_arrays(folder / name), "pairs of a mixed table"
        rows = typed_array(arrays, "rows", np.int64, (None,), part)
        shape = (len(rows), len(components), len(scores))
        probabilities = typed_array(arrays, "probabilities", np.float32, shape, part)
        check_numbers("probabilities", probabilities)
        if np.any(np.diff(rows) <= 0) or not np.isin(_pairs_among(nbest.features.names, name)[1], rows).all():
            raise DataError("the array 'rows' does not have the pairs of the lists", expected=part)
        return MixedPairs(name, scores, rows, Components(components, probabilities))

    return in_folder(folder / name, fitting)


def _pairs_among(names: Sequence[str], table: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which of some names of features count pairs of a table, and the rows of these pairs."""
    start = f"{table}{PAIR_MARK}"
    try:
        found = [(i, int(name[len(start) :])) for i, name in enumerate(names) if name.startswith(start)]
    except ValueError as error:
        raise DataError(f"a feature counts no pair of {table} ({error})", expected="the number of a pair") from None
    both = np.array(found, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]
