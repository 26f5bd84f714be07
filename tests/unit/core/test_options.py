import math
import pickle
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

import pytest

from dragoman.core.errors import UsageError
from dragoman.core.options import Options, option, parse_options


@dataclass(frozen=True)
class Sample(Options):
    passes: int = option(5, "passes over the data", minimum=1, maximum=9)
    rate: float = option(0.5, "how fast", minimum=0)
    quick: bool = option(False, "leave out the slow part")
    how: Literal["one", "two"] = option("one", "which way")
    maybe_how: Literal["one", "two"] | None = option(None, "which other way")
    limit: int | None = option(None, "no more than this", minimum=0)
    name: str = option("x", "what it is called")
    place: Path | None = option(None, "where it lies")


@dataclass(frozen=True)
class Preset(Sample):
    presets: ClassVar = {"quickest": {"passes": 1, "quick": True}}
    preset: Literal["quickest"] | None = option(None, "others in place of the defaults")


def test_a_preset_stands_behind_what_is_given_and_before_the_defaults():
    assert (Preset().passes, Preset(preset="quickest").passes, Preset(preset="quickest").quick) == (5, 1, True)
    assert Preset(preset="quickest", passes=5).passes == Preset(5, preset="quickest").passes == 5
    given = parse_options(Preset, ["preset=quickest", "quick=false"])
    assert (given.passes, given.quick) == (1, False)
    for made in (Preset.from_dict(given.to_dict()), replace(given, rate=0.5), pickle.loads(pickle.dumps(given))):
        assert made == given
    with pytest.raises(UsageError, match="preset is 'slowest'; expected one of quickest"):
        Preset(preset="slowest")


def test_defaults_and_values_that_are_set():
    assert Sample().to_dict() == {"passes": 5, "rate": 0.5, "quick": False, "how": "one", "name": "x"}
    options = Sample.from_dict({"passes": 2, "limit": 0, "maybe_how": "two", "place": "here", "rate": 1})
    assert (options.passes, options.limit, options.maybe_how, options.place) == (2, 0, "two", Path("here"))
    assert Sample.from_dict(options.to_dict()) == options


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"passes": 0}, "passes is 0; expected at least 1"),
        ({"passes": 10}, "passes is 10; expected at most 9"),
        ({"passes": "5"}, "passes is '5'; expected int"),
        ({"passes": 2.5}, "passes is 2.5; expected int"),
        ({"passes": True}, "passes is True; expected int"),
        ({"passes": None}, "passes is missing"),
        ({"rate": -0.1}, "rate is -0.1; expected at least 0"),
        ({"rate": math.nan}, "rate is nan; expected a finite number"),
        ({"rate": math.inf}, "rate is inf; expected a finite number"),
        ({"rate": "fast"}, "rate is 'fast'; expected float"),
        ({"quick": 1}, "quick is 1; expected bool"),
        ({"how": "three"}, "how is 'three'; expected one of one, two"),
        ({"how": None}, "how is missing"),
        ({"maybe_how": "three"}, "maybe_how is 'three'; expected one of one, two"),
        ({"limit": -1}, "limit is -1; expected at least 0"),
        ({"limit": "many"}, "limit is 'many'; expected int"),
        ({"name": 3}, "name is 3; expected str"),
        ({"place": 3}, "place is 3; expected Path"),
        (
            {"colour": "red"},
            "unknown option 'colour'; known are how, limit, maybe_how, name, passes, place, quick, rate",
        ),
    ],
)
def test_values_that_make_no_sense(values, message):
    with pytest.raises(UsageError) as error:
        Sample.from_dict(values)
    assert str(error.value) == message


def test_help_and_bounds_are_kept_for_the_command_line():
    field = Sample.__dataclass_fields__["passes"]
    assert dict(field.metadata) == {"help": "passes over the data", "minimum": 1, "maximum": 9}


def test_paths_on_a_command_line():
    assert parse_options(Sample, ["place=some/where"]).place == Path("some/where")
    assert parse_options(Sample, ["name=some/where"]).name == "some/where"
