"""Neural metrics with tiny random models that their own libraries build, save and load; nothing is downloaded."""

import json

import numpy as np
import pytest

import dragoman as dm
from dragoman.core.errors import UsageError
from dragoman.metrics.neural.bertscore import BertScore
from dragoman.metrics.neural.bleurt import Bleurt
from dragoman.metrics.neural.comet import Comet
from dragoman.metrics.neural.metricx import MetricX
from dragoman.metrics.pair_scores import PairScorer
from dragoman.metrics.utility import EmbeddingUtility, utility_of

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

pytestmark = pytest.mark.filterwarnings("ignore")

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "le", "chat", "chien"]
HYPOTHESES = ["the cat sat", "a dog", "", "the dog ran the cat"]
REFERENCES = ["the cat sat", "the cat", "a dog", "a cat"]
SOURCES = ["le chat", "chien", "le", "le chien"]


def bert(folder, **settings):
    """A random encoder with its tokenizer."""
    folder.mkdir()
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(pieces),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        **settings,
    )
    transformers.BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return bert(tmp_path_factory.mktemp("encoder") / "bert")


def comet_checkpoint(folder, encoder, kind, identifier):
    """A checkpoint as the library writes it, with a random head."""
    import yaml

    settings = {
        "encoder_model": "BERT",
        "pretrained_model": str(encoder),
        "nr_frozen_epochs": 0,
        "keep_embeddings_frozen": True,
        "layer": "mix",
        "pool": "avg",
        "hidden_sizes": [8],
        "dropout": 0.0,
        "final_activation": None,
    }
    torch.manual_seed(2)
    model = kind(**settings, load_pretrained_weights=False, local_files_only=True)
    (folder / "checkpoints").mkdir(parents=True)
    torch.save(
        {"state_dict": model.state_dict(), "hyper_parameters": settings, "pytorch-lightning_version": "2.0.0"},
        folder / "checkpoints" / "model.ckpt",
    )
    (folder / "hparams.yaml").write_text(yaml.dump({**settings, "class_identifier": identifier}))
    return folder


@pytest.fixture(scope="module")
def comet(tmp_path_factory, encoder):
    models = pytest.importorskip("comet.models")
    folder = tmp_path_factory.mktemp("comet") / "model"
    return comet_checkpoint(folder, encoder, models.RegressionMetric, "regression_metric")


@pytest.fixture(scope="module")
def quality_estimate(tmp_path_factory, encoder):
    models = pytest.importorskip("comet.models")
    folder = tmp_path_factory.mktemp("kiwi") / "model"
    return comet_checkpoint(folder, encoder, models.ReferencelessRegression, "referenceless_regression_metric")


