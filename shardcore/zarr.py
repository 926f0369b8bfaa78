"""Read-only zarr v3 stores over arrays of shards: scales of a volume, Bloscpack arrays, bcolz columns.

`zarr.open_array(ArrayStore(where))` opens one array, `zarr.open_group(GroupStore(where))` all scales of a volume.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass

try:
    from zarr.abc.store import OffsetByteRequest, RangeByteRequest, Store
except ImportError as error:
    raise ImportError("shardcore.zarr needs zarr 3: pip install 'shardscope[zarr]'") from error

from shardcore.errors import DEFAULT_LIMIT, LimitExceeded, ShardError, Unsupported, UsageError
from shardcore.model.text import plural, short
from shardcore.operations.extraction.names import Names
from shardcore.shards.opening import MOST_JOBS
from shardcore.shards.opening import open as open_shard
from shardcore.shards.shard import Shard
from shardcore.shards.tickets import absolute
from shardcore.sources.remote.address import shown_address

if TYPE_CHECKING:
    from zarr.abc.store import ByteRequest
    from zarr.core.buffer import Buffer, BufferPrototype

    from shardcore.model.chunk_grid import ChunkGrid

T = TypeVar("T")

Place = tuple[int, ...]
"""Index of a chunk along each axis of the grid."""

Read = NDArray[Any] | ShardError | None
"""Elements of a chunk or bytes of a file; the error if they cannot be read; None if they are not stored."""

METADATA = "zarr.json"
_CHUNK = re.compile(r"c((?:/\d{1,19})*)", re.ASCII)
_SCALE = "scale "

MOST_COORDINATES = 1 << 24
"""Maximum length of an axis with coordinates; programs read all coordinates when they open an array."""

COORDINATES = 1 << 16
"""Number of coordinates per chunk, in the array that contains the coordinates of an axis."""

LISTED = 4096
"""Number of chunks looked up at a time while a store is listed."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """Axis of an array: `begin` is the coordinate of element 0, `spacing` the element length (0: unknown) in `unit`."""

    name: str
    length: int
    begin: int = 0
    spacing: float = 0.0
    unit: str = ""


@dataclass(frozen=True, slots=True)
class _Coordinates:
    axis: _Axis
    order: Literal["C", "F"] = "C"

    def metadata(self) -> dict[str, Any]:
        shape = (self.axis.length,)
        return _array_metadata(
            shape, (min(COORDINATES, *shape),), np.dtype("<f8"), "C", (self.axis.name,), {"units": self.axis.unit}
        )

    def chunks(self, places: Sequence[Place]) -> list[Read]:
        return [self._chunk(at) for at in places]

    def _chunk(self, at: Place) -> NDArray[Any] | None:
        step = min(COORDINATES, self.axis.length)
        if len(at) != 1 or at[0] * step >= self.axis.length:
            return None
        numbers = self.axis.begin + at[0] * step + np.arange(step)
        return np.asarray(numbers * self.axis.spacing, "<f8")

    def stored(self) -> Iterator[Place]:
        return ((number,) for number in range(-(-self.axis.length // min(COORDINATES, self.axis.length))))


@dataclass(frozen=True, slots=True)
class _GridArray:
    grid: ChunkGrid
    axes: tuple[_Axis, ...]

    @property
    def order(self) -> Literal["C", "F"]:
        return "C" if self.grid.order == "C" else "F"

    @property
    def chunk_shape(self) -> tuple[int, ...]:
        """Return the shape of a chunk in the store; it is cut to the array if the shard declares larger chunks."""
        grid = self.grid
        return (*(max(min(step, length), 1) for step, length in zip(grid.chunk, grid.shape, strict=True)), *grid.inner)

    def metadata(self) -> dict[str, Any]:
        grid = self.grid
        attributes: dict[str, Any] = {"encoding": grid.encoding}
        if grid.spacing:
            attributes |= {"resolution": list(grid.spacing), "voxel_offset": list(grid.box.begin)}
            attributes["units"] = [axis.unit for axis in self.axes]
        if grid.scales:
            attributes["type"] = "segmentation" if grid.labels else "image"
        names = tuple(axis.name for axis in self.axes)
        shape = (*grid.shape, *grid.inner)
        return _array_metadata(shape, self.chunk_shape, grid.dtype, self.order, names, attributes)

    def chunks(self, places: Sequence[Place]) -> list[Read]:
        """Return chunks, padded with 0 to the full shape; adjacent ones are read with one request."""
        grid = self.grid
        counts = (*grid.counts, *(1 for _ in grid.inner))
        axes = len(grid.counts)
        inside = [
            len(at) == len(counts) and all(n < count for n, count in zip(at, counts, strict=True)) for at in places
        ]
        cells = [grid.cell(at[:axes]) for at, there in zip(places, inside, strict=True) if there]
        found = (chunk for _, chunk in grid.read_cells(cells))
        return [self._filled(next(found)) if there else None for there in inside]

    def _filled(self, found: Read) -> Read:
        shape = self.chunk_shape
        if not isinstance(found, np.ndarray) or found.shape == shape:
            return found
        if (size := math.prod(shape) * found.itemsize) > DEFAULT_LIMIT:
            return LimitExceeded(f"a chunk has {plural(size, 'byte')}; at most {DEFAULT_LIMIT:,} are decoded")
        whole = np.zeros(shape, found.dtype, order=self.order)
        whole[tuple(map(slice, found.shape))] = found
        return whole

    def stored(self) -> Iterator[Place]:
        from shardcore.shards.stored_grid import StoredGrid

        grid, inner = self.grid, (0,) * len(self.grid.inner)
        places = product(*map(range, grid.counts))
        while cells := [grid.cell(at) for at in islice(places, LISTED)]:
            refs = grid.refs(cells) if isinstance(grid, StoredGrid) else cells
            for cell, ref in zip(cells, refs, strict=True):
                if isinstance(ref, ShardError):
                    raise ref
                if ref is not None:
                    yield (*cell.at, *inner)


_Array = _GridArray | _Coordinates


class _ReadOnlyStore(Store):
    """Base class of stores: arrays of a shard by zarr path. Thread-safe; the shard is opened at the first read."""

    def __init__(self, where: str | Path | Shard, **options: Any) -> None:
        super().__init__(read_only=True)
        # Absolute: another process has another working directory.
        self._where, self._options = where if isinstance(where, Shard) else absolute(str(where)), options
        self._lock = threading.Lock()
        # Not `_lock`: the event loop takes that, and must not wait while a shard is opened.
        self._opening = threading.Lock()
        self._shard: Shard | None = None
        self._arrays: dict[str, _Array] | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: dict[asyncio.AbstractEventLoop, list[tuple[str, asyncio.Future[NDArray[Any] | None]]]] = {}
        self._end: weakref.finalize[..., _ReadOnlyStore] | None = None

    def __reduce__(self) -> Any:
        if isinstance(self._where, Shard):
            raise UsageError("a store of an opened shard cannot be pickled: create the store from a path or an address")
        return partial(type(self), **self._options), (self._where, *self._chosen)

    @property
    def _chosen(self) -> tuple[str, ...]:
        return ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _ReadOnlyStore) or type(self) is not type(other):
            return False
        return (self._where, self._chosen, self._options) == (other._where, other._chosen, other._options)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        where = shown_address(self._where) if isinstance(self._where, str) else self._where
        return f"{type(self).__name__}({where!r})"

    __str__ = __repr__

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return (type(self).__qualname__, str(self._where), *self._chosen, repr(sorted(self._options.items())))

    def _named(self, shard: Shard) -> dict[str, _Array]:
        """Return the arrays by their path in the store; the path of a root array is empty."""
        raise NotImplementedError

    def _root(self, arrays: Mapping[str, _Array]) -> dict[str, Any] | None:
        return None

    @property
    def shard(self) -> Shard:
        self._opened()
        assert self._shard is not None
        return self._shard

    def _opened(self) -> dict[str, _Array]:
        with self._opening:
            if self._arrays is None:
                if isinstance(self._where, Shard):
                    shard, end = self._where, None
                else:
                    # `partial`: a folder of several scales is opened although no scale is chosen.
                    shard = open_shard(self._where, partial=True, **self._options)
                    end = weakref.finalize(self, shard.close)
                    end.atexit = False
                try:
                    if shard.damage is not None:
                        raise shard.damage
                    self._arrays = self._named(shard)
                except BaseException:
                    if end is not None:
                        end()
                    raise
                self._shard, self._end = shard, end
            return self._arrays

    def close(self) -> None:
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()
        with self._opening:
            end = self._end
            self._shard = self._arrays = self._end = None
        if end is not None:
            end()
        super().close()

    async def _run(self, work: Callable[..., T], *arguments: Any) -> T:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._options.get("jobs") or MOST_JOBS, "shardcore-zarr")
            pool = self._pool
        return await asyncio.get_running_loop().run_in_executor(pool, work, *arguments)

    def _found(self, keys: Sequence[str]) -> list[Read]:
        arrays = self._opened()
        root = self._root(arrays)
        out: list[Read] = [None] * len(keys)
        wanted: dict[str, list[tuple[int, Place]]] = {}
        for number, key in enumerate(keys):
            name = next((one for one in arrays if not one or key.startswith(f"{one}/")), None)
            rest = key[len(name) + 1 :] if name else key
            if key == METADATA and root is not None:
                out[number] = _json(root)
            elif name is not None and rest == METADATA:
                out[number] = _json(arrays[name].metadata())
            elif name is not None and (matched := _CHUNK.fullmatch(rest)):
                wanted.setdefault(name, []).append((number, tuple(map(int, matched[1].split("/")[1:]))))
        for name, numbered in wanted.items():
            array = arrays[name]
            for (number, _), chunk in zip(numbered, array.chunks([at for _, at in numbered]), strict=True):
                out[number] = chunk.ravel(order=array.order).view("u1") if isinstance(chunk, np.ndarray) else chunk
        return out

    async def _bytes_of(self, key: str) -> NDArray[Any] | None:
        """Return the bytes of a key; keys requested in the same iteration of the event loop are read together."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[NDArray[Any] | None] = loop.create_future()
        with self._lock:
            waiting = self._waiting.setdefault(loop, [])
        waiting.append((key, future))
        if len(waiting) == 1:
            # Runs after zarr has started its other requests of this iteration.
            loop.call_soon(lambda: loop.create_task(self._read_waiting(loop)))
        return await future

    async def _read_waiting(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            waiting = self._waiting.pop(loop, [])
        found: list[Read] | list[BaseException]
        try:
            found = await self._run(self._found, [key for key, _ in waiting])
        except BaseException as error:  # noqa: BLE001 - each caller gets the error
            found = [error] * len(waiting)
        for (_, future), one in zip(waiting, found, strict=True):
            if future.done():
                continue
            if isinstance(one, BaseException):
                future.set_exception(one)
            else:
                future.set_result(one)

    async def get(self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        found = await self._bytes_of(key)
        if found is None:
            return None
        if isinstance(byte_range, RangeByteRequest):
            found = found[byte_range.start : byte_range.end]
        elif isinstance(byte_range, OffsetByteRequest):
            found = found[byte_range.offset :]
        elif byte_range is not None:
            found = found[max(len(found) - byte_range.suffix, 0) :]
        return prototype.buffer.from_array_like(found)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        return list(await asyncio.gather(*(self.get(key, prototype, part) for key, part in key_ranges)))

    async def exists(self, key: str) -> bool:
        return await self._bytes_of(key) is not None

    supports_writes = False
    supports_deletes = False
    supports_partial_writes: Literal[False] = False
    supports_listing = True

    async def _refuse(self, *arguments: Any, **named: Any) -> NoReturn:
        raise ValueError("shards are read only through zarr; write them with shardcore.create")

    set = delete = set_partial_values = _refuse

    async def list(self) -> AsyncIterator[str]:
        async for key in self.list_prefix(""):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        keys = self._keys(prefix)
        while listed := await self._run(lambda: [*islice(keys, LISTED)]):
            for key in listed:
                yield key

    def _keys(self, prefix: str) -> Iterator[str]:
        arrays = self._opened()
        if METADATA.startswith(prefix) and self._root(arrays) is not None:
            yield METADATA
        for name, array in arrays.items():
            path = f"{name}/" if name else ""
            if (path + METADATA).startswith(prefix):
                yield path + METADATA
            chunks = f"{path}c"
            if chunks.startswith(prefix) or prefix.startswith(chunks):
                keys = ("/".join([chunks, *map(str, at)]) for at in array.stored())
                yield from (key for key in keys if key.startswith(prefix))

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        arrays, folder = await self._run(self._opened), prefix.strip("/")
        if folder in arrays:
            yield METADATA
            yield "c"
        elif not folder:
            yield METADATA
            for name in arrays:
                yield name
        else:
            path = f"{folder}/"
            seen = set()
            async for key in self.list_prefix(path):
                name = key[len(path) :].partition("/")[0]
                if name not in seen:
                    seen.add(name)
                    yield name


class ArrayStore(_ReadOnlyStore):
    """One array as a zarr v3 store: `zarr.open_array(ArrayStore(where))`; `options` are arguments of `shardcore.open`.

    A volume has the axes x, y, z, channel and begins at index 0; its attributes contain the `voxel_offset`.
    """

    def __init__(self, where: str | Path | Shard, scale: str = "", **options: Any) -> None:
        super().__init__(where, **options)
        self._scale = scale

    @property
    def _chosen(self) -> tuple[str, ...]:
        return (self._scale,)

    def _named(self, shard: Shard) -> dict[str, _Array]:
        grid = _grid_of(shard, self._scale)
        return {"": _GridArray(grid, _axes(grid, {}))}


class GroupStore(_ReadOnlyStore):
    """All arrays of a shard as a group in a zarr v3 store; each scale of a volume is an array.

    The group has `multiscales` and the coordinates of each axis: `xarray.open_zarr(GroupStore(where))` uses them.
    If coordinates differ between scales, the name of an axis contains the scale: `x_8_8_8`. A nameless array is `data`.
    """

    def _named(self, shard: Shard) -> dict[str, _Array]:
        first = _grid_of(shard, "")
        scales = [_grid_of(shard, one.name) for one in first.scales] or [first]
        names, axes = Names([METADATA, "c"]), dict[str, _Axis]()
        arrays: dict[str, _Array] = {}
        for grid in scales:
            arrays[names.give(_plain(grid.name) or "data")] = _GridArray(grid, _axes(grid, axes))
        for axis in axes.values():
            if axis.spacing and 0 < axis.length <= MOST_COORDINATES:
                arrays.setdefault(axis.name, _Coordinates(axis))
        return arrays

    def _root(self, arrays: Mapping[str, _Array]) -> dict[str, Any]:
        metadata = {name: array.metadata() for name, array in arrays.items()}
        scales = [(name, one.grid) for name, one in arrays.items() if isinstance(one, _GridArray) and one.grid.spacing]
        return {
            "zarr_format": 3,
            "node_type": "group",
            "attributes": {"multiscales": [_multiscale(scales)]} if scales else {},
            "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": metadata},
        }


def _plain(scale: str) -> str:
    return scale.removeprefix(_SCALE)


def _grid_of(shard: Shard, scale: str) -> ChunkGrid:
    grid = shard.chunk_grid()
    if grid is None:
        raise UsageError(f"{shard.format}: its objects do not form one array")
    if _plain(scale) in ("", _plain(grid.name)):
        return grid
    name = next((one.name for one in grid.scales if _plain(one.name) == _plain(scale)), None)
    found = shard.chunk_grid(name) if name is not None else None
    if found is None:
        there = ", ".join(_plain(one.name) for one in grid.scales) or "only one array"
        raise UsageError(f"unknown scale {short(scale)}; available: {there}")
    return found


def _axes(grid: ChunkGrid, used: dict[str, _Axis]) -> tuple[_Axis, ...]:
    axes = []
    names = grid.axes or tuple(f"dim_{number}" for number in range(len(grid.shape)))
    spacing = grid.spacing or (0.0,) * len(names)
    for name, length, begin, step in zip(names, grid.shape, grid.box.begin, spacing, strict=True):
        axes.append(_Axis(name, length, begin, step, grid.unit))
    axes += [_Axis("channel", length) for length in grid.inner]
    named = []
    for axis in axes:
        if used.setdefault(axis.name, axis) != axis:
            axis = _Axis(f"{axis.name}_{_plain(grid.name)}", axis.length, axis.begin, axis.spacing, axis.unit)
            used[axis.name] = axis
        named.append(axis)
    return tuple(named)


def _multiscale(scales: list[tuple[str, ChunkGrid]]) -> dict[str, Any]:
    """Return the scales as OME-NGFF `multiscales`; the axes keep their order x, y, z, channel."""
    first = scales[0][1]
    unit = {"nm": "nanometer"}.get(first.unit, first.unit)
    datasets = []
    for name, grid in scales:
        inner = [1.0] * len(grid.inner)
        offset = [begin * step for begin, step in zip(grid.box.begin, grid.spacing, strict=True)]
        scale = {"type": "scale", "scale": [*grid.spacing, *inner]}
        translation = {"type": "translation", "translation": [*offset, *(0.0 for _ in inner)]}
        datasets.append({"path": name, "coordinateTransformations": [scale, translation]})
    axes: list[dict[str, str]] = [{"name": name, "type": "space", "unit": unit} for name in first.axes]
    axes += [{"name": "channel", "type": "channel"} for _ in first.inner]
    return {"axes": axes, "datasets": datasets}


_NUMBERS = {"i": "int", "u": "uint", "f": "float", "c": "complex"}
_SIZES = {"i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "c": (8, 16)}


def _array_metadata(
    shape: tuple[int, ...],
    chunk: tuple[int, ...],
    dtype: np.dtype[Any],
    order: str,
    names: tuple[str, ...],
    attributes: dict[str, Any],
) -> dict[str, Any]:
    if dtype.kind != "b" and dtype.itemsize not in _SIZES.get(dtype.kind, ()):
        raise Unsupported(f"zarr has no type for elements of {dtype}")
    codecs: list[dict[str, Any]] = [{"name": "bytes"}]
    if dtype.itemsize > 1:
        endian = "big" if dtype.str.startswith(">") else "little"
        codecs[0]["configuration"] = {"endian": endian}
    if order != "C" and len(shape) > 1:
        codecs.insert(0, {"name": "transpose", "configuration": {"order": [*range(len(shape))][::-1]}})
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(shape),
        "data_type": "bool" if dtype.kind == "b" else f"{_NUMBERS[dtype.kind]}{8 * dtype.itemsize}",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": False if dtype.kind == "b" else [0.0, 0.0] if dtype.kind == "c" else 0,
        "codecs": codecs,
        "dimension_names": list(names),
        "attributes": attributes,
        "storage_transformers": [],
    }


def _json(value: dict[str, Any]) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)
