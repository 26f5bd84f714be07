"""Data and models for `--quick`, with which a benchmark runs in seconds.

Data are 200 sentence pairs of a toy language with a dictionary and one rule (an adjective follows its noun in the
source), under the names that benchmarks expect below `--data`; models are trained on them.
"""

from __future__ import annotations

import gzip
import random
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import dragoman as dm
from dragoman.core.corpus import Bitext, Corpus
from dragoman.core.nbest import NBest
from dragoman.formats.arpa import write_arpa
from dragoman.formats.moses.rule_table import write_rule_table
from dragoman.formats.nbest.moses import MosesNBest
from dragoman.formats.pharaoh import write_links
from dragoman.model.bundle import Model
from dragoman.model.moses import export_moses
from dragoman.search.limits import SearchLimits
from dragoman.search.translator import Translator
from dragoman.training.adapt import AdaptRecipe
from dragoman.training.align.base import symmetrise
from dragoman.training.align.diagonal import Diagonal
from dragoman.training.lm.kneser_ney import KneserNey, estimate

DETERMINERS = {"the": ("la", "die"), "a": ("une", "eine")}
NOUNS = {
    "house": ("maison", "burg"),
    "car": ("voiture", "kutsche"),
    "table": ("table", "tafel"),
    "flower": ("fleur", "blume"),
    "town": ("ville", "stadt"),
    "flight": ("vol", "reise"),
}
ADJECTIVES = {"blue": ("bleue", "blaue"), "big": ("grande", "grosse"), "small": ("petite", "kleine")}
VERBS = {"sees": ("voit", "sieht"), "likes": ("aime", "mag"), "seeks": ("cherche", "sucht")}
LANGUAGES = ("fr", "de")
PAIRS = 200
#: Files of each corpus, and their numbers of sentence pairs.
MULTI30K = {"train": PAIRS, "val": 20, "test_2016_flickr": 20, "test_2017_mscoco": 10}
DOMAINS = {"train": PAIRS, "dev": 20, "test": 20}


