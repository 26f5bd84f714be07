"""Historical spelling and its modern form, word by word, in four languages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dragoman.corpora.archive import Archive, ArchiveFile

_REPOSITORY = "https://raw.githubusercontent.com/coastalcph/histnorm"
#: Files have moved from one commit to the other; each is named where it is known to be.
_SHA256 = {
    "d20398eb726f1cfcd9c5c48d37ab70de5ad4c400/datasets": {
        "german/german-ridges.dev.txt": "6d1c1df327c9c3a8f684b868d25fee50ee0eccb8d801a52bd0b7ff58132a0cee",
        "german/german-ridges.test.txt": "76201455f8983b6ea04c5286b48be7c9c1b5c7dc367c0e4d38c7c7fa54b265ba",
        "slovene/slovene-goo300k-bohoric.dev.txt": "f38caaa5b99aa3e2981563b205f389d91416eec6ab4952af4ddf6f6c7585792a",
        "spanish/spanish-ps18.train.txt": "d55fc936c5013db62a58a6567d0bdba4fa5854e2fbf99cd2d6f0c6a1d31acfdf",
        "spanish/spanish-ps18.test.txt": "40ce8288702a132ffecbbeafa00830321c24a56e0d3abe1f36de07fa561da472",
    },
    "963a87d9c62bde500ebec8757d73cd30c4e8c9d3/datasets/historical": {
        "german/german-ridges.train.txt": "ea2186b8bb5033a8b8e8485afe90ea4e3d54420ed019a6684706228c092ab985",
        "slovene/slovene-goo300k-bohoric.train.txt": "f4f06f39b0d3c67f493ce15a3b5af3e8832244ee9d9186b966f12d2ffb6cc9da",
        "slovene/slovene-goo300k-bohoric.test.txt": "f44fa4ec24da145716c642911caa31cfd06b1916b491e0f82305bfdb522261a9",
        "spanish/spanish-ps18.dev.txt": "c3d7380a48e1ca9140252aa078582498b14b0545d73e63d02eaa934d9ba73245",
        "swedish/swedish-gaw.train.txt": "3c48768af23c6e49a45973436a407dc6f23ec73c5e3869ad33d7b8cdf78b78c0",
        "swedish/swedish-gaw.dev.txt": "59bc7db7bd3ee2a5e765ede19c9a0bae4bd2f471f2dca0196b3a2af87c8e31d8",
        "swedish/swedish-gaw.test.txt": "afd5391121929b8a9a6eeac7e4cd5197c25dfcfb2712bc06743aeb04fdeed80e",
    },
    "963a87d9c62bde500ebec8757d73cd30c4e8c9d3/datasets/modern": {
        "combined.de.uniq": "459aacfb8d8fa8c6c56e80a8aac86062a909aa536416dd879bd137c320a356d2",
        "combined.es.uniq": "6e57ade4ad1ce9d1a173a83cc201528d1290e2c033dddb62a7dfc75cc7adef1d",
        "combined.sl.uniq": "3a421544ce2861e768bdee9c15e96b88fdd5469dd8ebf1b140a0a0003e113ee5",
        "combined.sv.uniq": "3223f5a8e86d1f99cb6782da91075a8af49b32375cef6039d360d353c6ceea60",
    },
}


def _name(path: str) -> str:
    published = path.rpartition("/")[2]
    return published.replace("combined", "modern").removesuffix(".uniq").removesuffix(".txt") + ".txt.gz"


@dataclass(frozen=True)
class HistNorm(Archive):
    """Words of German, Slovene, Spanish and Swedish texts with their modern spelling, and modern word lists.

    A line is a historical form, a tab and the modern form; an empty line ends a sentence. `modern.*` has a word per
    line. Published with Bollmann (2019), "A Large-Scale Comparison of Historical Text Normalization Systems".
    """

    name: ClassVar[str] = "histnorm"
    summary: ClassVar[str] = "Historical words and their modern spelling, German, Slovene, Spanish and Swedish"
    licence: ClassVar[str] = (
        "German: CC BY 3.0; Slovene: CC BY-SA 4.0; Spanish and Swedish: free for research; word lists: from Europarl"
        " and a parallel Bible corpus"
    )
    home: ClassVar[str] = "https://github.com/coastalcph/histnorm"
    files: ClassVar[tuple[ArchiveFile, ...]] = tuple(
        ArchiveFile(_name(path), sha256, (f"{_REPOSITORY}/{place}/{path}",))
        for place, files in _SHA256.items()
        for path, sha256 in files.items()
    )
