"""From a model that really generates, through a file, to a choice and its scores."""

import json

import pytest

import dragoman as dm

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

pytestmark = pytest.mark.filterwarnings("ignore")

SOURCES = ["le chat dort", "un chien court", "la maison est grande"]
REFERENCES = ["the cat sleeps", "a dog runs", "the house is large"]


@pytest.fixture(scope="module")
def generator(tmp_path_factory):
    """A random translation model over bytes, saved and loaded again."""
    folder = tmp_path_factory.mktemp("t5")
    torch.manual_seed(1)
    config = transformers.T5Config(
        vocab_size=384,
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=1,
        num_heads=2,
        decoder_start_token_id=0,
    )
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
    return transformers.T5ForConditionalGeneration.from_pretrained(folder).eval(), transformers.ByT5Tokenizer()


def generate(generator, **settings):
    model, tokenizer = generator
    torch.manual_seed(2)
    batch = tokenizer(SOURCES, return_tensors="pt", padding=True)
    return model.generate(
        **batch, max_new_tokens=8, num_return_sequences=6, return_dict_in_generate=True, output_scores=True, **settings
    )


@pytest.mark.parametrize("settings", [{"num_beams": 6}, {"do_sample": True}])
def test_lists_of_transformers(generator, tmp_path, settings):
    found = generate(generator, **settings)
    tokenizer = generator[1]
    texts = tokenizer.batch_decode(found.sequences, skip_special_tokens=True)
    path = tmp_path / "test.hf.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for i in range(len(SOURCES)):
            row = {"id": i, "translation_text": texts[6 * i : 6 * i + 6]}
            if "num_beams" in settings:
                row["sequences_scores"] = found.sequences_scores[6 * i : 6 * i + 6].tolist()
            print(json.dumps(row), file=file)
    chosen = dm.mbr(path, utility="chrf", weights_from="uniform")
    assert len(chosen) == 3
    for i, text in enumerate(chosen):
        assert " ".join(text.split()) in {" ".join(one.split()) for one in texts[6 * i : 6 * i + 6]}
    assert dm.score(chosen.texts, REFERENCES, "chrf").value >= 0


def test_samples_in_memory_keep_their_white_space(generator):
    found = generate(generator, do_sample=True)
    texts = generator[1].batch_decode(found.sequences, skip_special_tokens=True)
    lists = [texts[6 * i : 6 * i + 6] for i in range(len(SOURCES))]
    chosen = dm.mbr(lists, utility="chrf", estimator="pruned")
    assert all(text in row for text, row in zip(chosen, lists, strict=True))


def test_lists_of_ctranslate2(tmp_path):
    ctranslate2 = pytest.importorskip("ctranslate2")
    from ctranslate2.converters import TransformersConverter

    folder = tmp_path / "marian"
    pieces = ["<pad>", "</s>", "<unk>", "▁le", "▁chat", "▁the", "▁cat", "s", "▁a"]
    torch.manual_seed(3)
    config = transformers.BartConfig(
        vocab_size=len(pieces),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=32,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=1,
        decoder_start_token_id=1,
        forced_eos_token_id=1,
        normalize_before=False,
        normalize_embedding=True,
        add_final_layer_norm=False,
    )
    transformers.BartForConditionalGeneration(config).save_pretrained(folder)
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel

    words = Tokenizer(WordLevel({piece: i for i, piece in enumerate(pieces)}, unk_token="<unk>"))
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="</s>", bos_token="</s>", unk_token="<unk>"
    ).save_pretrained(folder)
    TransformersConverter(str(folder)).convert(str(tmp_path / "ct2"), quantization="float32")
    translator = ctranslate2.Translator(str(tmp_path / "ct2"), device="cpu")
    results = translator.translate_batch(
        [["▁le", "▁chat", "</s>"]] * 2, beam_size=4, num_hypotheses=4, return_scores=True, max_decoding_length=5
    )
    path = tmp_path / "test.ct2.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for result in results:
            print(json.dumps({"hypotheses": result.hypotheses, "scores": result.scores}), file=file)
    chosen = dm.mbr(path, utility="chrf")
    assert len(chosen) == 2
    assert len(chosen.nbest(3)[0]) >= 1


def test_samples_that_lm_evaluation_harness_logs(tmp_path):
    loggers = pytest.importorskip("lm_eval.loggers", exc_type=ImportError)
    responses = [["the cat sleeps", "the cat sleep", "dogs"], ["a dog", "a dog runs", "a dog ran"]]
    samples = [
        {
            "doc_id": i,
            "doc": {"fr": source},
            "target": target,
            "arguments": [(f"{source} =", {"until": ["\n"], "do_sample": True})],
            "resps": [answers],
            "filtered_resps": [answers[0]],
            "filter": "none",
            "metrics": ["chrf"],
            "doc_hash": "",
            "prompt_hash": "",
            "target_hash": "",
        }
        for i, (source, target, answers) in enumerate(zip(SOURCES, REFERENCES, responses, strict=False))
    ]
    tracker = loggers.EvaluationTracker(output_path=str(tmp_path))
    tracker.general_config_tracker.model_name_sanitized = "tiny"
    tracker.date_id = "now"
    tracker.save_results_samples("translate", samples)
    (path,) = tmp_path.rglob("samples_translate_*.jsonl")
    chosen = dm.mbr(path, utility="chrf")
    assert chosen == ["the cat sleeps", "a dog ran"]
    assert dm.score(chosen.texts, REFERENCES[:2], "chrf").value > 50
