"""The pages that the site has besides the files of docs/, and links between all of them."""

import json
import logging
from types import SimpleNamespace

import pytest

pytest.importorskip("mkdocs", reason="the site needs the extra 'docs'")

import build_site


def turned(markdown, page):
    config = SimpleNamespace(docs_dir=str(build_site.ROOT / "docs"))
    there = SimpleNamespace(file=SimpleNamespace(src_uri=page))
    return build_site.on_page_markdown(markdown, there, config, None)


@pytest.mark.parametrize(
    ("page", "before", "after"),
    [
        ("index.md", "[all](docs/tutorial.md#8-decision-rules)", "[all](tutorial.md#8-decision-rules)"),
        ("index.md", "![one](docs/images/derivation.svg)", "![one](images/derivation.svg)"),
        ("index.md", "see [them](benchmarks/RESULTS.md).", "see [them](results/index.md)."),
        ("index.md", "under [Apache](LICENSE)", "under Apache"),
        ("results/index.md", "[Search](results/search.md)", "[Search](search.md)"),
        ("results/search.md", "[it](../../docs/theory/search.md)", "[it](../theory/search.md)"),
        ("theory/tuning.md", "[it](../../benchmarks/results/tuning.md#files)", "[it](../results/tuning.md#files)"),
        ("theory/tuning.md", "[it](learners.md), [here](#top)", "[it](learners.md), [here](#top)"),
        ("tutorial.md", "[far](https://example.org/a.md)", "[far](https://example.org/a.md)"),
        ("index.md", "`[no](LICENSE)`\n\n    [no](LICENSE)\n\n```\n[no](LICENSE)\n```\n", None),
    ],
)
def test_links_between_files_become_links_between_pages(caplog, page, before, after):
    assert turned(before, page) == (after or before)
    assert caplog.records == []


def test_a_link_to_a_file_that_is_not_there_is_a_warning(caplog):
    with caplog.at_level(logging.WARNING):
        turned("[gone](src/gone.py)", "index.md")
    assert caplog.messages == ["README.md links to src/gone.py, which does not exist"]


def test_a_folder_stands_for_its_pages_in_the_order_of_its_index():
    texts = {
        "a/index.md": "# All\n[two](two.md) [more](deep/index.md) [one](one.md#part) [far](https://example.org/x.md)",
        "a/one.md": "",
        "a/two.md": "",
        "a/zero.md": "",
        "a/deep/index.md": "# Deep down",
        "a/deep/last.md": "",
        "b.md": "",
    }
    inside = ["a/index.md", "a/two.md", {"Deep down": ["a/deep/index.md", "a/deep/last.md"]}, "a/one.md", "a/zero.md"]
    assert list(build_site._expanded({"All": "a/"}, texts)) == [{"All": inside}]
    assert list(build_site._expanded({"B": "b.md"}, texts)) == [{"B": "b.md"}]
    assert list(build_site._expanded({"None": "notebooks/"}, texts)) == []


def test_formulas_become_mathml():
    page = r'<p>If <span class="arithmatex">\(p &lt; 1\)</span></p><div class="arithmatex">\[\sum_e p(e)\]</div>'
    made = build_site.on_page_content(page, None, None, None)
    assert made.count("<math") == 2
    assert 'display="block"' in made
    assert "<mo>&#x0003C;</mo>" in made
    assert "arithmatex" not in made


def test_a_notebook_is_a_page_with_its_pictures(tmp_path):
    pytest.importorskip("nbconvert")
    picture = {"data": {"image/svg+xml": "<svg/>"}, "metadata": {}, "output_type": "display_data"}
    cells = [
        {"cell_type": "markdown", "id": "a", "metadata": {}, "source": "# A first look\n\nOf words."},
        {
            "cell_type": "code",
            "id": "b",
            "metadata": {},
            "execution_count": 1,
            "outputs": [{"output_type": "stream", "name": "stdout", "text": "three\n"}, picture],
            "source": "print('three')",
        },
    ]
    language = {"language_info": {"name": "python"}}
    path = tmp_path / "first-look.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": language, "nbformat": 4, "nbformat_minor": 5}))
    made = build_site._notebook(path)
    page = made.pop("notebooks/first-look.md")
    assert page.startswith("# A first look\n\n[The notebook itself](first-look.ipynb)\n")
    assert "```python\nprint('three')\n```" in page
    assert "    three\n" in page
    ((name, data),) = made.items()
    assert data == b"<svg/>"
    assert f"]({name.removeprefix('notebooks/')})" in page
