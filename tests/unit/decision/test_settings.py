import pytest

from dragoman.core.errors import DataError
from dragoman.decision.mbr import Mbr
from dragoman.decision.settings import Decision
from dragoman.sampling.schedule import Sampling


def test_how_samples_are_drawn_is_kept_in_the_file(tmp_path):
    file = tmp_path / "decision.toml"
    sampled = Decision(Mbr(), "samples", sampling=Sampling(samples=20, temperature=0.25))
    file.write_text(sampled.format({"scale": 4.0}))
    assert Decision.of(str(file)) == sampled
    assert Decision.of(str(file), evidence="nbest").sampling is None
    assert Decision.of("mbr", evidence="samples").sampling is None


def test_bad_options_of_samples_are_refused_with_the_file(tmp_path):
    file = tmp_path / "decision.toml"
    file.write_text('rule = "mbr"\nevidence = "samples"\n[sampling]\nheat = 3\n')
    with pytest.raises(DataError, match=r"decision\.toml: .*heat"):
        Decision.of(str(file))
