"""`dragoman methods`: what can be chosen by name, and what its options are."""

import dataclasses
from typing import get_args

import pytest

from dragoman.cli.methods import KindName
from dragoman.cli.shell.flags import KINDS


def test_every_kind_can_be_asked_for():
    assert get_args(KindName) == tuple(KINDS)


def test_all_are_listed_with_a_line_about_each(dragoman):
    lines = dragoman("methods", "list").out.splitlines()
    for kind in KINDS.values():
        for name in kind.registry.names():
            assert any(line.split()[:1] == [name] and len(line.split()) > 2 for line in lines), name
    few = dragoman("methods", "list", "metric").out
    assert "\nbleu " in few
    assert "mert" not in few


@pytest.mark.parametrize("kind", KINDS)
def test_each_is_shown_with_its_options(dragoman, kind):
    registry = KINDS[kind].registry
    for name in registry.names():
        shown = dragoman("methods", "show", name, "--kind", kind)
        assert (shown.code, shown.err) == (0, "")
        assert shown.out.startswith(f"{name}: {KINDS[kind].title}\n")
        rows = {line.split()[0]: line for line in shown.out.partition("\nOptions\n")[2].splitlines() if line.strip()}
        for field in dataclasses.fields(registry.get(name)):
            assert field.metadata["help"].split()[0] in rows[field.name]


def test_values_and_defaults_are_told(dragoman):
    shown = " ".join(dragoman("methods", "show", "mert").out.split())
    assert "Minimum error rate training (Och 2003)." in shown
    assert "restarts int >= 0 20 random starts besides the given one" in shown
    assert "moves cyclic|best cyclic " in shown
    assert "normalise bool true " in shown


def test_names_that_do_not_exist(dragoman):
    assert (
        "nothing is called 'mrt'; expected a name of `dragoman methods list`" in dragoman("methods", "show", "mrt").err
    )
    assert "no metric is called 'mert'" in dragoman("methods", "show", "mert", "--kind", "metric").err


def test_a_wrong_option_says_where_to_look(dragoman, model, toy, tmp_path):
    files = ["--source", toy.source, "--reference", toy.source, "--out", tmp_path / "run"]
    result = dragoman("tune", "--model", model, *files, "--method", "mert", "--method-option", "restart=3")
    assert result.code == 2
    assert "(see `dragoman methods show mert`)" in result.err
