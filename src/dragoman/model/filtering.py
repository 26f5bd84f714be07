"""A model cut down to a text: what is left of it is small, and translates that text as the whole does."""

from __future__ import annotations

from dataclasses import replace

from dragoman.core.corpus import Corpus
from dragoman.core.files import PathLike
from dragoman.core.runtime import Runtime
from dragoman.model.bundle import Model
from dragoman.model.grammar import rules_for
from dragoman.model.phrase_table import PhraseTable


def filtered(model: Model, corpus: Corpus, *, runtime: Runtime = Runtime()) -> Model:
    """Keep only the phrase pairs and rules whose source side fits on a text (in the words of the model, see `encode`).

    What is left of a grammar on demand is a table of its rules for the text.
    """
    tables = {}
    for name, table in model.tables.items():
        rows = table.rows_for(corpus, runtime=runtime)
        tables[name] = PhraseTable.from_pairs(table.to_pairs(model.source_vocab, model.target_vocab).take(rows))
    limit = model.settings.span_limit
    known = [
        grammar.for_sentences(corpus.sentences, span_limit=limit, runtime=runtime)
        for grammar in model.grammars.values()
    ]
    rules = rules_for(known, corpus, limit, runtime=runtime)
    grammars = {
        name: grammar.take(rows, model.source_vocab, model.target_vocab)
        for name, grammar, rows in zip(model.grammars, known, rules, strict=True)
    }
    return replace(model, tables=tables, grammars=grammars)


def encode(model: Model, path: PathLike) -> Corpus:
    """Read a prepared source text in the words of a model; unknown words become `<unk>`."""
    corpus = Corpus.read(path)
    sentences = replace(corpus.sentences, values=corpus.vocab.map_to(model.source_vocab)[corpus.sentences.values])
    return Corpus(model.source_vocab, sentences)
