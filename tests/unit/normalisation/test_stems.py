import sys

import pytest

from dragoman.core.errors import UsageError
from dragoman.normalisation.lexicon import stemmer


def test_each_word_is_cut():
    pytest.importorskip("snowballstemmer")
    assert stemmer("german")("gute h\u00e4user") == "gut haus"
    with pytest.raises(UsageError, match="no stemmer for 'latin'; expected one of arabic"):
        stemmer("latin")


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "snowballstemmer", None)
    with pytest.raises(UsageError, match="pip install 'dragoman"):
        stemmer("german")
