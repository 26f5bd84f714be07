"""Old names of flags, keys and keyword arguments work in this version, with a warning that names the new ones."""

import dataclasses
import inspect
import warnings

import pytest
import typer

import dragoman as dm
from dragoman.cli.main import build_app
from dragoman.core.errors import UsageError, version
from dragoman.core.options import (
    RENAMED,
    RENAMED_IN_PACKAGE,
    Options,
    accept_old_names,
    current_names,
    parse_options,
    split_options,
)
from dragoman.core.progress import DragomanWarning
from dragoman.evaluation.experiments import plan
from dragoman.front.normalisation import Normaliser
from dragoman.serve.limits import Limits
from dragoman.tuning.methods.samplerank.method import SampleRank
from dragoman.tuning.runs.loop import Loop
from dragoman.tuning.runs.validator import Validation

#: Options by the old names that they had.
OPTIONS = {
    (cls, old): field
    for cls in (Limits, Loop, SampleRank, Validation)
    for old, new in RENAMED.items()
    for field in dataclasses.fields(cls)
    if field.name == new
}


#: Values of options that have no default.
_VALUES = {"judge_every": 5, "judge_samples": 7, "judge_evidence": "nbest", "links": "out.txt"}


def commands(command, *names):
    """All commands by their names."""
    if not hasattr(command, "list_commands"):
        yield " ".join(names), command
        return
    for name in command.list_commands(None):
        yield from commands(command.get_command(None, name), *names, name)


#: Commands and flags by the old flags that they had.
FLAGS = {
    (name, f"--{old.replace('_', '-')}"): (command, option)
    for name, command in commands(typer.main.get_command(build_app()))
    for old, new in RENAMED.items()
    for option in command.params
    if f"--{new.replace('_', '-')}" in option.opts and f"--{old.replace('_', '-')}" not in option.opts
}


def test_every_old_name_is_the_name_of_something():
    of_functions = {"most"} & RENAMED.keys()
    assert "limit" in inspect.signature(Normaliser.suggest).parameters
    of_plans = {old for old, new in RENAMED.items() if new in plan._KEYS}
    of_flags = {flag.removeprefix("--").replace("-", "_") for _, flag in FLAGS}
    assert {old for _, old in OPTIONS} | of_flags | of_functions | of_plans == set(RENAMED)


def test_no_new_name_is_an_old_one():
    assert not RENAMED.keys() & set(RENAMED.values())


def test_they_are_dropped_in_time():
    assert tuple(map(int, version().split(".")[:2])) < (0, 3), "drop dragoman.core.options.RENAMED"


@pytest.mark.parametrize(("cls", "old"), OPTIONS, ids=lambda part: getattr(part, "__name__", part))
def test_options_take_old_names(cls, old):
    field = OPTIONS[cls, old]
    value = _VALUES.get(old, field.default)
    for made in (
        lambda: cls(**{old: value}),
        lambda: cls.from_dict({old: value}),
        lambda: parse_options(cls, [f"{old.replace('_', '-')}={value}"]),
        lambda: cls.from_dict(split_options({old: value}, cls, Options)[0]),
    ):
        with pytest.warns(DragomanWarning, match=f"^{old} is now called {field.name}; .* dropped in version 0.3$"):
            assert getattr(made(), field.name) == value


@pytest.mark.parametrize(("name", "flag"), FLAGS)
def test_commands_take_old_flags(capsys, name, flag):
    command, option = FLAGS[name, flag]
    new = next(opt for opt in option.opts if opt.startswith("--"))
    value = str(_VALUES.get(flag.removeprefix("--").replace("-", "_"), option.default))
    for arguments in ([flag, value], [f"{flag}={value}"]):
        found = command.make_context(name, arguments, resilient_parsing=True).params[option.name]
        assert str(found) == value
        expected = f"warning: {flag} is now called {new}; the old name will be dropped in version 0.3"
        assert expected in " ".join(capsys.readouterr().err.split())


def test_plans_take_old_tables():
    with pytest.warns(DragomanWarning, match="course is now called validation"):
        assert current_names({"course": {}}, plan._KEYS) == {"validation": {}}


def test_functions_take_old_keywords():
    @accept_old_names
    def first(words, limit=1):
        return words[:limit]

    with pytest.warns(DragomanWarning, match="most is now called limit"):
        assert first("abc", most=2) == "ab"
    assert first("abc", limit=2) == "ab"


def test_the_same_option_is_not_given_twice():
    for made in (Loop.from_dict, lambda values: Loop(**values)):
        with pytest.raises(UsageError, match="found largest_turn and max_angle, which are the same option"):
            made({"largest_turn": 10.0, "max_angle": 20.0})


def test_an_old_name_takes_precedence_over_a_preset():
    with pytest.warns(DragomanWarning, match="largest_turn is now called max_angle"):
        assert Loop(preset="schuth", largest_turn=12.0).max_angle == 12.0


def test_constructors_refuse_other_names():
    with pytest.raises(TypeError, match="unexpected keyword argument 'smallest_turn'"):
        Loop(smallest_turn=10.0)


def test_constructors_have_the_signature_of_their_fields():
    assert list(inspect.signature(Loop).parameters) == [field.name for field in dataclasses.fields(Loop)]


@pytest.mark.parametrize(("old", "new"), RENAMED_IN_PACKAGE.items())
def test_the_package_has_old_names(monkeypatch, old, new):
    monkeypatch.delitem(vars(dm), old, raising=False)
    with pytest.warns(DeprecationWarning, match=f"^{old} is now called {new}; .* dropped in version 0.3$") as warned:
        exec(f"from dragoman import {old}")  # asks for the name twice
    assert [one.filename for one in warned] == ["<string>"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert getattr(dm, old) is getattr(dm, new)
    assert old not in dir(dm)


def test_names_that_the_package_never_had_are_unknown():
    with pytest.raises(AttributeError, match="no attribute 'RisklessResult'"):
        dm.RisklessResult  # noqa: B018
