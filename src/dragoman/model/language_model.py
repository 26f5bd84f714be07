"""Language models at run time: a back-off automaton in arrays that can be memory-mapped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import BOS, EOS, UNK, Corpus, Vocab
from dragoman.core.errors import DataError
from dragoman.core.phrases import NGrams, NGramTable
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.store import LARGEST, Arrays, blocks, check_numbers, check_offsets, check_range
from dragoman.model.word_classes import WordClasses

#: The base-10 log-probability of unknown words in models that have none for `<unk>`.
MISSING_UNKNOWN = -100.0

_DTYPES = {"slots": np.uint64, "states": np.uint64, "unigrams": np.uint64, "bounds": np.int64,
           "implied_slots": np.int64, "implied_words": np.int32}  # fmt: skip
#: The first letters of the names of a component's arrays, and of those of word classes.
_COMPONENT, _CLASSES = "component.", "classes."

#: What is packed into 64 bits: a logarithm and the state that it leads to.
ENTRY = np.dtype([("log10", "<f4"), ("state", "<i4")])

#: Columns of `states`: back-off weight and suffix; probability and next state of the likeliest word; that word, or
#: `NO_WORD`; a filter of the other words. Older models lack the two in the middle.
CONTEXT, LIKELIEST, WORD, FILTER = range(4)
NO_WORD = np.uint64(0xFFFFFFFF)
_OLD_COLUMNS = 2

#: The number of slots is a multiple of this.
_SLOTS_AT_ONCE = 1024


class WordScore(NamedTuple):
    """One word of a sentence: base-10 log-probability, length of the n-gram that gave it, whether it is unknown."""

    logprob: float
    ngram_length: int
    oov: bool


@dataclass(frozen=True)
class Perplexity:
    """Perplexity of a text under a model; `tokens` includes sentence ends, logarithms are to base 10."""

    logprob: float
    oov_logprob: float
    tokens: int
    oovs: int

    @property
    def including_oovs(self) -> float:
        """The perplexity with unknown words counted."""
        return _power(-self.logprob / max(self.tokens, 1))

    @property
    def excluding_oovs(self) -> float:
        """The perplexity of the known words alone."""
        return _power(-(self.logprob - self.oov_logprob) / max(self.tokens - self.oovs, 1))


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """A back-off language model that answers queries; all its log-probabilities are to base 10, as in ARPA files.

    The arrays are those of the automaton that `kernels/lm/language_model.hpp` describes; `bounds[n]` is the first state
    of length n. `implied_slots` and `implied_words` mark what was added to make the automaton complete; slots are
    counted on over the states, whose likeliest words are in no slot. A mixture whose interpolation weights are not
    fixed has `components`; `shares` are the weights that it was made with. A model over word `classes` takes words, and
    gives the probability of their classes: its n-grams are of the names of classes.

    >>> words = np.arange(4, dtype=np.int32)[:, None]
    >>> table = NGramTable(words, np.float32([-2, 0, -1, -0.5]), np.zeros(4, np.float32))
    >>> model = LanguageModel.from_ngrams(NGrams(Vocab.of(["yes"]), (table,)))
    >>> model.score("yes yes no"), model.full_scores("no", eos=False)
    (-4.0, [WordScore(logprob=-2.0, ngram_length=1, oov=True)])
    """

    vocab: Vocab
    slots: NDArray[np.uint64]
    states: NDArray[np.uint64]
    unigrams: NDArray[np.uint64]
    bounds: NDArray[np.int64]
    implied_slots: NDArray[np.int64]
    implied_words: NDArray[np.int32]
    components: Mapping[str, LanguageModel] = field(default_factory=dict)
    shares: tuple[float, ...] = ()
    classes: WordClasses | None = None

    @classmethod
    def from_ngrams(cls, ngrams: NGrams) -> Self:
        """Index n-grams.

        N-grams whose prefixes or suffixes are missing are taken as they are. Words without a unigram are unknown,
        and without `<unk>` unknown words have the log-probability `MISSING_UNKNOWN`. A probability of 0 becomes the
        least that there is.
        """
        tables = ngrams.orders
        for n, table in enumerate(tables, 1):
            if table.words.shape != (len(table), n):
                raise DataError(f"n-grams of order {n} have {table.words.shape[-1]} words")
            if len(table) and not 0 <= table.words.min() <= table.words.max() < len(ngrams.vocab):
                raise DataError(f"n-grams of order {n} hold ids that are not in their vocabulary")
        slots, states, unigrams, bounds, implied_slots, implied_words, duplicate = kernels.lm_index(
            np.concatenate([table.words.ravel() for table in tables]),
            # Logarithms of 0 would make sums that are no numbers.
            np.maximum(np.concatenate([table.logprobs for table in tables]), np.float32(-LARGEST)),
            np.clip(np.concatenate([table.backoffs for table in tables]), np.float32(-LARGEST), np.float32(LARGEST)),
            np.cumsum([0, *map(len, tables)]),
            len(ngrams.vocab),
            MISSING_UNKNOWN,
        )
        if duplicate >= 0:
            for table in tables:
                if duplicate < len(table):
                    raise DataError(f"the n-gram '{ngrams.vocab.text(table.words[duplicate])}' occurs twice")
                duplicate -= len(table)
        return cls(ngrams.vocab, slots, states, unigrams, bounds, implied_slots, implied_words)

    def cut(self, order: int) -> LanguageModel:
        """Return the model of its n-grams up to an order; recent ones are remembered."""
        return self if order >= self.order else _cut(self, order)

    def about(self) -> dict[str, Any]:
        """Return its description in `model.toml`."""
        about: dict[str, Any] = {"order": self.order, "words": len(self.vocab)}
        if self.components:
            about |= {"components": list(self.components), "shares": list(self.shares)}
        return about if self.classes is None else about | {"over": self.classes.about()}

    @classmethod
    def rebuild(cls, about: Mapping[str, Any], arrays: Arrays) -> Self:
        """Rebuild a language model from its description, which mixtures and models over classes need, and arrays."""
        if "over" in about:
            own = {key.removeprefix(_CLASSES): array for key, array in arrays.items() if key.startswith(_CLASSES)}
            return replace(cls.from_arrays(arrays), classes=WordClasses.rebuild(about["over"], own))
        if "components" not in about:
            return cls.from_arrays(arrays)
        names, shares = about["components"], about.get("shares")
        if not (isinstance(names, list) and isinstance(shares, list) and len(names) == len(shares) > 0) or not (
            all(isinstance(name, str) for name in names) and all(isinstance(share, float) for share in shares)
        ):
            raise DataError("model.toml has components without shares", expected="a name and a share for each")
        parts = {}
        for name in names:
            start = f"{_COMPONENT}{name}."
            own = {key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)}
            parts[name] = cls.from_arrays(own)
        return replace(cls.from_arrays(arrays), components=parts, shares=tuple(shares))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Self:
        """Rebuild a model from its `arrays`; nothing is copied, but what an older version stored is arranged anew."""
        own = {}
        for name, dtype in _DTYPES.items():
            array = arrays.get(name)
            if array is None or array.dtype != dtype or array.ndim != 1 + (name in ("slots", "states")):
                raise DataError(f"the array '{name}' is missing or of the wrong type", expected="a language model")
            own[name] = array
        vocab = Vocab.from_arrays({name[6:]: array for name, array in arrays.items() if name.startswith("vocab.")})
        if own["states"].shape[1] == _OLD_COLUMNS:
            own |= _rearranged(own["slots"], own["states"], own["implied_slots"])
        fits = own["slots"].shape[1] == 2 and own["states"].shape[1] == 4 and len(own["slots"]) % _SLOTS_AT_ONCE == 0
        if (
            not (fits and len(own["slots"]))
            or len(own["unigrams"]) != len(vocab)
            or own["bounds"][-1:].tolist() != [len(own["states"])]
        ):
            raise DataError("the arrays of a language model do not fit together")
        return cls(vocab, **own)  # type: ignore[arg-type]

    def check(self, source_vocab: Vocab, target_vocab: Vocab) -> None:
        """Refuse arrays in which a query could leave them or never end: they are read once from end to end."""
        for component in self.components.values():
            component.check(source_vocab, target_vocab)
        if self.classes is not None:
            self.classes.check(source_vocab, target_vocab)
        self.vocab.check("vocab.")
        states, words = len(self.states), len(self.vocab)
        check_offsets("bounds", self.bounds, states)
        if self.order < 1 or self.bounds[1] != 1:
            raise DataError("the array 'bounds' has no place for the empty context", expected="a language model")
        check_range("implied_slots", self.implied_slots, 0, len(self.slots) + states)
        check_range("implied_words", self.implied_words, 0, words)
        self._check_states()
        reached = np.zeros(states, bool)
        reached[0] = True
        count = 1 + _check_entries("unigrams", self.unigrams, np.zeros(1, np.int64), self.bounds, reached)
        free = False
        for rows in blocks(len(self.slots)):
            keys, entries = self.slots[rows].T
            used = keys != 0
            free |= not used.all()
            parents = (keys[used] >> np.uint64(32)).astype(np.int64)
            check_range("slots", parents, 1, states)
            check_range("slots", (keys[used] & np.uint64(0xFFFFFFFF)).astype(np.int64), 0, words)
            count += _check_entries("slots", entries[used], parents, self.bounds, reached)
        for rows in blocks(states):
            used = self.states[rows, WORD] != NO_WORD
            check_range("states", self.states[rows, WORD][used].astype(np.int64), 0, words)
            parents = np.arange(rows.start, rows.stop)[used]
            count += _check_entries("states", self.states[rows, LIKELIEST][used], parents, self.bounds, reached)
        if not free:
            raise DataError("the array 'slots' has no free slot", expected="at least one")
        if count != states or not reached.all():
            raise DataError("the arrays 'states' and 'slots' do not fit together", expected="an n-gram for each state")

    def _check_states(self) -> None:
        """Refuse states that do not lead to shorter ones."""
        for rows in blocks(len(self.states)):
            records = np.ascontiguousarray(self.states[rows, CONTEXT]).view(ENTRY)
            check_numbers("states", records["log10"])
            own = np.arange(rows.start, rows.stop)
            wrong = np.flatnonzero((records["state"] < 0) | (records["state"] >= np.maximum(own, 1)))
            if len(wrong):
                found = f"has the state {own[wrong[0]]} back off to {records['state'][wrong[0]]}"
                raise DataError(f"the array 'states' {found}", expected="a smaller one")

    def arrays(self) -> Arrays:
        """Return the arrays that make up the model, by name, for storing."""
        arrays: Arrays = {name: getattr(self, name) for name in _DTYPES}
        arrays |= {f"vocab.{name}": array for name, array in self.vocab.arrays().items()}
        for name, component in self.components.items():
            arrays |= {f"{_COMPONENT}{name}.{key}": array for key, array in component.arrays().items()}
        if self.classes is not None:
            arrays |= {f"{_CLASSES}{key}": array for key, array in self.classes.arrays().items()}
        return arrays

    @cached_property
    def remixed(self) -> dict[tuple[float, ...], LanguageModel]:
        """The last mixture that was made of the components with other weights, by these."""
        return {}

    @property
    def order(self) -> int:
        """The length of the longest n-grams."""
        return len(self.bounds) - 1

    @property
    def automaton(self) -> kernels.Automaton:
        """The model as kernels take it."""
        return kernels.Automaton(slots=self.slots, states=self.states, unigrams=self.unigrams, bounds=self.bounds)

    @cached_property
    def begin_state(self) -> int:
        """The state at the beginning of a sentence."""
        return int(self.unigrams[BOS : BOS + 1].view(ENTRY)["state"][0])

    @cached_property
    def left_extensions(self) -> tuple[NDArray[np.uint8], bool]:
        """True where a longer state ends with the words of a state; and whether all suffixes of states are states."""
        suffixes = (self.states[:, CONTEXT] >> np.uint64(32)).astype(np.int64)
        lengths = np.repeat(np.arange(self.order + 1), np.diff(self.bounds, append=len(self.states)))
        next_to = lengths[suffixes] == lengths - 1
        extended = np.zeros(len(self.states), np.uint8)
        extended[suffixes[next_to]] = 1
        return extended, bool(next_to[1:].all())

    def score(self, sentence: str, *, bos: bool = True, eos: bool = True) -> float:
        """Return the base-10 log-probability of a tokenised sentence, from its beginning and with its end."""
        return float(self.logprobs(self._encode(sentence), bos=bos, eos=eos).sum(dtype=np.float64))

    def full_scores(self, sentence: str, *, bos: bool = True, eos: bool = True) -> list[WordScore]:
        """Return the contribution of each word of a tokenised sentence, and of its end, to the score."""
        ids = self._encode(sentence)
        logprobs, lengths = kernels.lm_score(self.automaton, ids.for_kernels(), bos, eos, True, 1, None)
        oov = [*(~self.knows[ids.values]).tolist(), False]
        return [WordScore(*found) for found in zip(logprobs.tolist(), lengths.tolist(), oov, strict=False)]

    def ids_of(self, vocab: Vocab) -> NDArray[np.int32]:
        """Return the id of each word of a vocabulary in this model: UNK for unknown words and sentence marks."""
        return self._text_ids if vocab is self.words else self._text_ids[vocab.map_to(self.words)]

    @property
    def words(self) -> Vocab:
        """The words that the model takes: those of its n-grams, or those that have classes."""
        return self.vocab if self.classes is None else self.classes.vocab

    def sentences(self, corpus: Corpus) -> Ragged[np.int32]:
        """Return the sentences of a corpus in ids of this model, see `ids_of`."""
        return Ragged(self.ids_of(corpus.vocab)[corpus.sentences.values], corpus.sentences.offsets)

    def _encode(self, sentence: str) -> Ragged[np.int32]:
        ids, _ = self.words.encode(sentence.encode())
        return Ragged(self._text_ids[ids], np.array([0, len(ids)]))

    @cached_property
    def _text_ids(self) -> NDArray[np.int32]:
        known = self.knows
        ids = np.where(known, np.arange(len(known), dtype=np.int32), np.int32(UNK))
        ids[[BOS, EOS]] = UNK
        return ids if self.classes is None else ids[self.classes.names.map_to(self.vocab)][self.classes.name_ids]

    def logprobs(
        self, sentences: Ragged[np.int32], *, bos: bool = True, eos: bool = True, runtime: Runtime = Runtime()
    ) -> NDArray[np.float32]:
        """Return the base-10 log-probability of each word of sentences in ids and, with `eos`, of each end."""
        words = sentences.values
        if len(words) and not 0 <= words.min() <= words.max() < len(self.vocab):
            raise IndexError(f"word ids from {words.min()} to {words.max()} in a vocabulary of {len(self.vocab)}")
        with runtime.stage("querying the language model") as progress_callback:
            return kernels.lm_score(
                self.automaton, sentences.for_kernels(), bos, eos, False, runtime.threads, progress_callback
            )[0]

    def perplexity(self, corpus: Corpus, *, runtime: Runtime = Runtime()) -> Perplexity:
        """Measure how well the model predicts text, sentence ends included."""
        sentences = self.sentences(corpus)
        logprobs = self.logprobs(sentences, runtime=runtime)
        is_word = np.ones(len(logprobs), bool)
        is_word[sentences.offsets[1:] + np.arange(len(sentences))] = False
        oov = ~self.knows[sentences.values]
        return Perplexity(
            logprob=float(logprobs.sum(dtype=np.float64)),
            oov_logprob=float(logprobs[is_word][oov].sum(dtype=np.float64)),
            tokens=len(logprobs),
            oovs=int(oov.sum()),
        )

    @cached_property
    def knows(self) -> NDArray[np.bool_]:
        """True for each id of the vocabulary that has a unigram."""
        known = np.ones(len(self.vocab), bool)
        known[UNK] = False
        known[self.implied_words] = False
        return known

    @property
    def sizes(self) -> list[int]:
        """The number of n-grams of each order."""
        parents = self._longer()["parent"]
        longer = np.histogram(parents, bins=self.bounds[1:])[0].tolist() if self.order > 1 else []
        return [len(self.vocab) - len(self.implied_words), *longer]

    def _longer(self, *, implied: bool = False) -> NDArray[np.void]:
        """Return all n-grams of more than one word that are listed, or, with `implied`, all that are there."""
        used, held = np.flatnonzero(self.slots[:, 0]), np.flatnonzero(self.states[:, WORD] != NO_WORD)
        found = np.empty(len(used) + len(held), _LONGER)
        listed = np.ones(len(self.slots) + len(self.states), bool)
        listed[self.implied_slots] = False
        found["listed"] = listed[np.concatenate([used, len(self.slots) + held])]
        found["parent"] = np.concatenate([self.slots[used, 0] >> np.uint64(32), held.astype(np.uint64)])
        found["word"] = np.concatenate([self.slots[used, 0] & NO_WORD, self.states[held, WORD]])
        found["entry"] = np.concatenate([self.slots[used, 1], self.states[held, LIKELIEST]]).view(ENTRY)
        return found if implied else found[found["listed"]]

    def to_ngrams(self) -> NGrams:
        """Return the n-grams again, with the same numbers; unigrams in the vocabulary's order, others sorted by ids."""
        states = np.ascontiguousarray(self.states[:, CONTEXT]).view(ENTRY)
        unigrams = self.unigrams.view(ENTRY)
        longer = self._longer(implied=True)
        parents, last, entries = longer["parent"], longer["word"], longer["entry"]

        known = np.setdiff1d(np.arange(len(self.vocab), dtype=np.int32), self.implied_words)
        orders = [_table(known[:, None], unigrams[known], states, self.bounds, 1)]
        contexts = _state_words(np.arange(len(self.vocab), dtype=np.int32)[:, None], unigrams, self.bounds, 1)
        for n in range(2, self.order + 1):
            rows = np.flatnonzero((self.bounds[n - 1] <= parents) & (parents < self.bounds[n]))
            words = np.concatenate([contexts[parents[rows] - self.bounds[n - 1]], last[rows, None]], axis=1)
            contexts = _state_words(words, entries[rows], self.bounds, n)
            kept = longer["listed"][rows]
            words, rows = words[kept], rows[kept]
            by_ids = np.lexsort(words.T[::-1])
            orders.append(_table(words[by_ids], entries[rows[by_ids]], states, self.bounds, n))
        return NGrams(self.vocab, tuple(orders))


