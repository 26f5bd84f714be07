"""A small Transformer in PyTorch, for comparison: joint BPE, dropout, label smoothing, early stopping, beam search.

Training writes a checkpoint after each epoch and can be killed and continued. Imported by `learning_curves.py`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
import torch
from torch import Tensor, nn
from torch.nn import functional

PAD, UNKNOWN, BEGIN, END = range(4)
#: A pair of sentences as piece numbers.
Pair = tuple[list[int], list[int]]


@dataclass(frozen=True)
class Settings:
    """Size of the network and of training, the usual ones for little data."""

    vocabulary: int = 8000
    width: int = 256
    inner: int = 1024
    heads: int = 4
    layers: int = 3
    dropout: float = 0.3
    smoothing: float = 0.1
    peak_rate: float = 1e-3
    warmup: int = 1000
    tokens_per_batch: int = 4000
    epochs: int = 100
    patience: int = 6
    seed: int = 1

    @classmethod
    def for_pairs(cls, pairs: int) -> Settings:
        """Return settings for a number of sentence pairs: with less text, fewer pieces and smaller batches."""
        if pairs > 20000:
            return cls()
        if pairs > 3000:
            return cls(vocabulary=3000, tokens_per_batch=2000, patience=10)
        return cls(vocabulary=1200, tokens_per_batch=1000, patience=20, warmup=500)


class Attention(nn.Module):  # type: ignore[misc]
    """Multi-head attention; keys and values can be kept between steps of a search."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.heads, self.dropout = settings.heads, settings.dropout
        self.query, self.key, self.value, self.out = (nn.Linear(settings.width, settings.width) for _ in range(4))

    def split(self, rows: Tensor) -> Tensor:
        """Return (batch, heads, length, width of a head)."""
        return rows.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Return keys and values of what is attended to."""
        return self.split(self.key(memory)), self.split(self.value(memory))

    def forward(self, queries: Tensor, kept: tuple[Tensor, Tensor], mask: Tensor | None, causal: bool) -> Tensor:
        """Return what the queries find in keys and values."""
        rate = self.dropout if self.training else 0.0
        found = functional.scaled_dot_product_attention(
            self.split(self.query(queries)), *kept, attn_mask=mask, dropout_p=rate, is_causal=causal
        )
        return self.out(found.transpose(1, 2).flatten(2))


class Layer(nn.Module):  # type: ignore[misc]
    """A layer with layer normalisation first; one of a decoder also attends to the source."""

    def __init__(self, settings: Settings, *, decoder: bool) -> None:
        super().__init__()
        self.own = Attention(settings)
        self.source = Attention(settings) if decoder else None
        self.norms = nn.ModuleList(nn.LayerNorm(settings.width) for _ in range(3 if decoder else 2))
        self.feed = nn.Sequential(
            nn.Linear(settings.width, settings.inner),
            nn.ReLU(),
            nn.Dropout(settings.dropout),
            nn.Linear(settings.inner, settings.width),
        )
        self.drop = nn.Dropout(settings.dropout)

    def forward(
        self,
        rows: Tensor,
        mask: Tensor | None,
        source: tuple[Tensor, Tensor] | None = None,
        source_mask: Tensor | None = None,
        past: tuple[Tensor, Tensor] | None = None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return the rows of the next layer, and this layer's keys and values so far."""
        normed = self.norms[0](rows)
        kept = self.own.keys_values(normed)
        if past is not None:
            kept = torch.cat((past[0], kept[0]), 2), torch.cat((past[1], kept[1]), 2)
        causal = self.source is not None and rows.shape[1] > 1
        rows = rows + self.drop(self.own(normed, kept, mask, causal))
        if self.source is not None:
            assert source is not None
            rows = rows + self.drop(self.source(self.norms[1](rows), source, source_mask, False))
        return rows + self.drop(self.feed(self.norms[-1](rows))), kept


class Transformer(nn.Module):  # type: ignore[misc]
    """An encoder and a decoder that share their embeddings."""

    def __init__(self, settings: Settings, vocabulary: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, settings.width, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=settings.width**-0.5)
        self.encoder = nn.ModuleList(Layer(settings, decoder=False) for _ in range(settings.layers))
        self.decoder = nn.ModuleList(Layer(settings, decoder=True) for _ in range(settings.layers))
        self.norms = nn.ModuleList(nn.LayerNorm(settings.width) for _ in range(2))
        self.drop = nn.Dropout(settings.dropout)
        self.register_buffer("positions", positions(512, settings.width), persistent=False)

    def embed(self, pieces: Tensor, start: int = 0) -> Tensor:
        """Return embeddings of pieces with their positions, of which the first is `start`."""
        scaled = self.embedding(pieces) * math.sqrt(self.embedding.embedding_dim)
        return self.drop(scaled + self.positions[start : start + pieces.shape[1]])

    def encode(self, source: Tensor) -> tuple[list[tuple[Tensor, Tensor]], Tensor]:
        """Return keys and values of the source for each layer of the decoder, and the mask of its pieces."""
        mask = (source != PAD)[:, None, None, :]
        rows = self.embed(source)
        for layer in self.encoder:
            rows, _ = layer(rows, mask)
        rows = self.norms[0](rows)
        return [layer.source.keys_values(rows) for layer in self.decoder], mask

    def decode(
        self, target: Tensor, source: list[tuple[Tensor, Tensor]], mask: Tensor, past: list[Any] | None = None
    ) -> tuple[Tensor, list[Any]]:
        """Return scores of the next piece after each of the target's, and keys and values to continue with."""
        rows = self.embed(target, 0 if past is None else past[0][0].shape[2])
        kept = []
        for i, layer in enumerate(self.decoder):
            rows, own = layer(rows, None, source[i], mask, None if past is None else past[i])
            kept.append(own)
        return self.norms[1](rows) @ self.embedding.weight.T, kept


