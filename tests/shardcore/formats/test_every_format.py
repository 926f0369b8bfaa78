"""What holds for every format: what importing it costs, lookups beside a load, drawings of damaged files."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import shardcore
from shardcore.errors import ShardError
from shardcore.sources.memory import BytesSource
from shardcore.testing import live_keys, mutations, rounds
from tests.shardcore.formats.mdb.made import made_shard

DATA = Path(__file__).parents[2] / "data"
HEAVY = ("zstandard", "lz4", "mmh3", "blosc.blosc_extension", "blake3")


@pytest.mark.parametrize("name", ["swh", "xorb", "bloscpack", "des", "mdb", "neuroglancer"])
def test_listing_a_format_imports_no_reader_and_no_codec(name: str) -> None:
    code = f"""
import sys
before = set(sys.modules)
import shardcore.formats.{name} as found
assert found.FORMAT.name == "{name}"
readers = {{f"shardcore.formats.{name}.{{part}}" for part in ("shard", "writer")}}
print(*sorted((set({HEAVY!r}) | readers) & (set(sys.modules) - before)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


class HeldSource(BytesSource):
    """Source whose reads wait in one thread."""

    def __init__(self, data: bytes, name: str) -> None:
        super().__init__(data, name)
        self.held: threading.Thread | None = None
        self.waiting, self.go = threading.Event(), threading.Event()

    def _read(self, start: int, stop: int) -> bytes:
        if threading.current_thread() is self.held:
            self.waiting.set()
            assert self.go.wait(60)
        return super()._read(start, stop)


SPEC = {"hash": "murmurhash3_x86_128", "preshift_bits": 0, "minishard_bits": 4, "shard_bits": 0}
SPEC |= {"minishard_index_encoding": "gzip", "data_encoding": "gzip", "@type": "neuroglancer_uint64_sharded_v1"}


@pytest.mark.parametrize("name", ["swh/medium.shard", "bloscpack/made/large_walk.blp", "neuroglancer", "mdb"])
def test_lookups_do_not_wait_for_a_running_load(name: str) -> None:
    options: dict[str, Any] = {"spec": SPEC} if name == "neuroglancer" else {}
    path = DATA / ("neuroglancer/bare_shard/0.shard" if name == "neuroglancer" else name)
    data = made_shard(5, 900, 2, 3000) if name == "mdb" else path.read_bytes()
    with shardcore.open(data, **options) as shard:
        shard.load_index()
        refs = {key: shard.find(key) for key in live_keys(shard)[:10]}
    source = HeldSource(data, path.name)
    with shardcore.open(source, **options) as shard:
        source.held = threading.Thread(target=shard.load_index)
        source.held.start()
        try:
            assert source.waiting.wait(60)
            for key, ref in refs.items():
                assert shard.find(key).spans == shard.trace(key).ref.spans == ref.spans
            assert shard.tree.children
            assert shard.explain(60)
            assert not shard.loaded
        finally:
            source.go.set()
            source.held.join(60)
        assert shard.loaded


def test_damaged_files_are_drawn_or_refused() -> None:
    damaged = [path for name in ("*/hostile/*.*", "*/hostile/*/*.shard", "mdb/damaged/*") for path in DATA.glob(name)]
    assert len(damaged) > 40
    for where in (*damaged, *mutations((DATA / "swh/small.shard").read_bytes(), seed=15, count=rounds(200, 40))):
        with suppress(ShardError), shardcore.open(where, partial=True) as shard:
            for key in (None, "1", "00" * 32, *shard.objects.keys[:3]):
                with suppress(ShardError):
                    for sketch in shard.sketches(None if key is None else shard.trace(key)):
                        with suppress(ShardError):
                            assert sketch.draw({}).title
