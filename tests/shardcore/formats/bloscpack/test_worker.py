from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from shardcore.errors import FormatError, LimitExceeded, Unsupported
from shardcore.formats.bloscpack.worker import Worker
from shardcore.model.span import Span
from tests.shardcore.formats.bloscpack.chunks import make_chunk, sample

PLACE = Span("", 64, 128)


@pytest.fixture
def worker() -> Iterator[Worker]:
    """A worker, ended after the test."""
    with Worker() as made:
        yield made


def pid(worker: Worker) -> int:
    """The process after a worker that has worked."""
    process = worker._process
    assert process is not None
    assert process.pid is not None
    return process.pid


def test_plain_bytes_come_back_and_the_process_stays(worker: Worker) -> None:
    """One process serves all chunks."""
    assert worker.decompress(make_chunk(sample(5000))) == sample(5000)
    first = pid(worker)
    assert worker.decompress(make_chunk(sample(70_000), codec=4)) == sample(70_000)
    assert pid(worker) == first != os.getpid()


def test_errors_arrive_as_they_were(worker: Worker) -> None:
    """A refused chunk raises the same error with the caller's place, and the worker goes on."""
    chunk = make_chunk(sample(5000))
    with pytest.raises(Unsupported, match="Blosc chunk version 5") as caught:
        worker.decompress(b"\x05" + chunk[1:], place=PLACE)
    assert caught.value.span == PLACE
    with pytest.raises(LimitExceeded):
        worker.decompress(chunk, limit=100)
    assert worker.decompress(chunk) == sample(5000)


@pytest.mark.thorough
def test_a_dead_process_is_an_error_and_replaced(worker: Worker) -> None:
    """A process that dies while it works gives a FormatError; the next chunk gets a new process."""
    chunk = make_chunk(sample(5000))
    worker.decompress(chunk)
    first = pid(worker)
    os.kill(first, signal.SIGSTOP)  # so that the chunk is still undone when the process dies
    timer = threading.Timer(0.3, os.kill, (first, signal.SIGKILL))
    timer.start()
    with pytest.raises(FormatError, match=r"died of this chunk \(exit code -9\)") as caught:
        worker.decompress(chunk, place=PLACE)
    timer.join()
    assert caught.value.span == PLACE
    assert worker.decompress(chunk) == sample(5000)
    assert pid(worker) != first


@pytest.mark.thorough
def test_a_process_that_died_in_between_is_replaced(worker: Worker) -> None:
    """A process found dead is not the fault of the next chunk."""
    chunk = make_chunk(sample(5000))
    worker.decompress(chunk)
    first = pid(worker)
    os.kill(first, signal.SIGKILL)
    assert worker._process is not None
    worker._process.join()
    assert worker.decompress(chunk) == sample(5000)
    assert pid(worker) != first


@pytest.mark.thorough
def test_a_process_that_hangs_is_killed() -> None:
    """A chunk that takes too long is a FormatError, and its process is gone."""
    with Worker(timeout=0.5) as worker:
        chunk = make_chunk(sample(5000))
        worker.timeout = 60
        worker.decompress(chunk)
        first = pid(worker)
        worker.timeout = 0.3
        os.kill(first, signal.SIGSTOP)
        with pytest.raises(FormatError, match=r"did not finish in 0\.3 seconds"):
            worker.decompress(chunk)
        with pytest.raises(ProcessLookupError):
            os.kill(first, 0)


def test_threads_wait_for_each_other(worker: Worker) -> None:
    """Chunks from several threads do not get each other's bytes."""
    answers: dict[int, bytes] = {}

    def work(number: int) -> None:
        answers[number] = worker.decompress(make_chunk(sample(3000, number)))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: sample(3000, number) for number in range(8)}