class TinyData:
    """Data and models in a folder, each made when it is first asked for."""

    def __init__(self, folder: Path):
        self._folder = folder

    def data(self) -> Path:
        """The texts of Multi30k, with trees of its English, and of two more domains."""
        return self._made("data", self._write_data)

    def model(self) -> Path:
        """A phrase-based model, from French."""
        return self._made("model", partial(self._train, "fr"))

    def hierarchical(self) -> Path:
        """A hierarchical model, from French."""
        return self._made("hierarchical", partial(self._train, "fr", hierarchical=True))

    def english(self) -> Path:
        """A phrase-based model from English, of whose texts there are trees."""
        return self._made("english", partial(self._train, "en", target="fr"))

    def moses(self) -> Path:
        """The data with tables, alignments, lists and outputs below `moses`, made by us in Moses' formats."""
        self.data()
        self._made("data/moses", self._write_moses)
        return self.data()

    def hiero(self) -> Path:
        """The data with rule tables, rule instances and outputs below `hiero`, too, made by us in Moses' formats."""
        self.moses()
        self._made("data/hiero", self._write_hiero)
        return self.data()

    def histnorm(self) -> Path:
        """The data with old spellings of English words and a word list below `histnorm`."""
        self.data()
        self._made("data/histnorm", self._write_histnorm)
        return self.data()

    def mixture(self) -> Path:
        """A phrase-based model of two components, as `dragoman adapt --mixture pro-mix` makes it."""
        return self._made("mixture", self._write_mixture)

    def out(self) -> Path:
        """An empty folder."""
        return self._made("out", Path.mkdir)

    def _made(self, name: str, make: Callable[[Path], None]) -> Path:
        path = self._folder / name
        if not path.exists():
            make(path)
        return path

    def _write_data(self, out: Path) -> None:
        rng = random.Random(1)
        for name, count in MULTI30K.items():
            sentences = [_sentence(rng) for _ in range(count)]
            for i, language in enumerate(("en", *LANGUAGES)):
                _write(out / f"multi30k/{name}.{language}.gz", [sentence[i] for sentence in sentences])
            _write(out / f"trees/{name}.en.trees.gz", [_tree(sentence[0]) for sentence in sentences])
        for domain in ("libreoffice", "wesnoth"):
            for name, count in DOMAINS.items():
                sentences = [_sentence(rng) for _ in range(count)]
                for i, language in enumerate(LANGUAGES, 1):
                    for side, column in ((language, i), ("en", 0)):
                        file = out / domain / f"{name}.{language}-en.{side}.gz"
                        _write(file, [sentence[column] for sentence in sentences])

    def _train(self, source: str, out: Path, *, target: str = "en", hierarchical: bool = False) -> None:
        files = [self.data() / f"multi30k/train.{language}.gz" for language in (source, target)]
        dm.train(*files, out=out, tokenised=True, hierarchical=hierarchical, preset="moses")

    def _write_moses(self, out: Path) -> None:
        from search import moses_line

        out.mkdir()
        for language in LANGUAGES:
            folder, texts = out / f"{language}-en", self.data() / "multi30k"
            model = Model.load(self._made(f"from-{language}", partial(self._train, language)))
            export_moses(model, folder)
            (folder / "moses.ini").rename(folder / "moses.tuned.ini")
            for name in ("phrase-table", "reordering-table"):
                (table,) = folder.glob(f"{name}.*.gz")
                shutil.copy(table, folder / f"{name}.gz")
            for order in (3, 5):
                ngrams = estimate(Corpus.read(texts / "train.en.gz"), KneserNey(order=order))
                write_arpa(folder / f"lm{order}.arpa.gz", ngrams)
            directions = Diagonal().align(Bitext.read(texts / f"train.{language}.gz", texts / "train.en.gz"))
            write_links(folder / "fast_align.fwd.gz", directions.forward)
            write_links(folder / "fast_align.rev.gz", directions.reverse)
            write_links(folder / "aligned.grow-diag-final-and.gz", symmetrise(directions))
            for name, limits in (("cube400", SearchLimits()), ("stack200", SearchLimits(algorithm="stack"))):
                lines = _lines(texts / f"test_2016_flickr.{language}.gz")
                best = Translator.of(model, limits=limits).translate(lines, features=True)
                rows = [moses_line(i, translation) for i, translation in enumerate(best)]
                _write(folder / f"test_2016_flickr.{name}.1best.gz", rows)
            lists = NBest.concatenate(list(Translator.of(model).nbest(_lines(texts / f"val.{language}.gz"), 100)))
            MosesNBest().write(folder / "val.merged.nbest.gz", lists)

    def _write_hiero(self, out: Path) -> None:
        from chart import SPACE, moses_line
        from rules import TABLES, read, score_all, spelt_instances

        for language in LANGUAGES:
            pair, folder = f"{language}-en", out / f"{language}-en"
            model = Model.load(self._made(f"rules-from-{language}", partial(self._train, language, hierarchical=True)))
            export_moses(model, folder)
            (folder / "moses.ini").rename(folder / "moses.tuned.ini")
            shutil.copy(folder / "moses.tuned.ini", folder / "moses.untuned.ini")
            translator = Translator.of(model, limits=SearchLimits(pop_limit=200), space=SPACE)
            lines = _lines(self.data() / f"multi30k/test_2016_flickr.{language}.gz")
            best = [moses_line(i, one, model) for i, one in enumerate(translator.translate(lines, features=True))]
            for weights in ("tuned", "untuned"):
                _write(folder / f"test_2016_flickr.{weights}.pop200.1best.gz", best)
            bitext, text = read(self.data(), pair)
            write_rule_table(folder / TABLES[pair], score_all(bitext, text))
            instances = [
                f"{left} [X] ||| {right} [X] ||| {' '.join(f'{s}-{t}' for s, t in sorted(links))} ||| {count:g} ||| "
                for (left, right, links), counts in spelt_instances(bitext, text, 100).items()
                for count in counts
            ]
            _write(folder / "extract.first100.gz", instances)

    def _write_histnorm(self, out: Path) -> None:
        words = sorted({*DETERMINERS, *NOUNS, *ADJECTIVES, *VERBS})
        for part, times in (("train", 30), ("dev", 10), ("test", 10)):
            rows = [f"{_old_spelling(word)}\t{word}" for _ in range(times) for word in words]
            _write(out / f"german-ridges.{part}.txt.gz", rows)
        _write(out / "modern.de.txt.gz", words)

    def _write_mixture(self, out: Path) -> None:
        corpora = {
            name: (self.data() / f"{name}/train.fr-en.fr.gz", self.data() / f"{name}/train.fr-en.en.gz")
            for name in ("libreoffice", "wesnoth")
        }
        texts = (self.data() / f"multi30k/val.{language}.gz" for language in ("fr", "en"))
        AdaptRecipe.from_dict({"tokenised": True}).read(corpora, *texts).model("pro-mix").save(out)


def _old_spelling(word: str) -> str:
    return word.replace("s", "\u017f").replace("i", "y").replace("u", "v")


def _sentence(rng: random.Random) -> tuple[str, str, str]:
    """A subject, a verb and an object, in English, French and German."""
    verb = rng.choice(sorted(VERBS))
    subject, thing = _noun_phrase(rng), _noun_phrase(rng)
    middle = (verb, *VERBS[verb])
    english, french, german = (f"{subject[i]} {middle[i]} {thing[i]} ." for i in range(3))
    return english, french, german


def _noun_phrase(rng: random.Random) -> tuple[str, str, str]:
    determiner, noun = rng.choice(sorted(DETERMINERS)), rng.choice(sorted(NOUNS))
    (la, die), (maison, burg) = DETERMINERS[determiner], NOUNS[noun]
    if rng.random() < 0.4:
        return f"{determiner} {noun}", f"{la} {maison}", f"{die} {burg}"
    adjective = rng.choice(sorted(ADJECTIVES))
    bleue, blaue = ADJECTIVES[adjective]
    return f"{determiner} {adjective} {noun}", f"{la} {maison} {bleue}", f"{die} {blaue} {burg}"


def _tree(english: str) -> str:
    """The tree of a sentence, as in the Penn treebank."""
    words = english.split()
    verb = next(i for i, word in enumerate(words) if word in VERBS)
    subject, thing = (
        " ".join(f"({_tag(word)} {word})" for word in part) for part in (words[:verb], words[verb + 1 : -1])
    )
    return f"(ROOT (S (NP {subject}) (VP (VBZ {words[verb]}) (NP {thing})) (. .)))"


def _tag(word: str) -> str:
    return "DT" if word in DETERMINERS else "JJ" if word in ADJECTIVES else "NN"


def _write(file: Path, lines: list[str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))


def _lines(file: Path) -> list[str]:
    return gzip.decompress(file.read_bytes()).decode().splitlines()
