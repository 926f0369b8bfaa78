"""What is learned of an open Read Shard, by several threads at once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import shardcore

DATA = Path(__file__).parents[3] / "data" / "swh"
WAIT = 30
"""Seconds after which something that should not wait is taken to be stuck."""


def test_lookups_do_not_wait_for_a_running_load() -> None:
    arrived, go_on = threading.Event(), threading.Event()

    def progress(done: int, total: int) -> None:
        arrived.set()
        assert go_on.wait(WAIT)

    with shardcore.open(DATA / "small.shard") as shard, ThreadPoolExecutor(3) as pool:
        keys = [key for key in shard.objects.keys[:] if key is not None]
        loading = pool.submit(shard.load_index, progress)
        try:
            assert arrived.wait(WAIT)
            rows = pool.submit(shard.find_many, keys).result(WAIT)
            assert [pool.submit(shard.find, key).result(WAIT).row for key in keys] == rows.tolist()
            assert not shard.loaded
        finally:
            go_on.set()
        loading.result(WAIT)
        assert shard.loaded
