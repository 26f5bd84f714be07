"""The benchmarks' copy of LibreOffice's help pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dragoman.corpora.archive import Archive, ArchiveFile

_SHA256 = {
    "train.de-en.de.gz": "5211ec18ef645eb4d9ccccb3dccf98a9faa60fa8625e445a16bb6a04238eb1e8",
    "train.de-en.en.gz": "438bcd98ee0f47fe8546cfd5e19a6b384f92285c02ee5d99cc72cc64bd663615",
    "dev.de-en.de.gz": "7d98ada8f8939894bda912e27e38c6de923dc704f8c5f93d1125d278a3028074",
    "dev.de-en.en.gz": "a2692609ceba14d190e0069ea79933f2a41a8ad564352e21c06c37dc44374ebd",
    "test.de-en.de.gz": "b6afe6605523a59d2cc1ea8eb966a018a71433910419a831848f8250ed5445f6",
    "test.de-en.en.gz": "2e3aefb9df067a2820564aa12686ef3526cb2307e65001a3c245a11fc84fc5f0",
    "train.fr-en.fr.gz": "1a72f8ab64f66e756b390a04d0bd92e004c5cc9fc1f55a7fabc5ca7c040b5c22",
    "train.fr-en.en.gz": "43bd7de77e3ec9cf886243fb8856d3d481935db522dfc00cb193dd0cb8d8e157",
    "dev.fr-en.fr.gz": "1b15f2bb488e3223e2c189b5adc9ee6df9685c2c5ad0677038a741223041ff42",
    "dev.fr-en.en.gz": "cf1122772240c832b249659b3cfbeb6830c7d16be61943756634a82ac733fea2",
    "test.fr-en.fr.gz": "16003f31194eed50037cf22b2d52a4e0ae7fe42f233e830e8bf8923d06eda9b9",
    "test.fr-en.en.gz": "6aea1a7f76df1355a86d65ff90af917bc2f863f9a9d96b34e0def549e3bfce40",
}


@dataclass(frozen=True)
class LibreofficeTokenised(Archive):
    """German-English and French-English pairs from Debian's packages `libreoffice-help-*`, tokenised and lower-cased.

    The published figures were measured on this selection. It has no public address: it comes from a folder or a
    mirror. The recipe `libreoffice-help` with `tokenised=true` makes a similar corpus from the packages: it has most of
    these pairs, some others, and another split.
    """

    name: ClassVar[str] = "libreoffice-tokenised"
    summary: ClassVar[str] = (
        "LibreOffice help pages as the benchmarks use them: de-en and fr-en, tokenised and lower-cased; not on the web"
    )
    licence: ClassVar[str] = "MPL-2.0"
    home: ClassVar[str] = "https://www.libreoffice.org"
    files: ClassVar[tuple[ArchiveFile, ...]] = tuple(ArchiveFile(*item) for item in _SHA256.items())
    recipe: ClassVar[str | None] = "libreoffice-help"