class TestComet:
    def test_scores_are_those_of_the_library(self, comet):
        from comet import load_from_checkpoint

        model = load_from_checkpoint(str(comet / "checkpoints" / "model.ckpt"), local_files_only=True)
        rows = [
            {"src": source, "mt": hypothesis, "ref": reference}
            for source, hypothesis, reference in zip(SOURCES, HYPOTHESES, REFERENCES, strict=True)
        ]
        expected = model.predict(rows, batch_size=4, gpus=0, progress_bar=False, num_workers=0).scores
        found = Comet(model=str(comet)).score(HYPOTHESES, REFERENCES, SOURCES)
        assert found == pytest.approx(expected, abs=1e-5)
        assert len({*np.round(found, 6).tolist()}) == 4

    @pytest.mark.parametrize("size", [1, 3])
    def test_batches_do_not_matter(self, comet, size):
        whole = Comet(model=str(comet)).score(HYPOTHESES, REFERENCES, SOURCES)
        assert Comet(model=str(comet), batch_size=size).score(HYPOTHESES, REFERENCES, SOURCES) == pytest.approx(
            whole, abs=1e-5
        )

    def test_embeddings_give_the_same_scores(self, comet):
        utility = Comet(model=str(comet))
        assert isinstance(utility, EmbeddingUtility)
        embedded = [utility.embed(texts) for texts in (HYPOTHESES, REFERENCES, SOURCES)]
        expected = utility.score(HYPOTHESES, REFERENCES, SOURCES)
        assert utility.score_embedded(*embedded) == pytest.approx(expected, abs=1e-4)

    def test_a_model_without_references_is_a_quality_estimate(self, quality_estimate):
        utility = Comet(model=str(quality_estimate))
        assert not utility.needs_reference
        scorer = PairScorer(utility)
        scorer.score(["the cat"] * 3, ["a", "b", "c"], ["le chat"] * 3)
        assert scorer.calls == 1

    def test_mbr_from_a_file(self, comet, tmp_path):
        path = tmp_path / "lists.jsonl"
        path.write_text(
            json.dumps({"id": 0, "src": "le chat", "hyps": [{"text": text} for text in HYPOTHESES if text]}) + "\n"
        )
        utility = f"comet:model={comet}"
        exact = dm.mbr(path, utility=utility, weights_from="uniform")
        texts = [text for text in HYPOTHESES if text]
        pairs = utility_of(utility).score(*zip(*[(a, b, "le chat") for a in texts for b in texts], strict=True))
        assert exact == [texts[int(np.reshape(pairs, (3, 3)).mean(axis=1).argmax())]]
        cache = tmp_path / "scores.sqlite"
        calls = [dm.mbr(path, utility=utility, weights_from="uniform", cache=cache).report.calls for _ in range(2)]
        assert calls == [9, 0]
        averaged = dm.mbr(path, utility=utility, weights_from="uniform", estimator="aggregated")
        assert averaged.report.calls == 3

    def test_another_model_has_another_signature(self, comet, quality_estimate):
        assert Comet(model=str(comet)).signature() != Comet(model=str(quality_estimate)).signature()

    def test_a_missing_model_is_one_sentence(self, comet, tmp_path):
        with pytest.raises(UsageError, match="cannot load the model"):
            Comet(model=str(tmp_path / "nothing")).score(["a"], ["b"], ["c"])


class TestBertScore:
    def test_equal_strings_score_highest(self, encoder):
        pytest.importorskip("bert_score")
        utility = BertScore(model=str(encoder), layers=2)
        found = utility.score(["the cat sat", "a dog ran"], ["the cat sat", "the cat sat"], ["", ""])
        assert found[0] == pytest.approx(1.0, abs=1e-5)
        assert found[1] < found[0]


class TestBleurt:
    def test_pairs_are_scored(self, tmp_path):
        library = pytest.importorskip("bleurt_pytorch")
        from bleurt_pytorch.bleurt.tokenization_bleurt_fast import BleurtTokenizerFast

        folder = tmp_path / "bleurt"
        folder.mkdir()
        pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
        (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
        BleurtTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
        config = library.BleurtConfig(
            vocab_size=len(pieces), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
        )
        torch.manual_seed(3)
        library.BleurtForSequenceClassification(config).save_pretrained(folder)
        utility = Bleurt(model=str(folder), max_length=64)
        one = utility.score(HYPOTHESES, REFERENCES, SOURCES)
        assert np.isfinite(one).all()
        assert Bleurt(model=str(folder), max_length=64, batch_size=1).score(
            HYPOTHESES, REFERENCES, SOURCES
        ) == pytest.approx(one, abs=1e-4)


class TestMetricX:
    @pytest.fixture
    def model(self, tmp_path_factory):
        folder = tmp_path_factory.mktemp("metricx")
        tokenizer = transformers.ByT5Tokenizer()
        torch.manual_seed(4)
        config = transformers.MT5Config(
            vocab_size=400,
            d_model=16,
            d_kv=8,
            d_ff=16,
            num_layers=1,
            num_decoder_layers=1,
            num_heads=2,
            decoder_start_token_id=0,
        )
        transformers.MT5ForConditionalGeneration(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    def test_the_utility_is_a_negative_error(self, model):
        found = MetricX(model=str(model)).score(HYPOTHESES, REFERENCES, SOURCES)
        assert (found <= 0).all()
        assert (found >= -25).all()

    def test_quality_estimation_does_not_read_references(self, model):
        utility = MetricX(model=str(model), reads="source")
        assert not utility.needs_reference
        assert utility.needs_source
        one, other = (utility.score(HYPOTHESES, [text] * 4, SOURCES) for text in ("a", "b"))
        assert np.array_equal(one, other)
