"""Add what the site has besides the files in this folder: the reference, notebooks, pages from elsewhere, formulas.

These are hooks of MkDocs. Links are written as the repository has them, `../benchmarks/RESULTS.md`, so that they work
there too; here each becomes a link to the page that was made of the file. One to a file that is not there is a warning,
and so the end of a strict build.

Formulas are written in TeX between dollars, which GitHub renders by itself. Here they become MathML during the build,
which browsers draw without scripts or fonts, so that pages work offline and nothing is fetched.
"""

from __future__ import annotations

import functools
import html
import logging
import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from generate_reference import pages
from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
_LOG = logging.getLogger("mkdocs.hooks.build_site")
# Code is looked for first, so that what looks like a link in it is none.
_LINK = re.compile(
    r"^```.*?^```|^    [^\n]*|`+[^`]+`+|(?P<text>!?\[[^\]]*\])\((?P<to>[^)\s]+)\)", re.DOTALL | re.MULTILINE
)
# What the extension arithmatex makes of formulas.
_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Let a folder in the navigation stand for its pages."""
    texts = _texts(Path(config.docs_dir))
    config.nav = [item for entry in config.nav or [] for item in _expanded(entry, texts)]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in this folder."""
    for name, content in _made(Path(config.docs_dir)).items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links between files of the repository into links between pages."""
    here = page.file.src_uri
    if here.startswith("reference/"):
        return markdown
    origin = _elsewhere().get(here, ROOT / "docs" / here)
    uris = {path.resolve(): uri for uri, path in _elsewhere().items()}

    def turned(match: re.Match[str]) -> str:
        to = match["to"]
        if to is None or re.match(r"[a-z]+:|#", to):
            return match[0]
        file, mark, anchor = to.partition("#")
        path = (origin.parent / file).resolve()
        uri = uris.get(path)
        if uri is None and path.is_relative_to(config.docs_dir):
            uri = path.relative_to(config.docs_dir).as_posix()
        if uri is not None:  # whether there is such a page is for MkDocs to say
            return f"{match['text']}({posixpath.relpath(uri, posixpath.dirname(here) or '.')}{mark}{anchor})"
        if not path.exists():
            _LOG.warning(f"{origin.relative_to(ROOT)} links to {to}, which does not exist")
        return match["text"].strip("[]")

    return _LINK.sub(turned, markdown)


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn formulas from TeX into MathML."""
    return _FORMULA.sub(
        lambda found: _mathml(html.unescape(found[2]).strip(), "inline" if found[1] == "span" else "block"), content
    )


def _mathml(formula: str, display: str) -> str:
    made = convert(formula, display=display)
    made = made.replace('<mo stretchy="false">&#x0007C;', '<mo stretchy="false" lspace="0" rspace="0">&#x0007C;')
    return re.sub(r"(<mi>(?:log|ln|max)</mi>)(?!<mo)", r'\1<mspace width="0.17em"/>', made)  # as TeX sets them


def _elsewhere() -> dict[str, Path]:
    """The pages that are files of the repository outside of this folder."""
    results = {f"results/{path.name}": path for path in sorted((ROOT / "benchmarks" / "results").glob("*.md"))}
    papers = {f"reproduction/{path.parent.name}.md": path for path in sorted((ROOT / "reproduction").glob("*/page.md"))}
    drawn = sorted((ROOT / "reproduction").glob("*/*.svg"))
    pictures = {f"reproduction/{path.parent.name}/{path.name}": path for path in drawn}
    return {
        "index.md": ROOT / "README.md",
        "changelog.md": ROOT / "CHANGELOG.md",
        "contributing.md": ROOT / "CONTRIBUTING.md",
        "results/index.md": ROOT / "benchmarks" / "RESULTS.md",
        **results,
        "reproduction/index.md": ROOT / "reproduction" / "README.md",
        **papers,
        **pictures,
    }


@functools.cache
def _made(docs: Path) -> dict[str, str | bytes]:
    made: dict[str, str | bytes] = {f"reference/{name}": text for name, text in pages().items()}
    made |= {uri: path.read_text(encoding="utf-8") for uri, path in _elsewhere().items()}
    for path in sorted((docs / "notebooks").glob("*.ipynb")):
        made |= _notebook(path)
    return made


def _notebook(path: Path) -> dict[str, str | bytes]:
    """A notebook as a page, with the pictures that it shows."""
    from nbconvert import MarkdownExporter

    text, resources = MarkdownExporter().from_filename(str(path))
    pictures = {f"notebooks/{path.stem}/{name}": data for name, data in resources["outputs"].items()}
    for name in resources["outputs"]:
        text = text.replace(f"]({name})", f"]({path.stem}/{name})")
    title, _, rest = text.strip().partition("\n")
    return {f"notebooks/{path.stem}.md": f"{title}\n\n[The notebook itself]({path.name})\n{rest}", **pictures}


def _texts(docs: Path) -> dict[str, str]:
    """All pages of the site, by their names."""
    written = {path.relative_to(docs).as_posix(): path.read_text(encoding="utf-8") for path in docs.rglob("*.md")}
    return written | {
        name: text for name, text in _made(docs).items() if isinstance(text, str) and name.endswith(".md")
    }


def _expanded(entry: Any, texts: Mapping[str, str]) -> Iterator[Any]:
    title, target = next(iter(entry.items())) if isinstance(entry, dict) else (None, entry)
    if not str(target).endswith("/"):
        yield entry
    elif members := list(_members(target, texts)):
        yield {title: members}


def _members(folder: str, texts: Mapping[str, str]) -> Iterator[Any]:
    """The pages of a folder: the index, what it links to in its order, and the others in that of their names."""
    inside = sorted(name for name in texts if name.startswith(folder))
    index = f"{folder}index.md"
    linked = [posixpath.normpath(folder + to) for to in re.findall(r"\]\(([^)#:]+\.md)", texts.get(index, ""))]
    if folder == "results/":  # whose index lies beside the folder
        linked = [name.replace("results/results/", "results/") for name in linked]
    if folder == "reproduction/":  # where each paper has a folder
        linked = [name.replace("/page.md", ".md") for name in linked]
    for name in dict.fromkeys([index, *linked, *inside]):
        rest = name.removeprefix(folder)
        if name not in inside or (rest.count("/") and not rest.endswith("/index.md")):
            continue
        if rest.count("/"):
            title = texts[name].partition("\n")[0].removeprefix("# ")
            yield {title: list(_members(f"{folder}{posixpath.dirname(rest)}/", texts))}
        else:
            yield name
