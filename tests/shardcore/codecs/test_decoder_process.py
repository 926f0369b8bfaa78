from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from shardcore.codecs.decoder_process import TASKS, IsolatedDecoder
from shardcore.errors import Cancelled, FormatError, LimitExceeded, ShardError, Unsupported
from shardcore.model.span import Span
from shardcore.progress import stopped_by
from tests.shardcore.formats.bloscpack.chunks import make_chunk, sample

PLACE = Span("", 64, 128)


@pytest.fixture
def decoder() -> Iterator[IsolatedDecoder]:
    with IsolatedDecoder() as made:
        yield made


def decompress(decoder: IsolatedDecoder, chunk: bytes, *, limit: int = 1 << 20, place: Span | None = None) -> bytes:
    return decoder.run("blosc", {}, chunk, limit=limit, place=place)[1]


def pid(decoder: IsolatedDecoder) -> int:
    process = decoder._process
    assert process.pid is not None
    return process.pid


def test_plain_bytes_come_back_and_the_process_stays(decoder: IsolatedDecoder) -> None:
    assert decompress(decoder, make_chunk(sample(5000))) == sample(5000)
    first = pid(decoder)
    assert decompress(decoder, make_chunk(sample(70_000), codec=4)) == sample(70_000)
    assert pid(decoder) == first != os.getpid()


def test_errors_arrive_as_they_were(decoder: IsolatedDecoder) -> None:
    chunk = make_chunk(sample(5000))
    with pytest.raises(Unsupported, match="Blosc chunk version 5") as caught:
        decompress(decoder, b"\x05" + chunk[1:], place=PLACE)
    assert caught.value.span == PLACE
    with pytest.raises(LimitExceeded):
        decompress(decoder, chunk, limit=100)
    assert decompress(decoder, chunk) == sample(5000)


@pytest.mark.thorough
def test_a_dead_process_is_an_error_and_replaced(decoder: IsolatedDecoder) -> None:
    chunk = make_chunk(sample(5000))
    decompress(decoder, chunk)
    first = pid(decoder)
    os.kill(first, signal.SIGSTOP)  # so that the chunk is still undone when the process dies
    timer = threading.Timer(0.3, os.kill, (first, signal.SIGKILL))
    timer.start()
    with pytest.raises(FormatError, match=r"crashed on these bytes \(exit code -9\)") as caught:
        decompress(decoder, chunk, place=PLACE)
    timer.join()
    assert (caught.value.span, decompress(decoder, chunk)) == (PLACE, sample(5000))
    assert pid(decoder) != first


def test_a_task_that_is_cancelled_ends_with_its_process() -> None:
    """The next task has another process."""
    with IsolatedDecoder() as decoder:
        chunk = make_chunk(sample(5000))
        decompress(decoder, chunk)
        first, asked = pid(decoder), 0

        def check() -> None:
            nonlocal asked
            asked += 1
            if asked == 3:
                raise Cancelled

        os.kill(first, signal.SIGSTOP)
        with pytest.raises(Cancelled), stopped_by(check):
            decompress(decoder, chunk)
        with pytest.raises(ProcessLookupError):
            os.kill(first, 0)
        assert decompress(decoder, chunk) == sample(5000)


def test_threads_wait_for_each_other(decoder: IsolatedDecoder) -> None:
    chunks = [make_chunk(sample(3000, number)) for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(partial(decompress, decoder), chunks))
    assert answers == [sample(3000, number) for number in range(8)]


def greedy_task(header: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    return {}, bytes(header["bytes"])[:1]


def broken_task(header: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    raise KeyError("no such marker")


def long_task(header: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    return {}, bytes(header["limit"] + 1)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit of memory is that of Linux")
def test_memory_and_results_are_bounded(decoder: IsolatedDecoder, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("greedy", "long", "broken"):
        monkeypatch.setitem(TASKS, name, f"tests.shardcore.codecs.test_decoder_process:{name}_task")
    assert decompress(decoder, make_chunk(sample(5000))) == sample(5000)
    first = pid(decoder)
    for name, error, words in (
        ("greedy", LimitExceeded, "memory limit"),
        ("long", LimitExceeded, "the limit is 100"),
        ("broken", FormatError, "no such marker"),
    ):
        with pytest.raises(error, match=words):
            decoder.run(name, {"bytes": 1 << 40}, b"", limit=100)
    assert pid(decoder) == first


def test_a_closed_decoder_starts_no_process(decoder: IsolatedDecoder) -> None:
    decoder.close()
    others = multiprocessing.active_children()
    with pytest.raises(ShardError, match="closed"):
        decompress(decoder, make_chunk(sample(5000)))
    assert multiprocessing.active_children() == others
