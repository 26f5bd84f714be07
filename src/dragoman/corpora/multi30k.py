"""Multi30k: image captions in English, German and French."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dragoman.corpora.archive import Archive, ArchiveFile

_URL = (
    "https://raw.githubusercontent.com/multi30k/dataset/7bee46bc74186b4b6254603143610f730d40bf66"
    "/data/task1/tok/{}.lc.norm.tok.{}"
)
_SHA256 = {
    ("train", "en"): "08925f8e0572bcd5a006702fc5fe20e2d77c6917d4eebd576fc20de6693c2119",
    ("train", "de"): "cb5a23529b65ec2061f1dc446192a9c37382b63cc75f81a0be59d34894b3a505",
    ("train", "fr"): "8fa41bb718412bcb7c5dfa58603842810a01543eae86a51279f9886b901266e1",
    ("val", "en"): "46573ce391ae227f1c72f873392436a20ef18e0a6d518098cfbd70b77c8572ec",
    ("val", "de"): "97232bd273eceb7207f689527386a97e4be2616b18ada47576bdaf96c8ae1f00",
    ("val", "fr"): "b303e301aa21fe7822a846b2b3fb2d5a1121ec807cd5b1d006fb7b2b5507168a",
    ("test_2016_flickr", "en"): "5b7f32627cf99eced828311b955dae9800bb52bc8b91cf8b6526829e605b29d2",
    ("test_2016_flickr", "de"): "c6a33d39d48f9f510de147651316cd9d918e09ad0219df734a2f16b6baccacc4",
    ("test_2016_flickr", "fr"): "1463bd5960f9bfe098ec3cd752d3df0c49c84dc646fb518964a29232658cd836",
    ("test_2017_mscoco", "en"): "fe69ae004d71c42ead0301e70c57de5b1b6b5fb7f52210d42b22801e98e656f3",
    ("test_2017_mscoco", "de"): "e2825990b8a4e5289d2cdba801d57c187810bab9b4f5d87a30c35800a0d871b6",
    ("test_2017_mscoco", "fr"): "0b6a4620f02b6b9acf7811fda23f90fed9c6baa0b96aa224db50a273078c84d1",
}


@dataclass(frozen=True)
class Multi30k(Archive):
    """Task 1 of Multi30k: captions of photographs, translated by people; tokenised and lower-cased.

    29,000 sentences to train on, 1,014 to tune on (`val`), and two test sets: 1,000 of the same source
    (`test_2016_flickr`) and 461 of another one (`test_2017_mscoco`). Elliott et al. (2016), "Multi30K: Multilingual
    English-German Image Descriptions".
    """

    name: ClassVar[str] = "multi30k"
    summary: ClassVar[str] = "Multi30k (image captions), English, German and French, tokenised and lower-cased"
    licence: ClassVar[str] = "no licence stated; published for research; captions of Flickr30k and MS COCO"
    home: ClassVar[str] = "https://github.com/multi30k/dataset"
    files: ClassVar[tuple[ArchiveFile, ...]] = tuple(
        ArchiveFile(f"{part}.{language}.gz", sha256, (_URL.format(part, language),))
        for (part, language), sha256 in _SHA256.items()
    )
