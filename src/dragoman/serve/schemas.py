"""Schemas of requests and answers, from which the OpenAPI schema is made."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

Text = Annotated[str, Field(description="Raw text; a line break ends a sentence.", examples=["Un homme dort."])]
Name = Annotated[str | None, Field(description="A model by name; the first by default.")]
Features = dict[str, float]
WeightsBy = Annotated[
    dict[str, FiniteFloat] | str | None,
    Field(description="Some weights by name in place of the model's, or the name of one of its weight sets."),
]
EvidenceKind = Literal["nbest", "hypergraph", "samples"]


class StrictRequest(BaseModel):
    """A request; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class OfModel(StrictRequest):
    """A request to a model."""

    model: Name = None
    weights: WeightsBy = None
    prepared: bool = Field(default=False, description="The text is tokenised (and lower-cased) already.")


class OfSentence(OfModel):
    """A request about one sentence."""

    text: Text
    tree: str | None = Field(default=None, description="Its tree in Penn brackets, if the model looks at trees.")


class TranslateRequest(OfModel):
    """Texts to translate: `text` or `texts`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"text": "Un homme dort. Une femme court.", "details": True, "nbest": 2},
                {"texts": ["Un homme dort.", "Un chien noir court."], "decision": "mbr", "scale": 0.5},
            ]
        }
    )
    text: Text | None = None
    texts: list[str] | None = None
    split: bool = Field(
        default=True, description="Split lines into sentences; without it, a line is one, as in the command."
    )
    decision: str | None = Field(default=None, description="A decision rule; by default the best derivation's string.")
    evidence: EvidenceKind | None = Field(
        default=None, description="What the rule decides by; by default what suits it best."
    )
    scale: FiniteFloat | None = Field(default=None, description="The rule's option of that name.")
    options: dict[str, str | bool | int | FiniteFloat] | None = Field(
        default=None, description="More options of the rule."
    )
    samples: int = Field(default=1000, ge=1, description="Samples a chain, where samples are the evidence.")
    seed: int = Field(default=1, ge=0, lt=2**63, description="Of samples.")
    nbest: int = Field(default=0, ge=0, description="The size of the list of each sentence beside its translation.")
    details: bool = Field(default=False, description="Say how each sentence was translated.")
    trees: list[str] | None = Field(
        None, description="A tree for each line of the texts, for models that look at them."
    )


class Hypothesis(BaseModel):
    """A hypothesis of an n-best list: its text, score and features."""

    text: str
    score: float | None
    features: Features


class Sentence(BaseModel):
    """A sentence and its translation, with details and an n-best list if requested."""

    source: str
    text: str
    score: float | None = None
    derivation: dict[str, Any] | None = Field(
        None, description="The object that `dragoman translate --details` writes: phrases or tree, links, features."
    )
    nbest: list[Hypothesis] | None = None


class TextTranslation(BaseModel):
    """A text, its translation, and its sentences if details or n-best lists are requested."""

    source: str
    text: str
    sentences: list[Sentence] | None = None


class TranslateAnswer(BaseModel):
    """The translation of each text."""

    model: str
    translations: list[TextTranslation]


class NBestRequest(OfSentence):
    """Request for the n-best list of one sentence."""

    size: int = Field(default=10, ge=1)
    distinct: bool = Field(default=True, description="Only different strings.")


class NBestAnswer(BaseModel):
    """The best hypotheses, best first; their text is tokenised."""

    model: str
    source: str
    text: str
    nbest: list[Hypothesis]


class ReweightRequest(OfSentence):
    """Request for a sentence with other weights; its hypergraph is cached after the first request."""

    size: int = Field(default=10, ge=1)


class ReweightAnswer(BaseModel):
    """The best derivations of the hypergraph with the new weights; `searched` is false if it was in the cache."""

    model: str
    source: str
    text: str
    score: float
    derivation: dict[str, Any]
    nbest: list[Hypothesis]
    searched: bool


class HypergraphRequest(OfSentence):
    """Request for the hypergraph of one sentence."""


class HypergraphAnswer(BaseModel):
    """A hypergraph in Dragoman's format, see `dragoman translate --hypergraphs`."""

    model: str
    source: str
    hypergraph: dict[str, Any]


class SampleRequest(OfSentence):
    """Request for samples of derivations of one sentence."""

    samples: int = Field(default=1000, ge=1, description="Samples a chain.")
    chains: int = Field(default=2, ge=1)
    temperature: FiniteFloat = Field(default=1.0, ge=1e-6)
    burn_in: int = Field(default=100, ge=0)
    seed: int = Field(default=1, ge=0, lt=2**63)


class SampledDerivation(BaseModel):
    """A sampled derivation, its count, and its score."""

    text: str
    count: int
    probability: float
    score: float


class SampleAnswer(BaseModel):
    """Distinct derivations, most frequent first."""

    model: str
    source: str
    derivations: list[SampledDerivation]


class PosteriorRequest(OfSentence):
    """Request for the posterior distribution over translations of one sentence."""

    evidence: EvidenceKind = "nbest"
    scale: Annotated[FiniteFloat, Field(gt=0, le=1000)] = 1.0
    decisions: list[str] | None = Field(
        default=None, description="Rules that are to choose; all that take the evidence."
    )
    size: int = Field(
        default=1000, ge=1, description="Derivations in n-best lists, and of hypergraphs those that are shown."
    )
    samples: int = Field(default=1000, ge=1, description="Samples a chain.")
    seed: int = Field(default=1, ge=0, lt=2**63)


class Candidate(BaseModel):
    """A string and its probability."""

    text: str
    probability: float


