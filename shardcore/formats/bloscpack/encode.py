"""Chunks out of plain bytes: `blosc2`, told to write what Blosc 1 reads, and each chunk read again before it is used.

`blosc2` takes what makes a Blosc-1 chunk from the environment of the process, once for each call:

- `BLOSC_BLOSC1_COMPAT`: a header of 16 bytes; its version is then set to that of Blosc 1;
- `BLOSC_SPLITMODE`: where blocks are too short to be split, Blosc 1 expects them not to be.

The other variables (`BLOSC_CLEVEL`, `BLOSC_SHUFFLE`, `BLOSC_TYPESIZE`, `BLOSC_COMPRESSOR` and so on) would replace what
the options of writing say: they are removed from the environment during the call.

Bit shuffle is not written: Blosc 2 lays it out in another way than Blosc 1 wherever the elements of a block are no
multiple of 8, and what comes back is then wrong without an error.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import chain
from types import ModuleType

import numpy as np

from shardcore.errors import ShardError
from shardcore.formats.bloscpack.blosc1 import (
    HEADER_SIZE,
    MIN_SPLIT_ELEMENTS,
    ChunkHeader,
    map_chunk,
    read_chunk_header,
    write_chunk_header,
)
from shardcore.formats.bloscpack.content import LARGE_CHUNK, THREADS
from shardcore.formats.bloscpack.decode import decompress
from shardcore.formats.bloscpack.layout import BLOCK_START, Flag

_CODEC_NUMBERS = {"blosclz": 0, "lz4": 1, "lz4hc": 1, "zlib": 3, "zstd": 4}
CODECS = tuple(_CODEC_NUMBERS)
LARGEST = 2**31 - 1 - 32
"""Plain bytes of the largest chunk that `blosc2` writes."""

AHEAD = 8
"""Chunks that threads compress ahead of writing."""

_VERSION = 2
_VARIABLES = tuple(
    f"BLOSC_{name}"
    for name in (
        *("BLOCKSIZE", "BLOSC1_COMPAT", "CLEVEL", "COMPRESSOR", "DELTA", "INFO", "NOLOCK", "NTHREADS", "SHUFFLE"),
        *("SPLITMODE", "TRACE", "TYPESIZE", "WARN"),
    )
)
"""Variables of the environment that `blosc2` reads."""
_SPLIT, _UNSPLIT = "FORWARD_COMPAT", "NEVER"
_one_at_a_time = threading.Lock()
"""The environment, and the compressor of `blosc2`, are those of the whole process."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How chunks are made.

    Attributes:
        codec: One of `CODECS`.
        level: 0 to 9.
        shuffle: Whether bytes are sorted by their place in the element.
        typesize: Bytes of an element; a chunk that is no whole number of elements is taken as single bytes.
    """

    codec: str
    level: int
    shuffle: bool
    typesize: int

    def chunk(self, plain: bytes) -> bytes:
        """The chunk of some plain bytes, which was read again; a plain copy where nothing else comes back right."""
        typesize = self.typesize_for(len(plain))
        if plain and self.level:
            for shuffle in (True, False) if self.shuffle and typesize > 1 else (self.shuffle,):
                chunk = self._compressed(plain, typesize, shuffle)
                if _is_copy(chunk):
                    break
                if comes_back(chunk, plain):
                    return chunk
        return write_chunk_header(self.copy_header(len(plain))) + plain

    def copy_header(self, size: int) -> ChunkHeader:
        """The header of a chunk that holds so many plain bytes as they are."""
        flags = _CODEC_NUMBERS[self.codec] << 5 | int(Flag.PLAIN_COPY | Flag.NOT_SPLIT)
        flags |= int(Flag.BYTE_SHUFFLE) if self.shuffle else 0
        return ChunkHeader(_VERSION, 1, flags, self.typesize_for(size), size, max(size, 1), HEADER_SIZE + size)

    def typesize_for(self, size: int) -> int:
        """The typesize of a chunk of so many plain bytes."""
        return 1 if size % self.typesize else self.typesize

    def _compressed(self, plain: bytes, typesize: int, shuffle: bool) -> bytes:
        blosc2 = _blosc2()
        codec = getattr(blosc2.Codec, self.codec.upper())
        kind = blosc2.Filter.SHUFFLE if shuffle else blosc2.Filter.NOFILTER
        split = _SPLIT if len(plain) // typesize >= MIN_SPLIT_ELEMENTS else _UNSPLIT
        with _environment(BLOSC_BLOSC1_COMPAT="1", BLOSC_SPLITMODE=split):
            try:
                found: bytes = blosc2.compress(plain, typesize, self.level, kind, codec)
            except (RuntimeError, ValueError):
                return b""
        return in_order(bytes([_VERSION]) + found[1:])


def comes_back(chunk: bytes, plain: bytes) -> bool:
    """Whether Blosc 1 takes the chunk as it is meant, and decompressing gives the plain bytes again."""
    if len(chunk) < HEADER_SIZE:
        return False
    header = read_chunk_header(chunk)
    if not (header.flags & int(Flag.NOT_SPLIT) or header.can_split):
        return False
    try:
        return decompress(chunk, limit=len(plain), threads=THREADS if len(plain) > LARGE_CHUNK else 1) == plain
    except ShardError:
        return False


def _is_copy(chunk: bytes) -> bool:
    return len(chunk) >= HEADER_SIZE and read_chunk_header(chunk).plain_copy


def in_order(chunk: bytes) -> bytes:
    """The chunk with its blocks in the order of their content: threads leave them as they came to an end."""
    header = read_chunk_header(chunk)
    if header.nblocks < 2 or header.ctbytes != len(chunk):
        return chunk
    starts = BLOCK_START.read(chunk, HEADER_SIZE, header.nblocks)["start"]
    if (starts[1:] > starts[:-1]).all():
        return chunk
    found = map_chunk(chunk, limit=header.nbytes)
    parts = [chunk[int(start) : found.block_stop(block)] for block, start in enumerate(found.starts.tolist())]
    first = HEADER_SIZE + header.nblocks * BLOCK_START.size
    rows = np.zeros(header.nblocks, BLOCK_START.dtype)
    rows["start"] = first + np.cumsum([0, *map(len, parts[:-1])])
    return b"".join([chunk[:HEADER_SIZE], BLOCK_START.write(rows), *parts])


def compressed(
    plains: Iterator[bytes], recipe: Recipe, chunk_size: int, workers: ThreadPoolExecutor | None = None
) -> Iterator[bytes]:
    """Yield the chunks of uncompressed bytes, in order; threads compress a few of them ahead.

    Args:
        plains: The uncompressed bytes of each chunk. The threads take them, one at a time: bytes that a thread reads
            itself are still in the cache of its core when it compresses them.
        recipe: How chunks are made.
        chunk_size: Plain bytes of the largest.
        workers: Threads that compress; None: the caller's alone.
    """
    if chunk_size > LARGE_CHUNK or workers is None:
        yield from map(recipe.chunk, plains)
        return
    first, second = next(plains, None), next(plains, None)
    if first is None or second is None:
        # One chunk is not worth a thread.
        yield from map(recipe.chunk, [] if first is None else [first])
        return
    numbered, taking = enumerate(chain([first, second], plains)), threading.Lock()
    # Reading is stopped, and counts, as in the caller's thread.
    context = copy_context()

    def one() -> tuple[int, bytes] | None:
        with taking:
            taken = context.run(next, numbered, None)
        return (taken[0], recipe.chunk(taken[1])) if taken is not None else None

    waiting = deque(workers.submit(one) for _ in range(AHEAD))
    done: dict[int, bytes] = {}
    following = 0
    try:
        while waiting:
            found = waiting.popleft().result()
            if found is not None:
                done[found[0]] = found[1]
                waiting.append(workers.submit(one))
            while following in done:
                yield done.pop(following)
                following += 1
    finally:
        for future in waiting:
            future.cancel()
        # The input may be closed after this.
        wait(waiting)


@contextmanager
def _environment(**wanted: str) -> Iterator[None]:
    """Sets the variables of Blosc in the environment of the process, these alone; one thread at a time."""
    with _one_at_a_time:
        # Not all names that begin so: to go through the environment takes as long as to compress a small chunk.
        before = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
        _replace_variables(before, wanted)
        try:
            yield
        finally:
            _replace_variables(wanted, before)


def _replace_variables(old: Mapping[str, str], new: Mapping[str, str]) -> None:
    for name in old.keys() - new.keys():
        del os.environ[name]
    os.environ.update(new)


@cache
def _blosc2() -> ModuleType:
    """`blosc2`, loaded at the first chunk, and told to release the interpreter lock."""
    blosc2 = import_module("blosc2")
    blosc2.set_releasegil(True)
    return blosc2
