"""Workers that share what they find: who knows what when, whatever the threads do."""

import threading
import time

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.runtime import Runtime
from dragoman.tuning.optimise.online import ParallelLearners, even_queue


class Log:
    """Remembers all batches of each worker, and what it knew when it looked for something."""

    def __init__(self, count, *, share=True, delays=None):
        self.batches = [[] for _ in range(count)]
        self.delays = delays
        self.at_once = self.busy = 0
        self.lock = threading.Lock()
        self.workers = ParallelLearners(count, self.find, self.learn, share=share)

    def find(self, worker, sentence):
        with self.lock:
            self.busy += 1
            self.at_once = max(self.at_once, self.busy)
        if self.delays is not None:
            time.sleep(self.delays[sentence])
        with self.lock:
            self.busy -= 1
        return (sentence, len(self.batches[worker]))

    def learn(self, worker, batch):
        self.batches[worker].append([sentence for sentence, _ in batch])
        for sentence, known in batch:
            assert known <= len(self.batches[worker]), sentence


def test_a_worker_learns_from_its_own_and_what_the_others_found_at_the_step_before():
    log = Log(3)
    log.workers.run([10, 11, 12, 20, 21, 22, 30, 31])
    assert log.batches == [
        [[10], [20, 11, 12], [30, 21, 22], [31]],
        [[11], [21, 10, 12], [31, 20, 22], [30]],
        [[12], [22, 10, 11], [20, 21, 30, 31]],
    ]


def test_without_sharing_everybody_is_alone():
    log = Log(2, share=False)
    log.workers.run([10, 11, 20, 21, 30], runtime=Runtime(threads=2))
    assert log.batches == [[[10], [20], [30]], [[11], [21]]]


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_threads_change_nothing_however_long_each_takes(share, threads):
    queue = list(range(23))
    wanted = Log(4, share=share)
    wanted.workers.run(queue)
    log = Log(4, share=share, delays=np.random.default_rng(threads).choice([0.0, 0.004], len(queue)))
    shares = []
    log.workers.run(queue, runtime=Runtime(threads=threads), progress_callback=shares.append)
    assert log.batches == wanted.batches
    assert log.at_once <= threads
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_more_workers_than_sentences():
    log = Log(4)
    log.workers.run([5, 6], runtime=Runtime(threads=3))
    assert log.batches == [[[5], [6]], [[6], [5]], [[5, 6]], [[5, 6]]]


def test_a_worker_that_dies_ends_the_pass_with_a_sentence():
    def find(worker, sentence):
        if sentence == 6:
            raise MemoryError("no room")
        return sentence

    with pytest.raises(
        DataError, match=r"^worker 2 died at sentence 7 \(MemoryError: no room\); .* goes on from there$"
    ):
        ParallelLearners(2, find, lambda worker, batch: None).run([4, 5, 3, 6, 1], runtime=Runtime(threads=2))

    def refused(worker, sentence):
        raise UsageError("what the user should know")

    with pytest.raises(UsageError, match=r"^what the user should know$"):
        ParallelLearners(2, refused, lambda worker, batch: None).run([1, 2])


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_a_queue_has_all_sentences_and_equal_lengths_at_a_step(workers):
    lengths = np.random.default_rng(5).integers(1, 40, 100).tolist()
    queue = even_queue(lengths, workers, np.random.default_rng(1))
    assert sorted(queue) == list(range(100))
    full = np.array(queue[: 100 // workers * workers]).reshape(-1, workers)
    taken = np.array(lengths)[full]
    # Steps, put in order, take up where the one before ends: no other grouping is more even.
    in_order = taken[np.lexsort([taken.max(axis=1), taken.min(axis=1)])]
    assert (in_order.max(axis=1)[:-1] <= in_order.min(axis=1)[1:]).all()
    assert even_queue(lengths, workers, np.random.default_rng(1)) == queue
    assert even_queue(lengths, workers, np.random.default_rng(2)) != queue


def test_which_sentences_come_when_is_drawn_anew():
    # Over many draws every sentence stands anywhere, also behind the last full step.
    rng = np.random.default_rng(3)
    queues = np.array([even_queue([1, 1, 2, 2, 9, 9, 30], 3, rng) for _ in range(4000)])
    last = np.bincount(queues[:, -1], minlength=7) / 4000
    np.testing.assert_allclose(last, 1 / 7, atol=0.025)
    # Who takes a sentence does not depend on how long it is.
    shorter_first = np.mean([[queue.index(0) % 3, queue.index(6) % 3] for queue in queues.tolist()], axis=0)
    np.testing.assert_allclose(shorter_first, 6 / 7, atol=0.05)
