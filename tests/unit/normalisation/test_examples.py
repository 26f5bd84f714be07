import pytest

from dragoman.core.errors import DataError
from dragoman.core.progress import Progress
from dragoman.core.runtime import Runtime
from dragoman.normalisation.examples import Examples, Spelling, read_examples


class Listener(Progress):
    def __init__(self):
        self.said = []

    def note(self, text):
        self.said.append(text)

    def warn(self, text):
        self.said.append(text)


def read(folder, text, spelling=Spelling(), progress=None):
    (folder / "e.tsv").write_text(text, encoding="utf-8")
    return read_examples([folder / "e.tsv"], spelling, runtime=Runtime(progress=progress or Progress()))


def test_words_are_prepared_as_in_the_study(tmp_path):
    text = (
        "Vnd\tund\n,\t,\nAnno 1642\tAnno 1642\n17\tsiebzehn\nwu\u0308st\tW\u00fcst\n\njn\t\n\tx\nzu ruck\tzur\u00fcck\n"
    )
    found = read(tmp_path, text)
    assert found.tokens == (
        ("vnd", "und"),
        ("anno 0000", "anno 0000"),
        ("17", "siebzehn"),
        ("w\u00fcst", "w\u00fcst"),
        ("zu ruck", "zur\u00fcck"),
    )
    assert found.bounds == (0, 4, 5)
    as_it_is = Spelling(lowercase=False, unicode="as-is", digits=False, punctuation=True)
    kept = read(tmp_path, text, as_it_is).tokens
    assert [*kept[:3]] == [("Vnd", "und"), (",", ","), ("Anno 1642", "Anno 1642")]
    assert ("wu\u0308st", "W\u00fcst") in kept


def test_cells_in_quotation_marks_are_taken_out_of_them(tmp_path):
    found = read(tmp_path, '"vnd"\t"und"\n"jn"\tihn\n"""a"\t"b"\t"note"\n')
    assert found.tokens == (("vnd", "und"), ('"jn"', "ihn"), ('"a', "b"))


def test_a_line_without_a_tab_is_refused_by_its_number(tmp_path):
    with pytest.raises(DataError, match=r"e\.tsv:2: found one column, 'jn in'; expected a historical form, a tab"):
        read(tmp_path, "vnd\tund\njn in\n")


def test_a_slip_among_many_lines_is_left_out_with_a_warning(tmp_path):
    listener = Listener()
    assert len(read(tmp_path, "vnd\tund\n" * 30 + "jn in\n", progress=listener)) == 30
    assert [text.partition(": ")[2] for text in listener.said] == [
        "1 lines are left out: one column only, the first of them line 31"
    ]


def test_what_is_left_out_or_odd_is_counted(tmp_path):
    listener = Listener()
    text = f"den\tden\nden\tdenn\nden\tden\nvnd\tund\n.\t.\n\tx\n{'a' * 201}\tb\n\u0440\u0430\u0443\tpay\np\u0430\tpa\n"
    assert len(read(tmp_path, text, progress=listener)) == 6
    assert listener.said == [
        "1 lines are left out: a form is empty",
        "1 lines are left out: a form longer than 200 characters",
        "1 lines are left out: no letters or digits",
        "1 of 4 forms have more than one modern form, such as den: den (2), denn (1)",
        "1 forms mix scripts (CYRILLIC/LATIN): letters that look alike?",
    ]


def test_parts_keep_their_sentences():
    examples = Examples(tuple((str(i), str(i)) for i in range(6)), (0, 2, 5, 6))
    assert examples.first(3, 1).bounds == (0, 1, 3)
    assert examples.first(9, 4).bounds == (0, 1, 2)
    left = examples.without(1, 3)
    assert ([old for old, _ in left.tokens], left.bounds) == (["0", "3", "4", "5"], (0, 1, 3, 4))
    assert Examples.of([]).bounds == (0,)