#: An n-gram: the state of its context, its last word, what follows, and whether the model lists it.
_LONGER = np.dtype([("parent", "<i4"), ("word", "<i4"), ("entry", ENTRY), ("listed", "?")])


def _rearranged(
    slots: NDArray[np.generic], states: NDArray[np.generic], implied_slots: NDArray[np.generic]
) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of a model whose states do not hold their likeliest words yet."""
    check_range("implied_slots", np.asarray(implied_slots, np.int64), 0, len(slots))
    used = np.flatnonzero(slots[:, 0])
    keys, entries = (np.ascontiguousarray(slots[used, column], np.uint64) for column in (0, 1))
    check_range("slots", (keys >> np.uint64(32)).astype(np.int64), 1, len(states))
    slots, states, places = kernels.lm_arrange(np.ascontiguousarray(states[:, CONTEXT], np.uint64), keys, entries)
    return {"slots": slots, "states": states, "implied_slots": places[np.searchsorted(used, implied_slots)]}


@lru_cache(maxsize=8)
def _cut(model: LanguageModel, order: int) -> LanguageModel:
    *lower, last = model.to_ngrams().orders[:order]
    cut = NGrams(model.vocab, (*lower, replace(last, backoffs=np.zeros_like(last.backoffs))))
    return replace(LanguageModel.from_ngrams(cut), classes=model.classes)


def _power(exponent: float) -> float:
    """Return a power of 10, which may be infinite."""
    with np.errstate(over="ignore"):
        return float(np.float64(10) ** exponent)


def _check_entries(
    name: str,
    packed: NDArray[np.uint64],
    parents: NDArray[np.int64],
    bounds: NDArray[np.int64],
    reached: NDArray[np.bool_],
) -> int:
    """Refuse n-grams after these contexts that lead to no state, or to too long a one.

    Marks the states that are these n-grams themselves, and returns how many n-grams are states.
    """
    entries = np.ascontiguousarray(packed).view(ENTRY)
    check_numbers(name, entries["log10"])
    check_range(name, entries["state"], 0, int(bounds[-1]))
    own, longest = (np.searchsorted(bounds, found, side="right") for found in (entries["state"], parents))
    # A state of length n has n + 1 bounds at or below it.
    if np.any(own > longest + 1):
        raise DataError(f"the array '{name}' leads to a context that is too long", expected="a language model")
    same = entries["state"][own == longest + 1]
    reached[same] = True
    return len(same)


def _own_state(entries: NDArray[np.void], bounds: NDArray[np.int64], length: int) -> NDArray[np.bool_]:
    """Tell which n-grams of that length are states themselves: those that do not lead to a shorter one."""
    return np.asarray(entries["state"] >= bounds[length])


def _state_words(
    words: NDArray[np.int32], entries: NDArray[np.void], bounds: NDArray[np.int64], length: int
) -> NDArray[np.int32]:
    """Return the words of the states of that length, in the order of the states."""
    own = _own_state(entries, bounds, length)
    ordered = np.empty_like(words[own])
    ordered[entries["state"][own] - bounds[length]] = words[own]
    return ordered


def _table(
    words: NDArray[np.int32],
    entries: NDArray[np.void],
    states: NDArray[np.void],
    bounds: NDArray[np.int64],
    length: int,
) -> NGramTable:
    own = _own_state(entries, bounds, length)
    backoffs = np.where(own, states["log10"][entries["state"]], np.float32(0))
    return NGramTable(words, entries["log10"].copy(), backoffs)
