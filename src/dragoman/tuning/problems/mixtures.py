"""Mixtures of tables whose interpolation weights are tuned (Haddow 2013): evidence with components, and the problem.

A score of a candidate is Σ n log Σ_t λ_t p_t over its phrase pairs or rules, each with count n: not a linear function
of the interpolation weights λ, but a smooth one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.core.files import output_folder
from dragoman.core.nbest import NBest
from dragoman.core.options import format_toml, read_toml
from dragoman.core.own_files import EVIDENCE
from dragoman.core.phrases import Components
from dragoman.core.runtime import Runtime
from dragoman.core.store import check_numbers, load_arrays, save_arrays, typed_array
from dragoman.metrics.metric import Scorer
from dragoman.model.bundle import Model
from dragoman.model.mixture import INTERPOLATION_PREFIX, read_interpolation_weights
from dragoman.model.parts import in_folder, phrase_features, reordering_features
from dragoman.model.phrase_table import LOG_ZERO
from dragoman.search.translation import PAIR_MARK, orientation_marks
from dragoman.tuning.problems.evidence import DecodedLists
from dragoman.tuning.problems.fixed_score import FixedScore
from dragoman.tuning.problems.lm_windows import words_in_use
from dragoman.tuning.problems.problem import Problem, Ranges, is_weight

Vector = NDArray[np.float64]

_SMALLEST = float(np.exp(LOG_ZERO))


@dataclass(frozen=True, eq=False)
class MixedScores:
    """The scores of one mixed table, for rows that count its pairs: candidates, or differences of two.

    `counts` is a sparse matrix (scipy CSR) of rows by pairs. `probabilities[s, t]` are the scores `s` of the pairs in
    component `t`. Vectors of weights have the weight of score `s` at `columns[s]`, and the interpolation weight of `t`
    in it at `interpolation_columns[s, t]`. A column of -1 is not tuned: such a score is left out, and such an
    interpolation weight stays at `interpolation_weights[s, t]`.
    """

    counts: Any
    probabilities: NDArray[np.float64]
    columns: NDArray[np.int64]
    interpolation_columns: NDArray[np.int64]
    interpolation_weights: NDArray[np.float64]

    def between(self, better: NDArray[np.int64], worse: NDArray[np.int64]) -> MixedScores:
        """Return the same for the differences of two candidates each; pairs that make none are left out."""
        counts = self.counts[better] - self.counts[worse]
        counts.eliminate_zeros()
        used, counts.indices = np.unique(counts.indices, return_inverse=True)
        counts = type(counts)((counts.data, counts.indices, counts.indptr), shape=(counts.shape[0], len(used)))
        return replace(self, counts=counts, probabilities=np.ascontiguousarray(self.probabilities[:, :, used]))

    def interpolation_weights_in(self, vector: Vector) -> NDArray[np.float64]:
        """Return the interpolation weights in a vector of weights, a row for each score."""
        return np.where(self.interpolation_columns >= 0, vector[self.interpolation_columns], self.interpolation_weights)

    def weights_in(self, vector: Vector) -> Vector:
        """Return the weights of the scores, 0 for those that are left out."""
        return np.where(self.columns >= 0, vector[self.columns], 0.0)

    def mixed(self, interpolation_weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mixture's probability of each pair, a row for each score."""
        mixture: NDArray[np.float64] = np.einsum("stp,st->sp", self.probabilities, interpolation_weights)
        return mixture

    def values(self, mixture: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores of the rows under a mixture, a column for each score."""
        scores: NDArray[np.float64] = self.counts @ np.ascontiguousarray(np.log(np.maximum(mixture, _SMALLEST)).T)
        return scores

    def interpolation_slopes(self, mixture: NDArray[np.float64], of_rows: Vector) -> NDArray[np.float64]:
        """Return the derivatives of each score, summed over rows with factors `of_rows`, by interpolation weights."""
        of_pairs = self.counts.T @ of_rows
        # What is too small for its logarithm to matter does not change.
        inverse = np.where(mixture > _SMALLEST, of_pairs / np.maximum(mixture, _SMALLEST), 0.0)
        slopes: NDArray[np.float64] = np.einsum("stp,sp->st", self.probabilities, inverse)
        return slopes


@dataclass(frozen=True, eq=False)
class MixtureProblem(Problem):
    """A problem in which some scores are mixed; `features` are the others."""

    mixtures: tuple[MixedScores, ...] = ()

    @property
    def is_interpolation_weight(self) -> NDArray[np.bool_]:
        """A flag for each of the weights: whether it is an interpolation weight of a mixture."""
        return ~is_weight(self.names)

    def model_scores(self, weights: Vector) -> Vector:
        """Return the weighted sum of each candidate's features, mixed by the interpolation weights."""
        scores = super().model_scores(weights)
        for one in self.mixtures:
            scores = scores + one.values(one.mixed(one.interpolation_weights_in(weights))) @ one.weights_in(weights)
        return scores


@dataclass(frozen=True, eq=False)
class MixedRows:
    """The model's scores of rows, candidates or differences of two, as functions of all weights.

    `features` is a sparse matrix (scipy CSR) of rows by weights, which has nothing in the columns of `mixtures`.
    """

    features: Any
    mixtures: Sequence[MixedScores]

    def scored(self, vector: Vector) -> tuple[Vector, Callable[[Vector], Vector]]:
        """Return the scores, and a function that turns derivatives by scores into a gradient.

        The gradient treats interpolation weights as if they were free, not bound to sum to 1.
        """
        scores: Vector = self.features @ vector
        mixed = []
        for one in self.mixtures:
            mixture = one.mixed(one.interpolation_weights_in(vector))
            values, weights = one.values(mixture), one.weights_in(vector)
            scores = scores + values @ weights
            mixed.append((one, mixture, values, weights))

        def gradient_of(slopes: Vector) -> Vector:
            gradient: Vector = self.features.T @ slopes
            for one, mixture, values, weights in mixed:
                there, free = one.columns >= 0, one.interpolation_columns >= 0
                gradient[one.columns[there]] += (values.T @ slopes)[there]
                if free.any():
                    by_interpolation = weights[:, None] * one.interpolation_slopes(mixture, slopes)
                    gradient[one.interpolation_columns[free]] += by_interpolation[free]
            return gradient

        return scores, gradient_of


def interpolation_groups(mixtures: Sequence[MixedScores]) -> list[NDArray[np.int64]]:
    """Return where interpolation weights that sum to 1 are among the weights, if they are tuned; each group once."""
    rows = [row for one in mixtures for row in one.interpolation_columns if (row >= 0).all()]
    return [*{tuple(row.tolist()): row for row in rows}.values()]


_LISTS, _MIXTURES, _INTERPOLATION_FILE = "lists", "mixtures.toml", "shares.txt"


@dataclass(frozen=True, eq=False)
class MixedPairs:
    """Pairs of a mixture that occur in lists: their rows in a table, ascending, and their components.

    Features of lists that begin with `mark` (see `pair_feature`) count them. `feature_names` are the features that
    their scores give, and `mixture_names` the mixtures whose interpolation weights the scores have: both are `tm.fwd`
    for the score `fwd` of the table `tm`, which is the mark. Pairs are counted by orientation for reordering models:
    those with the mark `tm.lr.bwd.mono` give the feature `lr.bwd.mono`, with the weights of the mixture `lr.bwd`. Of a
    language model `lm`, these are words with their histories; all three names are `lm`.
    """

    mark: str
    feature_names: tuple[str, ...]
    mixture_names: tuple[str, ...]
    rows: NDArray[np.int64]
    components: Components

    @classmethod
    def of(
        cls, nbest: NBest, mark: str, names: tuple[Sequence[str], Sequence[str]], components: Components
    ) -> MixedPairs:
        """Return the pairs of a mixture that occur in lists; `names` are those of features and mixtures."""
        rows = np.unique(_pairs_among(nbest.features.names, mark)[1])
        return cls(mark, tuple(names[0]), tuple(names[1]), rows, components.take(rows))

    @property
    def is_table(self) -> bool:
        """True if each score has a mixture of its own: these are pairs of a phrase table or rules of a grammar."""
        return self.feature_names == self.mixture_names != (self.mark,)

    def joined(self, other: MixedPairs) -> MixedPairs:
        """Return the pairs of both, each once."""
        rows, first = np.unique(np.concatenate([self.rows, other.rows]), return_index=True)
        both = np.concatenate([self.components.probabilities, other.components.probabilities])
        return replace(self, rows=rows, components=replace(self.components, probabilities=both[first]))

    @property
    def names(self) -> list[list[str]]:
        """The names of the interpolation weights, a row for each score."""
        return [
            [f"{INTERPOLATION_PREFIX}{mixture}.{component}" for component in self.components.names]
            for mixture in self.mixture_names
        ]


@dataclass(frozen=True, eq=False)
class DecodedMixtures(DecodedLists):
    """N-best lists with a feature for each pair of mixed tables, and the interpolation weights of the last decoding."""

    tables: tuple[MixedPairs, ...]
    interpolation_weights: Weights

    @classmethod
    def of(cls, nbest: NBest, model: Model, weights: Weights) -> DecodedMixtures:
        """Add the model's components of all pairs in lists (`SearchResult.pair_lists`)."""
        tables = []
        for name, part in model.mixed_parts.items():
            assert part.components is not None
            names = phrase_features(name, part.score_names)
            tables.append(MixedPairs.of(nbest, name, (names, names), part.components))
        for name, table in model.tables.items():
            for reordering, parts in table.reordering_components.items():
                features, marks = reordering_features(reordering), orientation_marks(name, reordering)
                for s, (feature, mark) in enumerate(zip(features, marks, strict=True)):
                    own = replace(parts, probabilities=parts.probabilities[:, :, s, None])
                    tables.append(MixedPairs.of(nbest, mark, ([feature], [feature.rpartition(".")[0]]), own))
        for name, lm in model.language_models.items():
            if lm.components:
                words = words_in_use(nbest, name, lm)
                others = [feature for feature in nbest.features.names if feature != name]
                nbest = replace(nbest, features=FeatureRows.join([nbest.features.restricted(others), words.counts]))
                tables.append(MixedPairs(name, (name,), (name,), words.rows, words.components))
        return cls(nbest, tuple(tables), Weights({name: weights[name] for name in model.interpolation_weight_names}))

    @property
    def mixed_names(self) -> Sequence[str]:
        """The names of scores that are not among the features because mixed tables make them."""
        return [name for table in self.tables for name in table.feature_names]

    def merged_with(self, earlier: DecodedLists) -> DecodedMixtures:
        """Return the earlier lists, each followed by what is new in these."""
        assert isinstance(earlier, DecodedMixtures)
        tables = tuple(old.joined(new) for old, new in zip(earlier.tables, self.tables, strict=True))
        return replace(self, nbest=NBest.merge([earlier.nbest, self.nbest]), tables=tables)

    def problem(
        self,
        names: Sequence[str],
        ranges: Ranges,
        scorer: Scorer,
        *,
        sign: int = 1,
        fixed: FixedScore = FixedScore(),
        runtime: Runtime = Runtime(),
    ) -> MixtureProblem:
        """Return the problem of choosing the weights `names` beside `fixed` ones; other interpolation weights stay."""
        plain = super().problem(names, ranges, scorer, sign=sign, fixed=fixed, runtime=runtime)
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

    def _mixed_score(self, fixed: FixedScore) -> Vector | float:
        """Return the score of mixed tables with fixed weights, under the interpolation weights of the last decoding."""
        found = np.zeros(len(self.nbest.features))
        for table in self.tables:
            weights = fixed.weights.vector(table.feature_names)
            if weights.any():
                scores = self._scores(table, {})
                found += scores.values(scores.mixed(scores.interpolation_weights)) @ weights
        return found

    def _scores(self, table: MixedPairs, place: Mapping[str, int]) -> MixedScores:
        from scipy.sparse import csr_matrix

        features = self.nbest.features
        ids, rows = _pairs_among(features.names, table.mark)
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
            columns=np.array([place.get(name, -1) for name in table.feature_names]),
            interpolation_columns=np.array([[place.get(name, -1) for name in row] for row in table.names]),
            interpolation_weights=read_interpolation_weights(table.names, self.interpolation_weights),
        )

    def details(self) -> dict[str, Any]:
        """Return interpolation weights, and the fraction of p(e|f) that each component has in the best translations."""
        found = {}
        first = self.nbest.features.take(self.nbest.sentences[:-1])
        for table in self.tables:
            if not table.is_table:
                continue
            ids, rows = _pairs_among(first.names, table.mark)
            counts = np.bincount(first.ids, first.values, len(first.names))[ids]
            forward = f"{table.mark}.fwd"
            score = table.feature_names.index(forward) if forward in table.feature_names else 0
            parts = table.components.probabilities[np.searchsorted(table.rows, rows), :, score].astype(np.float64)
            parts *= read_interpolation_weights(table.names, self.interpolation_weights)[score]
            there = (counts > 0) & (parts.sum(axis=1) > 0)
            parts = parts[there] / parts[there].sum(axis=1, keepdims=True)
            fractions = counts[there] @ parts / max(counts[there].sum(), 1)
            found[table.mark] = dict(zip(table.components.names, fractions.round(4).tolist(), strict=True))
        return {"shares": dict(self.interpolation_weights), "phrases_from": found}

    def save(self, folder: Path) -> None:
        """Write the lists, the pairs and the interpolation weights; whole or not at all."""
        with output_folder(folder, EVIDENCE) as partial:
            super().save(partial / _LISTS)
            self.interpolation_weights.write(partial / _INTERPOLATION_FILE)
            about = []
            for table in self.tables:
                save_arrays(partial / table.mark, {"rows": table.rows, "probabilities": table.components.probabilities})
                scores = [name.removeprefix(f"{table.mark}.") for name in table.feature_names]
                row = {"table": table.mark, "scores": scores, "components": list(table.components.names)}
                about.append(row if table.is_table else row | {"mixtures": list(table.mixture_names)})
            (partial / _MIXTURES).write_text(format_toml({"mixture": about}), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> DecodedMixtures:
        """Read what `save` wrote; refuses arrays that do not fit the lists."""
        nbest, weights = DecodedLists.load(folder / _LISTS).nbest, Weights.read(folder / _INTERPOLATION_FILE)
        rows: Any = read_toml(folder / _MIXTURES).get("mixture")
        there = {path.name for path in folder.iterdir()}
        tables = []
        for row in rows if isinstance(rows, list) else [rows]:
            names = [row.get("scores"), row.get("components")] if isinstance(row, dict) else [None]
            names += [row["mixtures"]] if isinstance(row, dict) and "mixtures" in row else []
            if not all(isinstance(one, list) and all(isinstance(n, str) for n in one) for one in names) or (
                row.get("table") not in there - {_LISTS}
            ):
                raise DataError(f"has a mixture {row}", path=folder / _MIXTURES, expected="table, scores, components")
            tables.append(_checked(row, folder, nbest))
            try:
                read_interpolation_weights(tables[-1].names, weights)
            except UsageError as error:
                raise DataError(str(error), path=folder / _INTERPOLATION_FILE) from None
        return cls(nbest, tuple(tables), weights)


def _checked(row: Mapping[str, Any], folder: Path, nbest: NBest) -> MixedPairs:
    """Return the pairs of a mixture that `row` describes, if every pair in the lists is among them."""
    name, components = row["table"], tuple(row["components"])
    mixtures = tuple(row.get("mixtures", phrase_features(name, row["scores"])))
    features = tuple(row["scores"]) if "mixtures" in row else mixtures
    if len(features) != len(mixtures):
        raise DataError(f"has a mixture {row}", path=folder / _MIXTURES, expected="as many scores as mixtures")

    def fitting() -> MixedPairs:
        arrays, part = load_arrays(folder / name), "pairs of a mixed table"
        rows = typed_array(arrays, "rows", np.int64, (None,), part)
        shape = (len(rows), len(components), len(features))
        probabilities = typed_array(arrays, "probabilities", np.float32, shape, part)
        check_numbers("probabilities", probabilities)
        if np.any(np.diff(rows) <= 0) or not np.isin(_pairs_among(nbest.features.names, name)[1], rows).all():
            raise DataError("the array 'rows' does not have the pairs of the lists", expected=part)
        return MixedPairs(name, features, mixtures, rows, Components(components, probabilities))

    return in_folder(folder / name, fitting)


def _pairs_among(names: Sequence[str], table: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of features that count pairs of a table, and the rows of these pairs."""
    start = f"{table}{PAIR_MARK}"
    try:
        found = [(i, int(name[len(start) :])) for i, name in enumerate(names) if name.startswith(start)]
    except ValueError as error:
        raise DataError(f"a feature counts no pair of {table} ({error})", expected="the number of a pair") from None
    both = np.array(found, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]
