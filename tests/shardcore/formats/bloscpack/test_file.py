"""What is learned of an open Bloscpack file, by several threads at once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import shardcore

DATA = Path(__file__).parents[3] / "data" / "bloscpack"
WAIT = 30
"""Seconds after which something that should not wait is taken to be stuck."""


def test_lookups_do_not_wait_for_a_running_load() -> None:
    arrived, go_on = threading.Event(), threading.Event()

    def progress(done: int, total: int) -> None:
        arrived.set()
        assert go_on.wait(WAIT)

    with shardcore.open(DATA / "made" / "large_walk.blp") as shard, ThreadPoolExecutor(2) as pool:
        loading = pool.submit(shard.load_index, progress)
        try:
            assert arrived.wait(WAIT)
            found = [pool.submit(shard.find, str(chunk)).result(WAIT).spans[0] for chunk in (0, 5, 19)]
            assert not shard.loaded
        finally:
            go_on.set()
        loading.result(WAIT)
        assert [shard.find(str(chunk)).spans[0] for chunk in (0, 5, 19)] == found


def test_many_threads_walk_one_file() -> None:
    with shardcore.open(DATA / "made" / "large_stream.blp") as shard:
        wished = shard.objects[:].start.tolist()
    with shardcore.open(DATA / "made" / "large_stream.blp") as shard, ThreadPoolExecutor(8) as pool:
        refs = pool.map(shard.find, [str(chunk) for chunk in range(len(wished))] * 4)
        assert [ref.spans[0].start for ref in refs] == wished * 4
