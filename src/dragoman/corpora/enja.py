"""English and Japanese sentences of the Tanaka corpus: a distant pair of languages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dragoman.corpora.archive import Archive, ArchiveFile

_URL = (
    "https://raw.githubusercontent.com/odashi/small_parallel_enja/bc6f160498e5f97a286ff679173e7f6ba9321d9f"
    "/train.{}.{:03}"
)
#: First and last line of each part in the published training text.
_LINES = {"train": (1, 48_000), "val": (48_001, 49_000), "test": (49_001, 50_000)}
_SHA256 = {
    ("train", "en"): "a50af33f384bf49a79a7d34d45919a560c58098ef253f5b76c023df0b58cbb11",
    ("train", "ja"): "2e881fad3c41c653dfdff2cded64f9dd902b71f3e2c13bea4d9e2ba34e51d70c",
    ("val", "en"): "7220f204b0a4adcda716a15ec8364b88de888792f0b329ad13dd36493b9dcc42",
    ("val", "ja"): "e88eba1390850d9ef44758278b16c7553eb40021b3f64b0c1690e1d22ed9de25",
    ("test", "en"): "33371b47488141737c81559604fe0a519c9428d115c66d0058939cc97a27969a",
    ("test", "ja"): "bc9ca8f23ad4caacc1c3b5e8541347dded5ce61d6dfb02aacfad053c7aafa1c0",
}


@dataclass(frozen=True)
class EnJa(Archive):
    """50,000 pairs of 4 to 16 words from the Tanaka corpus, as selected and tokenised by `small_parallel_enja`.

    `train` has the first 48,000 pairs of its training text, `val` the next 1,000 and `test` the last 1,000; its own two
    small held-out sets are not used. Some English words are split in an unusual way (`don 't`).
    """

    name: ClassVar[str] = "enja"
    summary: ClassVar[str] = "Tanaka corpus (everyday sentences), English and Japanese, tokenised and lower-cased"
    licence: ClassVar[str] = "CC BY (Tanaka corpus)"
    home: ClassVar[str] = "https://github.com/odashi/small_parallel_enja"
    files: ClassVar[tuple[ArchiveFile, ...]] = tuple(
        ArchiveFile(
            f"{part}.{language}.gz", sha256, tuple(_URL.format(language, number) for number in range(5)), *_LINES[part]
        )
        for (part, language), sha256 in _SHA256.items()
    )
