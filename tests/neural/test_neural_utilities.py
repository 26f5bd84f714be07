"""Neural metrics with tiny random models that their own libraries build, save and load; nothing is downloaded."""

import json
import os
import subprocess
import sys

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


class TestScoresOfTexts:
    """Neural metrics in `score`, `compare` and as the goal of tuning."""

    def test_the_score_is_the_mean_and_the_signature_says_of_what(self, comet, tmp_path):
        metric = f"comet:model={comet}"
        expected = utility_of(metric).score(HYPOTHESES, REFERENCES, SOURCES)
        found = dm.score(HYPOTHESES, REFERENCES, metric, sources=SOURCES, cache=tmp_path / "scores")
        assert found.value == pytest.approx(float(np.mean(expected)), abs=1e-6)
        assert found.sentences == pytest.approx(expected, abs=1e-6)
        assert "comet|nrefs:1|model:model@" in found.signature
        assert "|lib:unbabel-comet-2." in found.signature
        assert "|version:dragoman-" in found.signature
        compared = dm.compare({"a": HYPOTHESES, "b": REFERENCES}, REFERENCES, metric, sources=SOURCES, trials=100)
        assert compared.systems[0]["score"] == pytest.approx(found.value, abs=1e-6)
        assert 0 < compared.pairs[0]["p_randomisation"] <= 1

    def test_a_quality_estimate_scores_without_references(self, quality_estimate):
        metric = f"comet:model={quality_estimate}"
        expected = utility_of(metric).score(HYPOTHESES, [""] * 4, SOURCES)
        assert dm.score(HYPOTHESES, metric=metric, sources=SOURCES).value == pytest.approx(np.mean(expected), abs=1e-6)

    def test_the_command_keeps_scores_in_its_cache(self, comet, tmp_path, monkeypatch, capsys):
        from dragoman.cli.main import main

        for name, lines in (("out", HYPOTHESES), ("ref", REFERENCES), ("src", SOURCES)):
            (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
        monkeypatch.chdir(tmp_path)
        printed = []
        line = [
            "score",
            "--reference",
            "ref",
            "--source",
            "src",
            "-m",
            f"comet:model={comet}",
            "--cache",
            "kept",
            "out",
        ]
        for repeated in range(2):
            if repeated:  # the second time, no model is asked
                monkeypatch.setattr(Comet, "score", None)
            monkeypatch.setattr("sys.argv", ["dragoman", *line, "--json"])
            with pytest.raises(SystemExit) as ended:
                main()
            assert not ended.value.code
            printed.append(json.loads(capsys.readouterr().out))
        expected = dm.score(HYPOTHESES, REFERENCES, f"comet:model={comet}", sources=SOURCES, cache=tmp_path / "kept")
        assert printed[0] == printed[1]
        assert printed[0][0]["score"] == pytest.approx(expected.value, abs=1e-6)

    def test_lists_are_tuned_to_a_neural_metric(self, comet):
        lists = [["the cat sat", "a dog", "le chat"], ["the dog ran", "a cat", "dog"]]
        metric, sources, references = f"comet:model={comet}", ["le chat", "chien"], ["the cat sat", "the dog"]
        texts = [text for some in lists for text in some]
        scores = utility_of(metric).score(texts, np.repeat(references, 3).tolist(), np.repeat(sources, 3).tolist())
        features = {"right": scores, "wrong": -scores + [0.1, 0, 0, 0.1, 0, 0]}
        weights = dm.tune_reranker(lists, references, metric=metric, sources=sources, features=features, progress=False)
        best = [some[int(scores[3 * i : 3 * i + 3].argmax())] for i, some in enumerate(lists)]
        assert dm.rerank(lists, weights, features=features) == best

    def test_commands_with_two_threads_end(self, comet, tmp_path):
        """Processes of their own, as users start them: nothing forks beside PyTorch's threads."""
        rows = [
            {"id": i, "src": source, "hyps": [{"text": text, "logprob": -1.0} for text in HYPOTHESES if text]}
            for i, source in enumerate(SOURCES)
        ]
        (tmp_path / "lists").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (tmp_path / "ref").write_text("".join(f"{line}\n" for line in REFERENCES))
        metric, lists = f"comet:model={comet}", ["--candidates", "lists", "--format", "jsonl"]
        shared = ["--cache", "kept", "--threads", "2"]
        tune = [*lists, "--reference", "ref", "--utility-feature", f"agreement={metric}", "--length", "--out", "w"]
        commands = [
            ["mbr", *lists, "--utility", metric, "--estimator", "pruned", "--check", "2", *shared],
            ["rerank", "tune", *tune, "--metric", f"0.5*bleu+50*comet(model={comet})", "--folds", "2", *shared],
            ["rerank", "apply", *lists, "--weights", "w"],
        ]
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
        for command in commands:
            done = subprocess.run(
                [sys.executable, "-W", "ignore", "-c", "from dragoman.cli.main import main; main()", *command],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=600,
            )
            assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) == len(SOURCES)
