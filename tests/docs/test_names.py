"""One name means one thing: a public class or function of the package is defined in one module."""

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
