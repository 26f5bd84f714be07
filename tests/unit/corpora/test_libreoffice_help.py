import shutil

import pytest

from dragoman.core.errors import UsageError
from dragoman.corpora.libreoffice_help import LibreofficeHelp, read_page

PAGE = """<!DOCTYPE html><html lang="{lang}"><head><title>{lang}</title></head><body>
<div id="DisplayArea"><a name="x"></a><h1 id="hd_1"><a name="y"></a>{title}</h1>
<p id="par_1" class="paragraph">{first}
 <span class="emph">Ctrl</span></p>
<pre><code class="language-visual-basic">Sub {lang}()</code></pre><p id="par_2" class="code">{lang} = 1</p>
<div class="embedded"><p class="embedded">{title}</p></div><p id="par_3"><img alt="{lang}"></p>
<p id="par_{lang}">only {lang}</p></div></body></html>"""


def test_read_page():
    page = PAGE.format(lang="en", title="Cells &amp; rows", first="Press").encode()
    assert read_page(page) == {"hd_1": "Cells & rows", "par_1": "Press  Ctrl", "par_en": "only en"}


def test_the_default_of_system_dependent_text_is_taken():
    page = (
        '<p id="a">Press <span id="s" class="switchinline"><span hidden="true" id="MACx" class="MAC">'
        '<span class="keycode">Command</span></span><span hidden="true" id="defaultx"><span class="keycode">Ctrl'
        "</span></span></span>+F.<br>Go</p>"
    )
    assert read_page(page.encode()) == {"a": "Press Ctrl+F.\nGo"}


def test_an_unclosed_paragraph_ends_where_the_next_begins():
    assert read_page(b'<p id="a">one<p id="b">two <span>three</p> <h2>four</h2>') == {"a": "one", "b": "two three"}


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb")
def test_build_from_packages(tmp_path, make_package):
    for code, folder, words in (("fr", "fr", ("Les cellules", "Appuyez")), ("en-us", "en-US", ("Cells", "Press"))):
        pages = {
            f"usr/share/libreoffice/help/{folder}/text/scalc/{n}.html": PAGE.format(
                lang=folder, title=f"{words[0]} {n}", first=f"{n} {words[1]}. Calc {n}"
            )
            for n in range(20)
        }
        make_package(f"libreoffice-help-{code}", "4:7.4", pages | {f"usr/share/{code}/pic.html": "no page"})
    recipe = LibreofficeHelp(packages=tmp_path, dev=5, test=6)
    manifest = recipe.build(tmp_path / "out")
    assert [(p.name, p.version, p.licence) for p in manifest.packages] == [
        ("libreoffice-help-fr", "4:7.4", "MPL-2.0"),
        ("libreoffice-help-en-us", "4:7.4", "MPL-2.0"),
    ]
    # Of three sentences a page one is the same in both languages.
    assert manifest.counts["gathered"] == 60
    assert manifest.counts["untranslated"] == 20
    assert manifest.counts["train"] + manifest.counts["dev"] + manifest.counts["test"] == 40
    french, english = ((tmp_path / f"out/train.{side}").read_text().splitlines() for side in ("fr", "en"))
    assert [line.replace("Les cellules", "Cells").replace("Appuyez", "Press") for line in french] == english


def test_one_language_is_not_enough():
    with pytest.raises(UsageError, match="both 'fr'"):
        LibreofficeHelp(target="fr").gather()
