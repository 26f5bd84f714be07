import shutil
import struct

import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.corpora.wesnoth import Wesnoth, clean_message, read_catalogue


def catalogue(messages, order="<"):
    """Write a gettext catalogue; a list stands for plural forms."""
    pairs = [("", "Content-Type: text/plain; charset=UTF-8\n"), *messages]
    texts = [["\0".join(t) if isinstance(t, list) else t for t in side] for side in zip(*pairs, strict=True)]
    start = 28 + 16 * len(pairs)
    tables, blob = b"", b""
    for text in [*texts[0], *texts[1]]:
        data = text.encode()
        tables += struct.pack(f"{order}2I", len(data), start + len(blob))
        blob += data + b"\0"
    head = struct.pack(f"{order}7I", 0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, start)
    return head + tables + blob


@pytest.mark.parametrize("order", ["<", ">"])
def test_read_catalogue(order):
    messages = [
        ("yes", "oui"),
        (["a unit", "units"], ["une unité", "des unités"]),
        (["x", "xs"], ["un", "deux", "trois"]),
    ]
    assert read_catalogue(catalogue(messages, order), "a.mo") == [
        ("yes", "oui"),
        ("a unit", "une unité"),
        ("units", "des unités"),
        ("x", "un"),
    ]


@pytest.mark.parametrize("data", [b"", b"PK\3\4", catalogue([("yes", "oui")])[:30], catalogue([("a", "b")])[:20]])
def test_a_damaged_catalogue_is_named(data):
    with pytest.raises(DataError, match=r"^a\.mo: is damaged; expected a gettext catalogue"):
        read_catalogue(data, "a.mo")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("female^Elvish Archer", "Elvish Archer"),
        ("context\x04Go", "Go"),
        ("<b>Bold</b> <span color='red'>move</span>", "Bold move"),
        ("See <ref>dst='unit_x' text='the orc\\'s axe'</ref>.", "See the orc's axe."),
        ("<header>text=Races</header><img>src=a.png</img>", "Races"),
        ("<italic>plain</italic> &lt;3", "plain <3"),
    ],
)
def test_clean_message(message, expected):
    assert clean_message(message) == expected


needs_dpkg = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb")


@pytest.fixture
def packages(make_package, tmp_path):
    def translated(package, word):
        return catalogue(
            [(f"Orc {n} {package}. Elf {n} {package}.", f"{word} {n} go. {word}s {n} no.") for n in range(20)]
            + [("Hello, $name|! Welcome back.", f"{word}, $name! {word} again."), ("Al,Be,Ce", "A,B,C")]
        )

    for version, package in (("1.14", "data"), ("1.16", "data"), ("1.16", "httt"), ("1.16", "music")):
        make_package(
            f"wesnoth-{version}-{package}",
            f"1:{version}.9-1",
            {
                f"usr/share/games/wesnoth/{version}/locale/{language}/LC_MESSAGES/wesnoth-{package}.mo": translated(
                    package, word + package
                )
                for language, word in (("fr", "Orque"), ("de", "Ork"))
            },
        )
    return tmp_path


@needs_dpkg
def test_build_takes_the_newest_version_and_leaves_variables_out(packages):
    manifest = Wesnoth(packages=packages, dev=5, test=5).build(packages / "out")
    assert [p.name for p in manifest.packages] == ["wesnoth-1.16-data", "wesnoth-1.16-httt"]
    # Two catalogues of twenty times two sentences and one more, without a variable.
    assert manifest.counts["gathered"] == 82
    english = (packages / "out/train.en").read_text().splitlines()
    assert not any("$" in line or "," in line for line in english)
    assert "Welcome back." in english


@needs_dpkg
def test_any_two_languages_meet_in_english(packages):
    material = Wesnoth(packages=packages, source="de", target="fr").gather()
    assert {(s.source.split()[0], s.target.split()[0]) for s in material.segments} >= {("Orkdata", "Orquedata")}
    assert all(s.source.replace("Ork", "Orque") == s.target for s in material.segments)


@needs_dpkg
def test_an_unknown_language_is_refused(packages):
    with pytest.raises(UsageError, match="no messages in 'tlh'"):
        Wesnoth(packages=packages, target="tlh").gather()


def test_no_packages_at_all(tmp_path):
    with pytest.raises(UsageError, match="no packages of Wesnoth"):
        Wesnoth(packages=tmp_path).gather()
