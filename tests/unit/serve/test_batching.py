"""Who is searched together with whom, what a fault costs the others, and how work is stopped."""

import asyncio
import threading
import time

import pytest

from dragoman.core.errors import DataError
from dragoman.serve.batching import Batcher, SlowPool, Stop, StoppedError
from dragoman.serve.limits import RequestError


class Doubling:
    """Work that doubles numbers, remembers its batches, waits for a signal, and refuses the number 13."""

    def __init__(self):
        self.batches = []
        self.may_go = threading.Event()
        self.may_go.set()

    def __call__(self, items):
        self.batches.append(list(items))
        assert self.may_go.wait(10)
        if 13 in items:
            raise DataError("found 13")
        return [2 * item for item in items]


@pytest.fixture
def batcher():
    made = Batcher(workers=1, most=4, queue=6)
    yield made
    made.close()


async def _begun(work, batches=1):
    while len(work.batches) < batches:
        await asyncio.sleep(0.001)


def test_what_comes_while_a_batch_is_searched_is_the_next(batcher):
    work = Doubling()

    async def ask():
        work.may_go.clear()
        first = asyncio.create_task(batcher.run("a", [1], work))
        await _begun(work)
        others = [asyncio.create_task(batcher.run("a", [k], work)) for k in (2, 3)]
        other_key = asyncio.create_task(batcher.run("b", [4], work))
        await asyncio.sleep(0.01)
        work.may_go.set()
        return [await task for task in (first, *others, other_key)]

    assert asyncio.run(ask()) == [[2], [4], [6], [8]]
    assert work.batches == [[1], [2, 3], [4]]


def test_a_long_text_does_not_keep_others_waiting(batcher):
    work = Doubling()

    async def ask():
        work.may_go.clear()
        first = asyncio.create_task(batcher.run("a", [0], work))
        await _begun(work)
        long = asyncio.create_task(batcher.run("a", [1, 2, 3, 4, 5], work))
        await asyncio.sleep(0.001)
        short = asyncio.create_task(batcher.run("a", [6], work))
        await asyncio.sleep(0.01)
        work.may_go.set()
        return [await task for task in (first, long, short)]

    assert asyncio.run(ask()) == [[0], [2, 4, 6, 8, 10], [12]]
    assert work.batches == [[0], [1, 2, 6], [3, 4, 5]]


def test_who_is_free_takes_a_part_of_what_waits_and_results_come_in_order():
    work = Doubling()
    batcher = Batcher(workers=2, most=4, queue=20)

    async def ask():
        work.may_go.clear()
        asked = [batcher.run("a", range(begin, begin + 5), work) for begin in (0, 20)]
        tasks = [asyncio.create_task(one) for one in asked]
        await _begun(work, 2)
        assert batcher.waiting == 2
        work.may_go.set()
        return await asyncio.gather(*tasks)

    assert asyncio.run(ask()) == [[0, 2, 4, 6, 8], [40, 42, 44, 46, 48]]
    assert sorted(work.batches[:2]) == [[0, 1, 20, 21], [2, 3, 22, 23]]
    assert sorted(item for batch in work.batches for item in batch) == [*range(5), *range(20, 25)]
    batcher.close()


def test_too_much_that_waits_is_refused_and_told_when_to_come_again(batcher):
    work = Doubling()

    async def ask():
        work.may_go.clear()
        first = asyncio.create_task(batcher.run("a", [1], work))
        await _begun(work)
        second = asyncio.create_task(batcher.run("a", [2] * 6, work))
        await asyncio.sleep(0.001)
        with pytest.raises(RequestError, match="6 sentences wait already") as refused:
            await batcher.run("a", [3], work)
        assert (refused.value.status, refused.value.headers) == (503, {"Retry-After": "1"})
        work.may_go.set()
        return await first, await second

    assert asyncio.run(ask()) == ([2], [4] * 6)


def test_a_fault_is_told_only_to_whom_it_belongs(batcher):
    work = Doubling()

    async def ask():
        work.may_go.clear()
        first = asyncio.create_task(batcher.run("a", [1], work))
        await _begun(work)
        tasks = [asyncio.create_task(batcher.run("a", [k], work)) for k in (2, 13, 3)]
        await asyncio.sleep(0.01)
        work.may_go.set()
        return await asyncio.gather(first, *tasks, return_exceptions=True)

    first, second, odd, third = asyncio.run(ask())
    assert (first, second, third) == ([2], [4], [6])
    assert isinstance(odd, DataError)


def test_what_is_cancelled_before_its_turn_is_not_searched(batcher):
    work = Doubling()

    async def ask():
        work.may_go.clear()
        first = asyncio.create_task(batcher.run("a", [1], work))
        await _begun(work)
        gone, stays = (asyncio.create_task(batcher.run("a", [k], work)) for k in (2, 3))
        await asyncio.sleep(0.001)
        gone.cancel()
        await asyncio.sleep(0.001)
        assert batcher.waiting == 1
        work.may_go.set()
        return await first, await stays

    assert asyncio.run(ask()) == ([2], [6])
    assert work.batches == [[1], [3]]


def test_a_batch_that_nobody_waits_for_is_told_to_stop(batcher, monkeypatch):
    asked = threading.Event()
    monkeypatch.setattr(Stop, "ask", lambda stop: asked.set())
    work = Doubling()

    async def ask():
        work.may_go.clear()
        task = asyncio.create_task(batcher.run("a", [1], work))
        await _begun(work)
        task.cancel()
        await asyncio.sleep(0.001)
        told = asked.is_set()
        work.may_go.set()
        return told

    assert asyncio.run(ask())


@pytest.mark.slow
def test_slow_work_has_its_time_and_its_queue():
    pool = SlowPool(workers=1, queue=1, seconds=0.05)
    may_go = threading.Event()

    async def ask():
        first = asyncio.create_task(pool.run(lambda: may_go.wait(10)))
        second = asyncio.create_task(pool.run(lambda: 2))
        await asyncio.sleep(0.01)
        with pytest.raises(RequestError, match="2 slow requests wait already") as refused:
            await pool.run(lambda: 3)
        assert refused.value.status == 503
        # What does not obey is left to itself after a while, and its client is told.
        with pytest.raises(RequestError, match=r"takes longer than 0\.05 seconds") as late:
            await first
        assert late.value.status == 422
        may_go.set()
        return await second

    assert asyncio.run(ask()) == 2
    assert pool.inside == 0
    pool.close()


def test_work_whose_client_has_gone_before_its_turn_is_not_begun():
    pool = SlowPool(workers=1, queue=4, seconds=5)
    may_go, done = threading.Event(), []

    async def ask():
        first = asyncio.create_task(pool.run(lambda: may_go.wait(10)))
        second = asyncio.create_task(pool.run(lambda: done.append(2)))
        await asyncio.sleep(0.01)
        second.cancel()
        await asyncio.sleep(0.001)
        may_go.set()
        await first
        await pool.run(lambda: done.append(3))

    asyncio.run(ask())
    assert done == [3]
    pool.close()


def test_a_stop_is_heeded_when_asked_or_when_time_is_over():
    stop = Stop(0.01)
    stop.begin()
    stop.check()
    time.sleep(0.02)
    with pytest.raises(RequestError, match="takes longer"):
        stop.check()
    stop.ask()
    with pytest.raises(StoppedError):
        stop.check()
