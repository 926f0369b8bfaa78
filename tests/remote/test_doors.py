"""What fsspec and zarr cost over a store, counted at the server: no more than the library itself."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardcore
from tests.remote.servers import RangeServer, StoreServer
from tests.volumes import write_volume

with contextlib.suppress(ImportError):
    import fsspec
    import zarr
    from fsspec.registry import _registry

    from shardcore.fsspec import ShardFileSystem
    from shardcore.zarr import ArrayStore

pytestmark = pytest.mark.interop("fsspec", "zarr")


@pytest.fixture
def store() -> Iterator[StoreServer]:
    with StoreServer() as server:
        yield server


def options(server: RangeServer) -> dict[str, Any]:
    return {"endpoint_url": server.url, "addressing": "path", "anonymous": True}


@pytest.fixture
def archive(tmp_path: Path) -> bytes:
    with shardcore.create(tmp_path / "x.des", format="des") as writer:
        for number in range(300):
            writer.add(f"few/{number}.txt", b"%d" % number * 20)
        writer.add("big", np.random.default_rng(1).bytes(8 << 20))
    return (tmp_path / "x.des").read_bytes()


@pytest.fixture
def files(store: StoreServer, archive: bytes) -> Iterator[Any]:
    store.put("/shards/x.des", archive)
    yield ShardFileSystem("s3://shards/x.des", remote_options=options(store))
    ShardFileSystem.clear_instance_cache()


def test_one_object(files: Any, store: StoreServer) -> None:
    with shardcore.open("s3://shards/x.des", remote=shardcore.RemoteOptions(**options(store))) as shard:
        assert shard["few/7.txt"] == b"7" * 20
    least = len(store.log)
    store.log.clear()
    with files.open("few/7.txt") as file:
        assert file.read() == b"7" * 20
    assert files.info("few/8.txt")["size"] == 20
    assert files.modified("few/8.txt") == files.modified("few/7.txt")
    assert len(store.log) <= least, str(store.log)


def test_many_objects(files: Any, store: StoreServer) -> None:
    assert len(files.ls("few")) == 300
    store.log.clear()
    found = files.cat("few", recursive=True)
    assert found["few/299.txt"] == b"299" * 20
    assert len(found) == 300
    assert len(store.log) <= 3, str(store.log)


def test_an_address_in_a_chain(store: StoreServer, archive: bytes) -> None:
    """`shard://KEY::s3://…` takes only the name and the options from the S3 file system."""

    class Named(fsspec.AbstractFileSystem):  # type: ignore[misc]
        protocol = ("s3", "s3a")

    store.put("/shards/x.des", archive)
    try:
        fsspec.register_implementation("shard", ShardFileSystem, clobber=True)
        fsspec.register_implementation("s3", Named, clobber=True)
        chosen = {"anon": True, "client_kwargs": {"endpoint_url": store.url}}
        with fsspec.open("shard://few/7.txt::s3://shards/x.des", s3=chosen) as file:
            assert file.read() == b"7" * 20
    finally:
        ShardFileSystem.clear_instance_cache()
        del _registry["s3"]


@pytest.mark.parametrize("form", ["raw", "files"])
def test_a_volume(store: StoreServer, tmp_path: Path, form: str) -> None:
    array = np.random.default_rng(0).integers(1, 250, (128, 64, 64), "u1")
    write_volume(tmp_path / "v", form, array, (32, 32, 32))
    store.put_folder("/shards/v", tmp_path / "v")
    remote = shardcore.RemoteOptions(**options(store))
    with ArrayStore("s3://shards/v/", remote=remote) as opened:
        found = zarr.open_array(opened, mode="r")
        assert len(store.log) == 1, str(store.log)
        np.testing.assert_array_equal(found[..., 0], array)
    # The chunks; of shards the two indices and the minishards.
    assert len(store.log) <= 1 + found.nchunks + (2 + 2 * 4 if form == "raw" else 0), str(store.log)
    assert store.log.sent < array.nbytes * 1.1 + 65536


def test_a_lost_store_is_no_hole(store: StoreServer, tmp_path: Path) -> None:
    """A chunk that cannot be fetched is an error, never an array of zeros."""
    array = np.ones((8, 8, 8), "u1")
    write_volume(tmp_path / "v", "files", array)
    store.put_folder("/shards/v", tmp_path / "v")
    remote = shardcore.RemoteOptions(**options(store), retries=0, connect_timeout=1)
    with ArrayStore("s3://shards/v/", remote=remote) as opened:
        found = zarr.open_array(opened, mode="r")
        store.stop()
        with pytest.raises(shardcore.SourceError):
            found[:]
