"""The same work for many things at once: in order, bounded, and over when nobody wants it."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

import shardcore
from shardcore.errors import Cancelled
from shardcore.model.parallel import in_order
from shardcore.progress import check_stopped, stopped_by

DES = Path(__file__).parents[3] / "resources" / "samples" / "des" / "archive"
SCALE = Path(__file__).parents[3] / "resources" / "samples" / "neuroglancer" / "hashed"


@pytest.mark.parametrize("jobs", [1, 2, 8])
def test_results_keep_their_order(jobs: int) -> None:
    def work(number: int) -> int:
        time.sleep(0.002 * (number % 3))
        return number * number

    assert list(in_order(work, range(40), jobs)) == [number * number for number in range(40)]


def test_few_things_are_taken_at_a_time() -> None:
    """10,000 items are not begun before results are taken."""
    begun: list[int] = []
    with closing(in_order(begun.append, range(10_000), 4)) as results:
        next(results)
        assert len(begun) <= 8


def test_failures_and_stops_end_the_rest() -> None:
    begun, stopped = threading.Event(), threading.Event()

    def work(number: int) -> None:
        if number == 0:
            begun.wait(60)
            raise ValueError("no")
        begun.set()
        try:
            while True:
                check_stopped()
                time.sleep(0.005)
        except Cancelled:
            stopped.set()
            raise

    with pytest.raises(ValueError, match="no"), closing(in_order(work, range(2), 2)) as results:
        list(results)
    assert stopped.is_set()

    def stop() -> None:
        raise Cancelled

    with stopped_by(stop), pytest.raises(Cancelled), closing(in_order(lambda n: work(1), range(2), 2)) as results:
        list(results)


@pytest.mark.parametrize("folder", [DES, SCALE])
def test_data_sets_say_the_same(folder: Path) -> None:
    told = []
    for jobs in (1, 4):
        with shardcore.open(folder, jobs=jobs) as shard:
            shard.load_index()
            steps: list[tuple[int, int]] = []
            report = shard.verify(progress=lambda done, total, steps=steps: steps.append((done, total)))
            assert steps == sorted(steps)
            told.append((list(shard.objects.keys[:]), report))
    assert told[0] == told[1]