def positions(length: int, width: int) -> Tensor:
    """Return sinusoidal encodings of positions."""
    angles = torch.arange(length)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    return torch.stack((angles.sin(), angles.cos()), -1).flatten(1)


def learn_pieces(lines: Sequence[str], out: Path, vocabulary: int) -> None:
    """Learn byte-pair encoding of both languages together."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_prefix=str(out.with_suffix("")),
        model_type="bpe",
        vocab_size=vocabulary,
        hard_vocab_limit=False,
        character_coverage=0.9999,
        pad_id=PAD,
        unk_id=UNKNOWN,
        bos_id=BEGIN,
        eos_id=END,
        minloglevel=2,
        num_threads=2,
    )


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """Return rows as a matrix."""
    return nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)


class Translator:
    """A Transformer in a folder: pieces, the state of training, and the best weights so far."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.settings = folder, settings

    @property
    def is_trained(self) -> bool:
        """True if training has ended."""
        return (self.folder / "done").exists()

    def _load_pieces(self, pairs: Sequence[tuple[str, str]]) -> None:
        path = self.folder / "pieces.model"
        if not path.exists():
            learn_pieces([line for pair in pairs for line in pair], path, self.settings.vocabulary)
        self.pieces = sentencepiece.SentencePieceProcessor(model_file=str(path))

    def _numbers(self, line: str) -> list[int]:
        return [*self.pieces.encode(line)[:250], END]

    def _batches(self, pairs: Sequence[Pair], rng: np.random.Generator | None) -> Iterator[list[Pair]]:
        """Yield batches of pairs of like length, in random order if there is a generator."""
        noise = np.zeros(len(pairs)) if rng is None else rng.random(len(pairs))
        order = sorted(range(len(pairs)), key=lambda i: (len(pairs[i][1]), len(pairs[i][0]), noise[i]))
        batches: list[list[Pair]] = [[]]
        longest = 0
        for i in order:
            longest = max(longest, *map(len, pairs[i]))
            if batches[-1] and longest * (len(batches[-1]) + 1) > self.settings.tokens_per_batch:
                batches.append([])
                longest = max(map(len, pairs[i]))
            batches[-1].append(pairs[i])
        if rng is not None:
            rng.shuffle(batches)
        yield from batches

    def _loss(self, batch: Sequence[Pair], smoothing: float) -> Tensor:
        source, target = (padded([pair[side] for pair in batch]) for side in (0, 1))
        given = torch.cat((torch.full((len(batch), 1), BEGIN), target[:, :-1]), 1)
        scores, _ = self.model.decode(given, *self.model.encode(source))
        return functional.cross_entropy(
            scores.flatten(0, 1), target.flatten(), ignore_index=PAD, label_smoothing=smoothing, reduction="sum"
        )

    def train(
        self, pairs: Sequence[tuple[str, str]], held_out: Sequence[tuple[str, str]], *, deadline: float | None = None
    ) -> bool:
        """Train until the loss on held-out pairs stops falling, or to the deadline; return whether it has ended."""
        if self.is_trained:
            return True
        settings = self.settings
        torch.manual_seed(settings.seed)
        self._load_pieces(pairs)
        texts = [[(self._numbers(a), self._numbers(b)) for a, b in text] for text in (pairs, held_out)]
        self.model = Transformer(settings, self.pieces.vocab_size())
        adam = torch.optim.Adam(self.model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9)
        state: dict[str, Any] = {"epoch": 0, "step": 0, "best": math.inf, "since": 0, "seconds": 0.0, "losses": []}
        checkpoint = self.folder / "checkpoint.pt"
        if checkpoint.exists():
            kept = torch.load(checkpoint, weights_only=True)
            state = kept["state"]
            self.model.load_state_dict(kept["model"])
            adam.load_state_dict(kept["adam"])
        while state["epoch"] < settings.epochs and state["since"] < settings.patience:
            if deadline is not None and time.monotonic() > deadline:
                return False
            begun = time.process_time()
            self._epoch(texts[0], adam, state)
            loss = self._held_out_loss(texts[1])
            state["seconds"] += time.process_time() - begun
            state["losses"].append(loss)
            state["since"] = 0 if loss < state["best"] else state["since"] + 1
            state["epoch"] += 1
            if loss < state["best"]:
                state["best"] = loss
                self._save({"model": self.model.state_dict()}, "best.pt")
            self._save({"state": state, "model": self.model.state_dict(), "adam": adam.state_dict()}, "checkpoint.pt")
            print(f"{self.folder.name}: epoch {state['epoch']}, held-out loss {loss:.4f}", flush=True)
        (self.folder / "done").write_text(f"{state['epoch']} {state['seconds']:.0f}\n", encoding="utf-8")
        return True

    def _epoch(self, pairs: Sequence[Pair], adam: torch.optim.Adam, state: dict[str, Any]) -> None:
        torch.manual_seed(1000 * self.settings.seed + state["epoch"])
        rng = np.random.default_rng([self.settings.seed, state["epoch"]])
        self.model.train()
        for batch in self._batches(pairs, rng):
            state["step"] += 1
            warmup = self.settings.warmup
            rate = self.settings.peak_rate * min(state["step"] / warmup, math.sqrt(warmup / state["step"]))
            for group in adam.param_groups:
                group["lr"] = rate
            adam.zero_grad()
            loss = self._loss(batch, self.settings.smoothing) / sum(len(pair[1]) for pair in batch)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            adam.step()

    def _held_out_loss(self, pairs: Sequence[Pair]) -> float:
        """Return the mean loss of a piece."""
        self.model.eval()
        with torch.no_grad():
            total = sum(float(self._loss(batch, 0.0)) for batch in self._batches(pairs, None))
        return total / sum(len(pair[1]) for pair in pairs)

    def _save(self, found: dict[str, Any], name: str) -> None:
        partial = self.folder / f"{name}.partial"
        torch.save(found, partial)
        partial.replace(self.folder / name)

    @property
    def seconds(self) -> float:
        """Processor time of training."""
        return float((self.folder / "done").read_text(encoding="utf-8").split()[1])

    def load(self) -> None:
        """Load the best weights."""
        self._load_pieces(())
        self.model = Transformer(self.settings, self.pieces.vocab_size())
        self.model.load_state_dict(torch.load(self.folder / "best.pt", weights_only=True)["model"])
        self.model.eval()

    def nbest(self, lines: Sequence[str], beam: int, *, sentences_at_once: int = 64) -> list[list[tuple[str, float]]]:
        """Translate lines by beam search; return the hypotheses of each with their log-probability per piece."""
        sources = [self._numbers(line) for line in lines]
        order = sorted(range(len(lines)), key=lambda i: len(sources[i]))
        found: list[list[tuple[str, float]]] = [[] for _ in lines]
        for first in range(0, len(lines), sentences_at_once):
            rows = order[first : first + sentences_at_once]
            with torch.inference_mode():
                ended = self._search([sources[i] for i in rows], beam)
            for row, hypotheses in zip(rows, ended, strict=True):
                texts: dict[str, float] = {}
                for pieces, score in hypotheses:
                    texts.setdefault(self.pieces.decode(pieces), score)
                found[row] = list(texts.items())
        return found

    def _search(self, sources: list[list[int]], beam: int) -> list[list[tuple[list[int], float]]]:
        count, longest = len(sources), 2 * max(map(len, sources)) + 10
        kept, mask = self.model.encode(padded(sources).repeat_interleave(beam, 0))
        scores = torch.full((count, beam), -torch.inf)
        scores[:, 0] = 0.0
        history, past = torch.full((count * beam, 1), BEGIN), None
        ended: list[list[tuple[list[int], float]]] = [[] for _ in sources]
        for length in range(1, min(longest, 250) + 1):
            found, past = self.model.decode(history[:, -1:], kept, mask, past)
            steps = functional.log_softmax(found[:, -1], -1)
            steps[:, [PAD, BEGIN]] = -torch.inf
            size = steps.shape[1]
            best, places = (scores[:, :, None] + steps.view(count, beam, size)).flatten(1).topk(2 * beam)
            parents, pieces = places // size, places % size
            for sentence, rank in (pieces[:, :beam] == END).nonzero().tolist():
                row = sentence * beam + int(parents[sentence, rank])
                ended[sentence].append((history[row, 1:].tolist(), float(best[sentence, rank]) / length))
            scores, kept_ranks = best.masked_fill(pieces == END, -torch.inf).topk(beam)
            rows = (parents.gather(1, kept_ranks) + beam * torch.arange(count)[:, None]).flatten()
            history = torch.cat((history[rows], pieces.gather(1, kept_ranks).flatten()[:, None]), 1)
            past = [(keys[rows], values[rows]) for keys, values in past]
            if all(len(done) >= beam for done in ended):
                break
        for sentence, done in enumerate(ended):
            if not done:
                done.append((history[sentence * beam, 1:].tolist(), float(scores[sentence, 0]) / history.shape[1]))
            done.sort(key=lambda one: -one[1])
            del done[beam:]
        return ended
