"""The benchmarks' copy of the dialogue of The Battle for Wesnoth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dragoman.corpora.archive import Archive, ArchiveFile

_SHA256 = {
    "train.de-en.de.gz": "21b1ab5fb20a42dc3cea58d36ff180deaf68b49da529b1820f553e0336467a54",
    "train.de-en.en.gz": "da57b1631df9eacb25f9cd78a2fefbb62b4f217ea7c3e967163d9463b364248b",
    "dev.de-en.de.gz": "52560cab73d5d76b6c0723d775e16719df1fb1b8b4e8819d53646e4a8aa979cf",
    "dev.de-en.en.gz": "2e4c3c0fd8c0fcafeb1d4ffa9adb27d15789efc30397dd83303599c280051273",
    "test.de-en.de.gz": "4f4c6cdd3c2af0444844fda8ae1755ec560f3054c7c85c9d4fc2128a1697103b",
    "test.de-en.en.gz": "370b9197579025129f83ed255dff0fb60b16628b45f1229468a4931687419596",
    "train.fr-en.fr.gz": "047eb1f4f03e0b65fc1dbae7c8bb8891d4dfe448fe6e1be92518edc696aebe41",
    "train.fr-en.en.gz": "0a708b5b1529a28af57c44a4ae53c41ac17884e1e43bb78045e21d6f71814062",
    "dev.fr-en.fr.gz": "c313178a0b0644f605a231109143f489abd28bce1fae1c264ee42e0c86315c3f",
    "dev.fr-en.en.gz": "1f9010da0f082855ae586ead0a5522b718e5f2b80ddaa71b26bd4b747a35704b",
    "test.fr-en.fr.gz": "59bda195b13592ee46752c9b97bf6fade4c930430966770b68c4fcd72ddec914",
    "test.fr-en.en.gz": "f2723e7636eef1f702d68ad663508b6bd4968d54510ac63093229984f308898f",
}


@dataclass(frozen=True)
class WesnothTokenised(Archive):
    """German-English and French-English pairs from Debian's packages `wesnoth-1.16-*`, tokenised and lower-cased.

    The published figures were measured on this selection. It has no public address: it comes from a folder or a
    mirror. The recipe `wesnoth` with `tokenised=true` makes a similar corpus from the packages: it has most of
    these pairs, some others, and another split.
    """

    name: ClassVar[str] = "wesnoth-tokenised"
    summary: ClassVar[str] = (
        "The Battle for Wesnoth as the benchmarks use it: de-en and fr-en, tokenised and lower-cased; not on the web"
    )
    licence: ClassVar[str] = "GPL-2.0-or-later"
    home: ClassVar[str] = "https://www.wesnoth.org"
    files: ClassVar[tuple[ArchiveFile, ...]] = tuple(ArchiveFile(*item) for item in _SHA256.items())
    recipe: ClassVar[str | None] = "wesnoth"
