"""Compressing chunks with python-blosc, the Blosc 1 library of the reference implementation.

The library is configured to release the interpreter lock. It then compresses without its global state: several
threads at once, one per chunk, and without the `BLOSC_*` environment variables. Equal input gives equal bytes.

Bit shuffle is not written: readers based on Blosc 2 decode it differently if the number of elements per block is
not a multiple of 8.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import chain
from types import ModuleType

from shardcore.formats.bloscpack.blosc1 import HEADER_SIZE, ChunkHeader, write_chunk_header
from shardcore.formats.bloscpack.content import LARGE_CHUNK
from shardcore.formats.bloscpack.layout import Flag

_CODEC_NUMBERS = {"blosclz": 0, "lz4": 1, "lz4hc": 1, "zlib": 3, "zstd": 4}
CODECS = tuple(_CODEC_NUMBERS)
LARGEST = 2**31 - 1 - 32
"""Uncompressed size of the largest chunk that `blosc2` readers accept."""

AHEAD = 8
"""Chunks that threads compress ahead of writing."""

_VERSION = 2


@dataclass(frozen=True, slots=True)
class Recipe:
    """Compression settings of chunks.

    Attributes:
        codec: One of `CODECS`.
        level: 0 to 9.
        shuffle: Shuffle bytes.
        typesize: Bytes per element; a chunk whose size is not a multiple of it is compressed with typesize 1.
    """

    codec: str
    level: int
    shuffle: bool
    typesize: int

    def chunk(self, plain: bytes) -> bytes:
        """Return a chunk that decompresses to `plain`; stored uncompressed (memcpy) if the library's chunk does not."""
        if plain and self.level:
            blosc = _blosc()
            shuffle = blosc.SHUFFLE if self.shuffle else blosc.NOSHUFFLE
            chunk: bytes = blosc.compress(plain, self.typesize_for(len(plain)), self.level, shuffle, self.codec)
            if blosc.decompress(chunk) == plain:
                return chunk
        return write_chunk_header(self.copy_header(len(plain))) + plain

    def copy_header(self, size: int) -> ChunkHeader:
        flags = _CODEC_NUMBERS[self.codec] << 5 | int(Flag.MEMCPYED | Flag.NOT_SPLIT)
        flags |= int(Flag.BYTE_SHUFFLE) if self.shuffle else 0
        return ChunkHeader(_VERSION, 1, flags, self.typesize_for(size), size, max(size, 1), HEADER_SIZE + size)

    def typesize_for(self, size: int) -> int:
        return 1 if size % self.typesize else self.typesize


def compressed(
    plains: Iterator[bytes], recipe: Recipe, chunk_size: int, workers: ThreadPoolExecutor | None = None
) -> Iterator[bytes]:
    """Compress contents into chunks, in order; threads compress up to `AHEAD` chunks ahead."""
    if chunk_size > LARGE_CHUNK or workers is None:
        yield from map(recipe.chunk, plains)
        return
    first, second = next(plains, None), next(plains, None)
    if first is None or second is None:
        # One chunk is not worth a thread.
        yield from map(recipe.chunk, [] if first is None else [first])
        return
    numbered, taking = enumerate(chain([first, second], plains)), threading.Lock()
    # Context variables carry cancellation and budgets into the threads that read the input.
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
        # The caller closes the input after this.
        wait(waiting)


@cache
def _blosc() -> ModuleType:
    blosc = import_module("blosc")
    blosc.set_releasegil(True)
    blosc.set_nthreads(1)
    return blosc
