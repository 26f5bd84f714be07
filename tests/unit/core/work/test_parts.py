"""Work on parts: the same results in the same order, and all that was said, whoever works."""

from dragoman.core.progress import Remembered
from dragoman.core.work.parts import PartWork, parts_at_once
from dragoman.core.work.workers import ThreadWorkers
from oracles.elsewhere import Elsewhere


class Doubling(PartWork[int]):
    def of(self, part, threads, progress):
        with progress.stage("doubling"):
            progress.note(f"{part} with {threads}")
        return 2 * part


def test_parts_are_worked_on_in_order_and_what_is_said_is_heard():
    for workers, threads in ((ThreadWorkers(3), 3), (Elsewhere(3), 1)):
        heard = Remembered()
        assert [*Doubling().each([3, 1, 2], workers, 3, heard)] == [6, 2, 4]
        assert heard._said == [("note", f"{part} with {threads}") for part in (3, 1, 2)]


def test_workers_elsewhere_have_several_parts_at_once():
    assert parts_at_once(ThreadWorkers(8)) == 1
    assert parts_at_once(Elsewhere(3)) > 3
