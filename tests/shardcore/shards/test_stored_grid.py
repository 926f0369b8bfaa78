"""Arrays of many chunks: boxes, missing chunks, and the stored bytes of each element, in all forms."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import shardcore
from shardcore.errors import FormatError, LimitExceeded, ShardError, UsageError
from shardcore.model.chunk_grid import ChunkGrid
from shardcore.shards.shard import Shard
from tests.data.bloscpack.make_bcolz import samples
from tests.remote.conftest import server
from tests.remote.servers import RangeServer
from tests.shardcore.formats.bloscpack.bcolz_folders import COLUMN
from tests.volumes import FORMS, OFFSET, sample_array, scale_of, write_files, write_info, write_shards, write_volume
from tests.volumes import SPEC as SHARDING

__all__ = ["server"]

BLOSCPACK = ("C rows", "C parts", "F rows", "C flat", "bcolz")


@contextmanager
def opened(form: str, folder: Path) -> Iterator[tuple[Shard, ChunkGrid, NDArray[Any]]]:
    array: NDArray[Any] = sample_array()
    where = COLUMN
    if form == "bcolz":
        array = samples()
    elif form in FORMS:
        where = write_volume(folder / "v", form, array)
    else:
        order, kind = form.split()
        array = array.ravel() if kind == "flat" else array
        where = folder / "x.blp"
        size = {"rows": 13 * 9 * 2 * 3 if order == "C" else 20 * 13 * 2 * 2, "parts": 100, "flat": 100}[kind]
        with shardcore.create(where, format="bloscpack", chunk_size=size) as writer:
            writer.add(None, array.tobytes(order=order), dtype="<u2", shape=list(array.shape), order=order)
    with shardcore.open(where) as shard:
        grid = shard.chunk_grid()
        yield shard, grid, array


def numpy_index(dice: random.Random, shape: tuple[int, ...], low: int) -> tuple[Any, ...]:
    """Integers, slices with steps and an ellipsis; the least bound is 0, or so many lengths before the axis."""
    index: list[Any] = []
    for length in shape[: dice.randint(0, len(shape))]:
        ends = [dice.choice([None, dice.randrange(length * low, length + 1 - 2 * low)]) for _ in range(2)]
        one = slice(*ends, dice.choice([None, 1, 2, 5, 50]))
        index.append(dice.choice([one, one, dice.randrange(length * low, length), slice(None)]))
    return (*index, ...) if dice.random() < 0.3 else tuple(index)


def shifted(one: Any, by: int) -> Any:
    if isinstance(one, slice):
        return slice(*(None if end is None else end + by for end in (one.start, one.stop)), one.step)
    return one if one is ... else one + by


@pytest.mark.parametrize("form", [*FORMS, *BLOSCPACK])
def test_indices_are_those_of_numpy(form: str, tmp_path: Path) -> None:
    """On an axis with an offset they are coordinates: bounds are inside, and none is counted from the end."""
    dice = random.Random(form)
    with opened(form, tmp_path) as (shard, grid, array):
        values = array.reshape((*array.shape, *grid.inner))
        found, first = shard.as_array(), grid.box.begin
        assert (found.shape, found.ndim, found.size) == (values.shape, values.ndim, values.size)
        assert (found.dtype, found.nbytes, len(found)) == (values.dtype, values.nbytes, len(values))
        for _ in range(60):
            index = numpy_index(dice, array.shape, 0 if any(first) else -1)
            there = tuple(map(shifted, index, (*first, 0)))
            np.testing.assert_array_equal(found[there], values[index], strict=True)
        np.testing.assert_array_equal(np.asarray(shard, "f4"), values.astype("f4"), strict=True)
        np.testing.assert_array_equal(shard[first[0] : first[0] + 2], values[:2])
        np.testing.assert_array_equal(np.stack(list(found)), values)


@pytest.mark.parametrize("index", [99, None, [1, 2], 1.5, True, "x", slice(None, None, -1), slice(0, 9, 0), (0,) * 5])
def test_other_indices_are_refused(index: Any) -> None:
    with shardcore.open(Path("resources/samples/neuroglancer/volume")) as shard:
        with pytest.raises(shardcore.InvalidIndex):
            shard.as_array()[index]
        with pytest.raises(ValueError, match="copy"):
            np.asarray(shard, copy=False)


def test_an_array_of_python_slices() -> None:
    case = Path("tests/data/cases/11-slices")
    right = json.loads((case / "expected.json").read_text())["right"]
    with shardcore.open(case / "t_f2") as shard:
        assert shard[1:3].tolist() == right["s[1:3]"]
        assert shard[:].tolist() == shard[...].tolist() == list(shard.as_array()) == [0, 1, 2, 3]
        assert (shard.shape, shard.dtype, shard.ndim, shard.as_array()[-1]) == ((4,), "<f2", 1, 3)


def test_only_the_chunks_of_an_index_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[int, ...]] = []
    with opened("raw", tmp_path) as (shard, grid, _):
        elements = type(grid).elements
        monkeypatch.setattr(type(grid), "elements", lambda *one: read.append(one[1].at) or elements(*one))
        _ = shard[6:25:12, 0, 108], shard[9:9], shard[..., :0], shard[5, -3, 100]
        assert sorted(read) == [(0, 0, 0), (0, 0, 2), (3, 0, 2)]


@pytest.mark.parametrize("form", [*FORMS, *BLOSCPACK])
def test_an_element_has_its_bytes(form: str, tmp_path: Path) -> None:
    dice = random.Random(form)
    with opened(form, tmp_path) as (shard, grid, array):
        for _ in range(10):
            at = tuple(dice.randrange(length) for length in array.shape)
            place = grid.locate(tuple(n + first for n, first in zip(at, grid.box.begin, strict=True)))
            if place.ref is None:
                assert array[at] == 0
                continue
            assert place.cell.key == place.ref.key
            assert shard.read(shard.find(place.cell.key))[place.start : place.stop] == array[at].tobytes()
            if place.exact:
                assert shard.bytes_of(place.span.source).read(place.span.start, place.span.stop) == array[at].tobytes()
            assert place.exact or form in BLOSCPACK


@pytest.mark.parametrize("form", ["labels", "files labels", "png", "files png"])
def test_encoded_chunks_are_decoded(form: str, tmp_path: Path) -> None:
    kind = "<u8" if form.endswith("labels") else "u1"
    array = sample_array(dtype=kind) % 5 if form.endswith("labels") else sample_array(dtype=kind)
    array[0, 0, 0] = 77
    scale = write_volume(tmp_path / "v", form, array.astype(kind))
    with shardcore.open(scale) as shard:
        np.testing.assert_array_equal(shard[:, :, :][..., 0], array)
        grid = shard.chunk_grid()
        place = grid.locate(OFFSET)
        assert place.ref is not None
        assert shard.array(place.ref)[0, 0, 0, 0] == 77
        assert 0 < place.span.size <= shard.bytes_of(place.span.source).size
        assert shard.verify().findings == ()


@pytest.mark.parametrize("form", FORMS)
def test_missing_chunks_are_reported(form: str, tmp_path: Path) -> None:
    """A chunk of zeros is not stored and comes as None."""
    with opened(form, tmp_path) as (_, grid, _array):
        cells = grid.cells_in(grid.box)
        found = list(grid.read_cells(cells))
        assert [cell for cell, _ in found] == cells
        assert [cell.at for cell, chunk in found if chunk is None] == [(1, 1, 1)]
        assert len(cells) == 5 * 4 * 3
        for cell, chunk in found:
            if isinstance(chunk, np.ndarray):
                assert chunk.shape == (*cell.box.shape, 1)


def test_a_damaged_chunk_spares_the_others(tmp_path: Path) -> None:
    scale = write_volume(tmp_path / "v", "files gz", sample_array())
    damaged = scale / "5-9_-3-1_100-104.gz"
    damaged.write_bytes(damaged.read_bytes()[:-9])
    with shardcore.open(scale) as shard:
        grid = shard.chunk_grid()
        found = {cell.at: chunk for cell, chunk in grid.read_cells(grid.cells_in(grid.box))}
        assert [at for at, chunk in found.items() if isinstance(chunk, ShardError)] == [(0, 0, 0)]
        with pytest.raises(FormatError, match="5-9_-3-1_100-104"):
            _ = shard[5, -3, 100]
        assert shard[9, -3, 100].shape == (1,)


@pytest.mark.parametrize("sharded", [True, False])
def test_other_scales_are_reached(sharded: bool, tmp_path: Path) -> None:
    fine, coarse = sample_array(), sample_array((10, 7, 5), seed=4)
    spec = SHARDING if sharded else None
    info = (scale_of(fine, (4, 4, 4), "a", spec), scale_of(coarse, (4, 4, 4), "b/c", None, 8))
    write_info(tmp_path, "uint16", *info)
    if sharded:
        write_shards(tmp_path / "a", fine, (4, 4, 4), SHARDING)
    else:
        write_files(tmp_path / "a", fine, (4, 4, 4))
    write_files(tmp_path / "b/c", coarse, (4, 4, 4))
    for where in ("a", "b/c", ""):
        with shardcore.open(tmp_path / where, partial=True) as shard:
            grid = shard.chunk_grid("scale b/c")
            assert [scale.name for scale in grid.scales] == ["scale a", "scale b/c"]
            assert [scale.spacing[0] for scale in grid.scales] == [4, 8]
            np.testing.assert_array_equal(grid.read((slice(None),) * 3)[..., 0], coarse)
            other = shard.chunk_grid("scale a")
            np.testing.assert_array_equal(other.read((slice(None),) * 3)[..., 0], fine)
            with pytest.raises(UsageError, match="no 'scale x'"):
                shard.chunk_grid("scale x")


def test_wrong_indices_are_refused(tmp_path: Path) -> None:
    with opened("files", tmp_path) as (shard, grid, _):
        for index in (
            (0, 0),
            (slice(5, 20, -2), 0, 100),
            (4, -3),
            (5, slice(0, 11)),
            (5, slice(-4, 3)),
            (slice(0, 99),),
        ):
            with pytest.raises(shardcore.InvalidIndex):
                _ = shard[index]
        with pytest.raises(LimitExceeded):
            grid.read(limit=1000)
        with pytest.raises(LimitExceeded):
            shard.as_array(limit=1000)[...]
    with shardcore.open(Path("tests/data/neuroglancer/skeletons_murmur_gzip")) as found:
        assert found.chunk_grid() is None
        assert not hasattr(found, "shape")
        for act in (lambda: found[0, 0, 0], lambda: found[...], found.as_array, lambda: np.asarray(found)):
            with pytest.raises(UsageError, match="do not form one array"):
                act()


@pytest.mark.parametrize("form", ["files", "files packed"])
def test_chunk_files_are_objects(form: str, tmp_path: Path) -> None:
    array = sample_array()
    scale = write_volume(tmp_path / "v", form, array)
    with shardcore.open(scale.parent) as shard:
        assert shard.format == "neuroglancer"
        assert len(shard.objects) == 59
        key = "5-9_-3-1_100-104"
        ref = shard.find(key)
        assert shard.read(ref) == array[:4, :4, :4].tobytes(order="F")
        assert shard.objects.ref(ref.row).key == key
        assert shard.trace(key).outcome == "found"
        assert shard.trace("9-13_1-5_104-108").outcome == "absent"
        assert shard.explain(0, ref.spans[0].source)[-1].row == ref.row
        np.testing.assert_array_equal(shard.array(key)[..., 0], array[:4, :4, :4])
        assert shard.find_many([key, "9-13_1-5_104-108"]).tolist() == [ref.row, -1]
        with pytest.raises(UsageError):
            shard.find("1-2")
        assert shard.verify().findings == ()


@pytest.mark.parametrize("form", ["raw", "files", "files packed"])
def test_a_remote_slice_is_one_request_per_chunk(form: str, tmp_path: Path, server: RangeServer) -> None:
    array = sample_array((64, 64, 32), "u1")
    write_volume(tmp_path / "v", form, array, (32, 32, 16))
    for path in tmp_path.rglob("*"):
        if path.is_file():
            server.put(f"/{path.relative_to(tmp_path)}", path)
    with shardcore.open(f"{server.url}/v/4_4_4/") as shard:
        grid = shard.chunk_grid()
        server.log.clear()
        box = (slice(OFFSET[0], OFFSET[0] + 64), slice(OFFSET[1], OFFSET[1] + 64), 101)
        np.testing.assert_array_equal(shard[box][..., 0], array[:, :, 1])
        indices = 2 + 4 if form == "raw" else 0
        assert len(server.log) <= 4 + indices, str(server.log)
        server.log.clear()
        assert grid.locate((OFFSET[0] + 40, OFFSET[1], 101)).span is not None
        assert len(server.log) <= 1, str(server.log)


def test_a_remote_array_is_read_by_its_chunks(tmp_path: Path, server: RangeServer) -> None:
    array = np.random.default_rng(8).integers(0, 256, (40, 128, 128)).astype("u1")
    path = tmp_path / "a.blp"
    with shardcore.create(path, format="bloscpack", chunk_size=128 * 128 * 2) as writer:
        writer.add(None, array.tobytes(), dtype="|u1", shape=list(array.shape), order="C")
    with shardcore.open(server.put("/a.blp", path)) as shard:
        server.log.clear()
        np.testing.assert_array_equal(shard[20, :, :], array[20])
        assert len(server.log) <= 2, str(server.log)
        server.log.clear()
        np.testing.assert_array_equal(shard[30:40, 5, :], array[30:40, 5])
        assert len(server.log) <= 2, str(server.log)


def test_one_file_of_a_volume_has_some_of_its_chunks() -> None:
    root = Path("tests/data/neuroglancer/volume/4_4_40")
    with shardcore.open(root) as whole, shardcore.open(root / "1.shard") as shard:
        grid, all_cells = shard.chunk_grid(), whole.chunk_grid()
        assert all_cells.whole > grid.whole
        cells = grid.cells_in(grid.box)
        mine = [(cell, chunk) for cell, chunk in grid.read_cells(cells) if chunk is not None]
        assert len(mine) == len(shard.objects)
        assert {cell.shard for cell, _ in mine} == {"1.shard"}
        theirs = dict(all_cells.read_cells([cell for cell, _ in mine]))
        for cell, chunk in mine:
            np.testing.assert_array_equal(chunk, theirs[cell])