class Choice(BaseModel):
    """The choice of a decision rule, or the reason why there is none."""

    decision: str
    evidence: EvidenceKind | None = None
    text: str | None = None
    refused: str | None = None


class PosteriorAnswer(BaseModel):
    """The most probable strings, the choice of each rule, and `mass`, the total probability of these strings."""

    model: str
    source: str
    candidates: list[Candidate]
    mass: float
    choices: list[Choice]


class ScoreRequest(StrictRequest):
    """Translations to score against references, and other translations to compare them with."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"outputs": ["the cat sat"], "references": ["a cat sat"], "metrics": ["bleu"]}]}
    )
    outputs: list[str] = Field(min_length=1)
    references: list[str] | list[list[str]] = Field(min_length=1, description="Lines, or several references' lines.")
    metrics: list[str] = Field(default=["bleu", "chrf"], min_length=1)
    others: list[str] | None = None
    language: str | None = Field(default=None, description="Of the translations; by default their script tells.")
    resamples: int = Field(default=1000, ge=0)
    seed: int = Field(default=0, ge=0, lt=2**63)


class MetricScore(BaseModel):
    """The score of a metric, for the whole text and for each line."""

    metric: str
    score: float | None
    interval: tuple[float, float] | None
    signature: str
    note: str | None = Field(default=None, description="Which tokeniser was chosen, and why, if none was named.")
    sentences: list[float | None]


class PairedComparison(BaseModel):
    """The better system, the difference, and its p-value."""

    metric: str
    signature: str
    better: Literal["outputs", "others"]
    difference: float
    p_bootstrap: float
    p_randomisation: float


class ScoreAnswer(BaseModel):
    """A score for each metric."""

    scores: list[MetricScore]
    others: list[MetricScore] | None = None
    comparisons: list[PairedComparison] | None = None


class ListsRequest(StrictRequest):
    """N-best lists as the text of a file."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"content": "0 ||| a cat ||| lm= -2 ||| -1\n"}]})
    content: str = Field(min_length=1, description="The text of an n-best file.")
    format: str | None = Field(default=None, description="One of the formats by name; by default what it looks like.")


class CandidateList(BaseModel):
    """The candidates of one sentence."""

    id: int | str
    candidates: list[Hypothesis]


class ListsAnswer(BaseModel):
    """Lists as they were read, and the names of all features."""

    format: str
    features: list[str]
    weights: Features = Field(description="Weights to begin with.")
    lists: list[CandidateList]


class RerankRequest(ListsRequest):
    """N-best lists, and weights to rerank them with."""

    weights: dict[str, FiniteFloat]


class RerankedList(BaseModel):
    """The candidates of one sentence in their new order, as indices of their old positions, and their scores."""

    id: int | str
    text: str
    order: list[int]
    scores: list[float]


class RerankAnswer(BaseModel):
    """The best candidate of each list, all lists in their new order, and the lists as a file of the same format."""

    format: str
    chosen: list[str]
    lists: list[RerankedList]
    content: str


class MbrRequest(ListsRequest):
    """N-best lists to choose from by minimum Bayes risk."""

    metric: str = "bleu"
    scale: FiniteFloat = Field(default=1.0, ge=0)
    weights_from: Literal["logprob", "score", "uniform"] | None = None


class MbrAnswer(BaseModel):
    """The candidate of each list that agrees most with the others."""

    chosen: list[str]


class FeatureInfo(BaseModel):
    """A feature that can be weighted: a dense one, or a prefix of sparse ones."""

    name: str
    group: str
    weight: float
    dense: bool


class ModelInfo(BaseModel):
    """A model of the service."""

    name: str
    kind: Literal["phrase", "chart"]
    source_language: str | None
    target_language: str | None
    features: list[FeatureInfo]
    needs_trees: bool
    normalises: bool = Field(description="Whether it is a normaliser's, for `normalise`.")
    weight_sets: list[str]
    set_weights: dict[str, Features] = Field(description="The weights of each set, for the same features.")


class DecisionInfo(BaseModel):
    """A decision rule."""

    name: str
    takes: list[EvidenceKind]
    options: dict[str, Any]


class ModelsAnswer(BaseModel):
    """All models, the default one first; decision rules, metrics and formats by name; and the limits."""

    models: list[ModelInfo]
    decisions: list[DecisionInfo]
    metrics: list[str]
    formats: list[str]
    limits: dict[str, float]


class RunInfo(BaseModel):
    """A tuning run or an experiment."""

    name: str
    kind: Literal["run", "experiment"]
    method: str | None = None
    metric: str | None = None
    signature: str | None = Field(default=None, description="How its scores are made.")
    higher_is_better: bool | None = None
    iterations: int | None = None
    best: float | None = None
    stopped: str | None = Field(default=None, description="Why it ended; none while it goes on, or after a kill.")
    report: bool = Field(default=False, description="Whether there is a page about it.")
    runs: list[str] | None = Field(default=None, description="An experiment's runs.")
    damaged: str | None = Field(default=None, description="What keeps it from being read; the rest is not known then.")


class RunsAnswer(BaseModel):
    """All runs and experiments of the folder."""

    runs: list[RunInfo]


class RunAnswer(RunInfo):
    """A run with its events and the weights after each iteration (the dense ones), and the best."""

    options: dict[str, Any]
    events: list[dict[str, Any]]
    weights: list[Features]
    best_weights: Features


class HealthAnswer(BaseModel):
    """The status of the service, and the lengths of its queues."""

    status: Literal["ok"]
    version: str
    models: list[str]
    waiting: int
    slow: int


class ErrorInfo(BaseModel):
    """The status of an error, and its message."""

    status: int
    message: str


class ErrorAnswer(BaseModel):
    """The shape of every error."""

    error: ErrorInfo
