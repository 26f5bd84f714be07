"""One name means one thing: public classes and functions are defined in one module, and file names occur once."""

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "dragoman"

#: Names with the same meaning in several modules, and the reason why they are defined in each.
ALLOWED = {
    "register": "each module of commands adds its own to the command line",
    "routes": "each module of the service adds its own",
    "check_scores": "phrase-based and chart search check a batch alike",
    "edge_features": "phrase-based and chart search each compute those of their edges",
    "hypergraph": "phrase-based and chart search each build one of a sentence",
}

#: Folders whose modules have the names of what they offer to users.
FRONTS = {"cli", "front", "serve"}

#: File names of several folders, and the reason.
ALLOWED_FILES = {
    "batch.py": "batches of sentences in each kind of search, and of hypergraphs",
    "extract.py": "extraction of phrase pairs, and of rules",
    "method.py": "the interface of tuning methods, and SampleRank, a folder of its own",
    "moses.py": "Moses' n-best lists, and Moses' models",
    "phrase_table.py": "the file of a table, and the table at run time",
    "space.py": "the interface of a sampler's space, and one for each kind of model",
    "translator.py": "the interface of translators, and one for each kind of model",
}


def homes_of_names():
    """Return the modules that define each public class or function."""
    homes = defaultdict(set)
    for file in PACKAGE.rglob("*.py"):
        for node in ast.parse(file.read_text("utf-8")).body:
            is_definition = isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            if is_definition and not node.name.startswith("_"):
                homes[node.name].add(str(file.relative_to(PACKAGE)))
    return homes


def test_public_names_are_defined_once():
    several = {name: sorted(files) for name, files in homes_of_names().items() if len(files) > 1}
    assert {name: files for name, files in several.items() if name not in ALLOWED} == {}
    assert set(several) == set(ALLOWED), "an exception that is no longer needed"


def test_file_names_occur_once():
    folders = defaultdict(set)
    for file in PACKAGE.rglob("*.py"):
        folder = file.relative_to(PACKAGE).parent
        if file.name != "__init__.py" and folder.parts[:1] not in {(front,) for front in FRONTS}:
            folders[file.name].add(str(folder))
    several = {name: sorted(found) for name, found in folders.items() if len(found) > 1}
    assert {name: found for name, found in several.items() if name not in ALLOWED_FILES} == {}
    assert set(several) == set(ALLOWED_FILES), "an exception that is no longer needed"
