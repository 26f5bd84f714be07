"""One text raw and prepared, with translations of it, and what sacreBLEU says of them."""

from sacrebleu.metrics import BLEU

REFERENCES = {
    "raw": [
        '"It\'s a great day," said Mr. Brown, who had 3,000 men (and one dog).',
        "The cat sat on the mat; the dog didn't.",
        "Where is the old house, please?",
        "We saw it in 1990, on the well-known beach.",
    ],
    "prepared": [
        "&quot; it &apos;s a great day , &quot; said mr. brown , who had 3,000 men ( and one dog ) .",
        "the cat sat on the mat ; the dog didn &apos;t .",
        "where is the old house , please ?",
        "we saw it in 1990 , on the well @-@ known beach .",
    ],
}
OUTPUTS = {
    "raw": [
        '"This is a great day", said Mr. Brown, who had 3,000 men (and a dog).',
        "The cat sat on the mat; a dog didn't.",
        "Where is the old house?",
        "We saw it in 1990, at the well-known beach!",
    ],
    "prepared": [
        "&quot; this is a great day &quot; , said mr. brown , who had 3,000 men ( and a dog ) .",
        "the cat sat on the mat ; a dog didn &apos;t .",
        "where is the old house ?",
        "we saw it in 1990 , at the well @-@ known beach !",
    ],
}
TOKENISERS = {"raw": "13a", "prepared": "none"}


def sacrebleu_of(kind: str) -> float:
    """BLEU of the translations, raw with the default of sacreBLEU, prepared without a tokeniser."""
    metric = BLEU() if kind == "raw" else BLEU(tokenize="none", force=True)
    return metric.corpus_score(OUTPUTS[kind], [REFERENCES[kind]]).score
