import sys
from importlib.metadata import EntryPoint

import pytest

from dragoman.core import options as registry_module
from dragoman.core.errors import UsageError
from dragoman.core.options import Registry


@pytest.fixture
def colours(tmp_path, monkeypatch):
    package = tmp_path / "colours_for_test"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "base.py").write_text("class Colour:\n    name: str\n")
    (package / "red.py").write_text(
        "from colours_for_test.base import Colour\n"
        "class Red(Colour):\n    name = 'red'\n"
        "class Shade(Red):\n    pass\n"
        "class Other:\n    name = 'other'\n"
    )
    (package / "blue.py").write_text("from colours_for_test.red import Red\nclass Blue(Red):\n    name = 'blue'\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield package
    for name in [name for name in sys.modules if name.startswith("colours_for_test")]:
        del sys.modules[name]


def registry_of_colours():
    from colours_for_test.base import Colour

    return Registry("colour", "colours_for_test", Colour)


def test_a_new_file_is_all_it_takes(colours):
    registry = registry_of_colours()
    assert registry.names() == ["blue", "red"]
    assert registry.get("blue").__name__ == "Blue"


def test_unknown_names_are_answered_with_the_known_ones(colours):
    with pytest.raises(UsageError, match="no colour is called 'green'; there are blue, red"):
        registry_of_colours().get("green")


def test_other_packages_add_theirs_through_entry_points(colours, monkeypatch, tmp_path):
    (tmp_path / "colours_for_test_green.py").write_text(
        "from colours_for_test.base import Colour\nclass Green(Colour):\n    name = 'green'\n"
    )
    entry = EntryPoint("green", "colours_for_test_green:Green", "dragoman.colour")
    asked = []
    monkeypatch.setattr(registry_module, "entry_points", lambda group: asked.append(group) or [entry])
    assert registry_of_colours().names() == ["blue", "green", "red"]
    assert asked == ["dragoman.colour"]


def test_two_classes_of_one_name_are_refused(colours, monkeypatch, tmp_path):
    (tmp_path / "colours_for_test_red.py").write_text(
        "from colours_for_test.base import Colour\nclass Crimson(Colour):\n    name = 'red'\n"
    )
    entry = EntryPoint("red", "colours_for_test_red:Crimson", "dragoman.colour")
    monkeypatch.setattr(registry_module, "entry_points", lambda group: [entry])
    with pytest.raises(UsageError, match=r"two colours are called 'red': colours_for_test\.red\.Red and .*\.Crimson;"):
        registry_of_colours().names()


def test_parts_are_of_a_type_and_bring_entry_points_of_their_own(colours, monkeypatch, tmp_path):
    from colours_for_test.blue import Blue

    (tmp_path / "colours_for_test_navy.py").write_text(
        "from colours_for_test.blue import Blue\nclass Navy(Blue):\n    name = 'navy'\n"
    )
    entry = EntryPoint("navy", "colours_for_test_navy:Navy", "dragoman.cold_colour")
    monkeypatch.setattr(registry_module, "entry_points", lambda group: [entry] if group == entry.group else [])
    whole = registry_of_colours()
    cold = whole.part("cold_colour", Blue)
    assert whole.names() == ["blue", "navy", "red"]
    assert cold.names() == ["blue", "navy"]
    assert whole.parts == [cold]
    assert cold.get("navy") is whole.get("navy")
    with pytest.raises(UsageError, match="no cold_colour is called 'red'; there are blue, navy"):
        cold.get("red")
