"""What every class of options promises, whoever wrote it: found through the package, not listed here."""

import dataclasses
import importlib
import pkgutil
import typing
from typing import Literal

import pytest

import dragoman
from dragoman.core.errors import UsageError
from dragoman.core.options import Options, format_toml


def every_options_class():
    for module in pkgutil.walk_packages(dragoman.__path__, "dragoman."):
        if not module.name.endswith("._kernels"):
            importlib.import_module(module.name)
    found, waiting = {}, [Options]
    while waiting:
        for cls in waiting.pop().__subclasses__():
            if cls.__module__.startswith("dragoman."):
                found[f"{cls.__module__}.{cls.__qualname__}"] = cls
            waiting.append(cls)
    return found


OPTIONS = every_options_class()
#: Those that are made of options alone; a `UtilityMetric` is made of a utility, a `SumMetric` of terms.
CONCRETE = {
    name: cls
    for name, cls in OPTIONS.items()
    if not getattr(cls, "__abstractmethods__", None) and cls.__qualname__ not in ("UtilityMetric", "SumMetric")
}


def test_there_are_some():
    assert {"dragoman.training.phrase_model.PhraseModel", "dragoman.training.align.hmm.Hmm"} <= CONCRETE.keys()


@pytest.mark.parametrize("name", OPTIONS)
def test_each_field_says_what_it_is_for(name):
    for field in dataclasses.fields(OPTIONS[name]):
        text = field.metadata["help"]
        assert text.strip() == text != "", field.name
        assert not text.endswith("."), field.name  # the command line makes sentences of them


@pytest.mark.parametrize("name", OPTIONS)
def test_each_class_says_what_it_is(name):
    assert (OPTIONS[name].__doc__ or "").strip()
    assert not OPTIONS[name].__doc__.startswith(f"{OPTIONS[name].__name__}(")  # what dataclasses write by themselves
    assert OPTIONS[name].__dataclass_params__.frozen


@pytest.mark.parametrize("name", CONCRETE)
def test_defaults_are_valid_and_come_back_from_a_mapping(name):
    cls = CONCRETE[name]
    options = cls()
    assert cls.from_dict(options.to_dict()) == options
    assert hash(options) == hash(cls())
    assert format_toml(options.to_dict()) == format_toml(cls.from_dict(options.to_dict()).to_dict())


@pytest.mark.parametrize("name", CONCRETE)
def test_bounds_hold(name):
    cls = CONCRETE[name]
    hints = typing.get_type_hints(cls)
    for field in dataclasses.fields(cls):
        for bound, beyond in (("minimum", -1), ("maximum", 1)):
            limit = field.metadata.get(bound)
            if limit is None:
                continue
            kind = float if float in (hints[field.name], *typing.get_args(hints[field.name])) else int
            cls.from_dict({field.name: kind(limit)})
            with pytest.raises(UsageError, match=rf"^{field.name} is "):
                cls.from_dict({field.name: kind(limit + beyond)})


@pytest.mark.parametrize("name", CONCRETE)
def test_choices_hold(name):
    cls = CONCRETE[name]
    hints = typing.get_type_hints(cls)
    for field in dataclasses.fields(cls):
        if typing.get_origin(hints[field.name]) is not Literal:
            continue
        for choice in typing.get_args(hints[field.name]):
            assert getattr(cls.from_dict({field.name: choice}), field.name) == choice
        with pytest.raises(UsageError, match="expected one of"):
            cls.from_dict({field.name: "no such thing"})


@pytest.mark.parametrize("name", CONCRETE)
def test_unknown_options_are_refused(name):
    with pytest.raises(UsageError, match="unknown option 'no_such_thing'"):
        CONCRETE[name].from_dict({"no_such_thing": 1})
