"""The model of characters: ordinary training and tuning, with settings for single words and few examples.

Warnings are suppressed: that few words are little text for n-grams of high orders is expected.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dragoman.core.corpus import Bitext, Corpus
from dragoman.core.feature_rows import Weights
from dragoman.core.files import open_output
from dragoman.core.options import Options, option
from dragoman.core.runtime import Runtime
from dragoman.metrics.combined import parse_metric
from dragoman.model.bundle import Model
from dragoman.model.language_model import LanguageModel
from dragoman.model.parts import Settings, initial_weights
from dragoman.normalisation.examples import Examples
from dragoman.normalisation.lexicon import Lexicon
from dragoman.search.limits import SearchLimits
from dragoman.training.align import ALIGNERS
from dragoman.training.lm.kneser_ney import KneserNey, estimate_model
from dragoman.training.phrase_model import PhraseModel
from dragoman.training.pipeline import TrainRecipe, train_model
from dragoman.training.prepare import Cleaning, PreparedText
from dragoman.tuning import TUNERS
from dragoman.tuning.problems.evidence import Decoding
from dragoman.tuning.runs.job import Job
from dragoman.tuning.runs.loop import Loop

#: Search limits for single words: larger ones do not change the results.
LIMITS = SearchLimits(pop_limit=50)

SETTINGS = Settings(units="characters", boundaries=True, reordering_limit=0)

#: The names of the language models of the examples and of the word lists.
_EXAMPLES, _WORDS = "lm", "lm2"


@dataclass(frozen=True)
class CharacterModel(Options):
    """Options of training and tuning the model of characters."""

    aligner: str = option("diagonal", "aligner of the characters; see `dragoman methods list aligner`")
    max_phrase_length: int = option(7, "longest phrase, in characters, on either side", minimum=1, maximum=255)
    lm_order: int = option(8, "length of the longest n-grams of characters", minimum=1, maximum=16)
    method: str = option("mira", "tuning method for its weights: any that takes n-best lists")
    metric: str = option("accuracy", "metric for tuning its weights: accuracy, cer or any other")
    iterations: int = option(3, "maximum number of tuning iterations", minimum=1)
    tuning_forms: int = option(1500, "forms of the development set that its weights are tuned on", minimum=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        ALIGNERS.get(self.aligner), TUNERS.get(self.method), parse_metric(self.metric)


def words_model(lexicon: Lexicon, options: CharacterModel, *, runtime: Runtime = Runtime()) -> LanguageModel | None:
    """Estimate a language model of the characters of a word list, each word once; None if it is empty."""
    if not len(lexicon):
        return None
    text = Corpus.from_lines(SETTINGS.preparation().target(sorted(lexicon.words)))
    # An n-gram of this length that occurs once is a word by itself, which the choice knows anyway.
    prune = ",".join("0" if n < 5 else "1" for n in range(1, options.lm_order + 1))
    kneser_ney = KneserNey(order=options.lm_order, prune=prune)
    return estimate_model(text, kneser_ney, runtime=runtime.quiet(warns=False))


def character_model(
    examples: Examples,
    words: LanguageModel | None,
    options: CharacterModel,
    *,
    runtime: Runtime = Runtime(),
) -> Model:
    """Train on examples: phrases of characters in order, and language models of their modern side and of word lists."""
    text = SETTINGS.preparation()
    bitext = Bitext(
        Corpus.from_lines(text.source(example.historical for example in examples.tokens)),
        Corpus.from_lines(text.target(example.modern for example in examples.tokens)),
    )
    recipe = TrainRecipe(
        cleaning=Cleaning(max_length=2 * max(map(len, (side for pair in examples.tokens for side in pair))) + 4),
        aligner=ALIGNERS.get(options.aligner)(),
        phrase_model=PhraseModel(max_phrase_length=options.max_phrase_length, reordering=False),
        kneser_ney=KneserNey(order=options.lm_order),
    )
    model = train_model(PreparedText(bitext, SETTINGS), recipe, runtime=runtime.quiet(warns=False)).model
    models = {_EXAMPLES: model.language_models["lm"]} | ({} if words is None else {_WORDS: words})
    scores = {name: table.score_names for name, table in model.tables.items()}
    return replace(model, language_models=models, weights=initial_weights(scores, [], models))


def tune_weights(
    model: Model,
    forms: Mapping[str, Counter[str]],
    options: CharacterModel,
    *,
    seed: int = 1,
    runtime: Runtime = Runtime(),
) -> Weights:
    """Tune the model's weights on forms, each with the modern form that it has most often."""
    chosen = sorted(forms, key=lambda form: -forms[form].total())[: options.tuning_forms]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model.save(folder / "model")
        _write_lines(folder / "source", chosen)
        _write_lines(folder / "reference", [forms[form].most_common(1)[0][0] for form in chosen])
        job = Job(
            model=folder / "model",
            source=folder / "source",
            references=(folder / "reference",),
            tuner=TUNERS.get(options.method)(),
            metric=options.metric,
            loop=Loop(iterations=options.iterations),
            decoding=Decoding(nbest=30, hypotheses="strings"),
            limits=LIMITS,
            fixed=("distortion",),
            seed=seed,
        )
        return job.run(folder / "run", runtime=runtime.quiet(warns=False)).weights()


def _write_lines(path: Path, lines: list[str]) -> None:
    with open_output(path) as stream:
        stream.write("".join(f"{line}\n" for line in lines).encode())
