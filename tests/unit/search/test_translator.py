"""How lines become batches."""

from hypothesis import given, strategies as st

from dragoman.search.translator import batches


@given(st.lists(st.integers(0, 12)), st.integers(1, 5), st.integers(1, 20))
def test_batches_are_the_lines_in_order(lengths, sentences, words):
    lines = [" ".join(["w"] * length) for length in lengths]
    found = list(batches(iter(lines), sentences=sentences, words=words, longest=10))
    assert [line for batch in found for line in batch] == lines
    for batch in found:
        sizes = [len(line.split()) for line in batch]
        assert 0 < len(batch) <= sentences
        assert sum(sizes[:-1]) < words
        assert max(sizes) <= 10 or len(batch) == 1
