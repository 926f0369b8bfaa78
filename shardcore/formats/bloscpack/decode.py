"""Decompression of chunks with `blosc2`, after the structural check and with two corrections.

`blosc2` reads Blosc-1 chunks, except in two cases:

- Bit shuffle if nbytes or blocksize is not a multiple of typesize: the bytes after the last whole element are
  returned wrong, without an error. The flag is cleared in a copy, and the bit shuffle undone here.
- Chunks of Blosc before 1.5 have flag 0x10 clear although blocks of their sizes are never split; `blosc2` refuses
  them. The flag is set in a copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.decompress import decompress_stream
from shardcore.errors import FormatError
from shardcore.formats.bloscpack.blosc1 import (
    DEFAULT_LIMIT,
    HEADER_SIZE,
    ChunkHeader,
    check_chunk,
    map_chunk,
    write_chunk_header,
)
from shardcore.formats.bloscpack.layout import BLOCK_START, CHUNK_HEADER, STREAM_LENGTH, Flag
from shardcore.model.budget import charge_expanded
from shardcore.model.number_text import grouped_digits, plural
from shardcore.model.span import Span

if TYPE_CHECKING:
    from shardcore.codecs.decoder_process import IsolatedDecoder

_PIECE = 2**18
_UNSHUFFLE_SLAB = 2**20
"""Uncompressed bytes unshuffled at a time; their unpacked bits take eight times as much memory."""


def decompress(
    chunk: bytes | memoryview,
    *,
    limit: int = DEFAULT_LIMIT,
    place: Span | None = None,
    threads: int = 1,
    out: memoryview | None = None,
) -> bytes:
    """Check a chunk and decompress it; releases the interpreter lock, so threads can decompress chunks in parallel.

    Args:
        chunk: Exactly the bytes of the chunk, header included.
        limit: Uncompressed bytes allowed.
        place: Location of the chunk, for errors.
        threads: Threads for this one call; useful for a single large chunk.
        out: Writable buffer of exactly the uncompressed size, filled instead of allocating one.

    Returns:
        The uncompressed bytes; empty with `out`.
    """
    header = check_chunk(chunk, limit=limit, place=place)
    if out is not None and len(out) != header.nbytes:
        raise FormatError(
            f"the chunk has {plural(header.nbytes, 'uncompressed byte')}, not {grouped_digits(len(out))}", span=place
        )
    if header.nbytes == 0:
        return b""
    charge_expanded(header.nbytes)
    if header.memcpyed:
        plain = memoryview(chunk)[HEADER_SIZE:]
    elif _has_bit_shuffled_tail(header):
        plain = memoryview(_undo_bit_shuffle(_run(_patched(chunk, header), threads, None, place), header))
    else:
        source = _patched(chunk, header) if _lacks_split_flag(header) else chunk
        return _run(source, threads, out, place)
    if out is None:
        return bytes(plain)
    out[:] = plain
    return b""


def blosc_task(header: dict[str, Any], chunk: bytes) -> tuple[dict[str, Any], bytes]:
    return {}, decompress(chunk, limit=header["limit"])


def decompress_isolated(
    decoder: IsolatedDecoder, chunk: bytes | memoryview, *, limit: int = DEFAULT_LIMIT, place: Span | None = None
) -> bytes:
    """Decompress a chunk in a separate process; errors as for `decompress`."""
    return decoder.run("blosc", {}, chunk, limit=limit, place=place)[1]


def split_chunk(chunk: bytes | memoryview, most: int, *, place: Span | None = None) -> Iterator[bytes]:
    """Yield chunks with the blocks of a chunk, at most `most` uncompressed bytes each, to limit memory."""
    found = map_chunk(chunk, limit=2**32, place=place)
    header, view = found.header, memoryview(chunk)
    # A short last block stays with the one before it: alone it would have another blocksize.
    full, step = header.nbytes // header.blocksize, max(most // header.blocksize, 1)
    for first in range(0, full, step):
        last = first + step if first + step < full else header.nblocks
        blocks = [view[int(found.starts[block]) : found.block_stop(block)] for block in range(first, last)]
        ends = np.cumsum([HEADER_SIZE + BLOCK_START.size * len(blocks), *map(len, blocks)])
        nbytes = min(last * header.blocksize, header.nbytes) - first * header.blocksize
        head = write_chunk_header(replace(header, nbytes=nbytes, ctbytes=int(ends[-1])))
        yield b"".join((head, ends[:-1].astype(BLOCK_START.dtype["start"]).tobytes(), *blocks))


def stream_chunk(chunk: bytes | memoryview, codec: str, *, place: Span | None = None) -> None:
    """Check that every stream of a chunk decompresses, in pieces, without keeping the result."""
    found = map_chunk(chunk, limit=2**32, place=place)
    header, view = found.header, memoryview(chunk)
    short = header.nbytes % header.blocksize
    for block, (ats, sizes) in enumerate(zip(found.stream_at.tolist(), found.stream_size.tolist(), strict=True)):
        last = short and block == header.nblocks - 1
        plain = short if last else header.blocksize // header.streams
        for at, size in zip(ats, sizes, strict=True):
            if at < 0 or size == plain:
                continue  # missing streams of a short last block, and streams stored uncompressed
            first = at + STREAM_LENGTH.size
            pieces = (view[low : min(low + _PIECE, first + size)] for low in range(first, first + size, _PIECE))
            for _ in decompress_stream(codec, pieces, limit=plain, expected=plain, span=place):
                pass


def _has_bit_shuffled_tail(header: ChunkHeader) -> bool:
    tails = header.nbytes % header.typesize or header.blocksize % header.typesize
    return bool(header.flags & int(Flag.BIT_SHUFFLE) and tails)


def _lacks_split_flag(header: ChunkHeader) -> bool:
    return not header.flags & int(Flag.NOT_SPLIT) and not header.can_split


def _patched(chunk: bytes | memoryview, header: ChunkHeader) -> bytes:
    flags = header.flags
    if _has_bit_shuffled_tail(header):
        flags &= ~int(Flag.BIT_SHUFFLE)  # int, because the complement of an IntFlag clears the codec bits
    if _lacks_split_flag(header):
        flags |= Flag.NOT_SPLIT
    copy = bytearray(chunk)
    copy[CHUNK_HEADER.offsets["flags"]] = flags
    return bytes(copy)


@cache
def _blosc2() -> ModuleType:
    """Import `blosc2` on first use, because that takes a quarter of a second."""
    blosc2 = import_module("blosc2")
    blosc2.set_releasegil(True)
    return blosc2


def _run(chunk: bytes | memoryview, threads: int, out: memoryview | None, place: Span | None) -> bytes:
    """Call `decompress2`, which checks the length of its input and does not use the global context."""
    try:
        plain = _blosc2().decompress2(chunk, dst=out, nthreads=threads)
    except (RuntimeError, ValueError) as error:
        raise FormatError(f"decompressing the chunk failed: {error}", span=place) from error
    return plain if plain is not None else b""


def _undo_bit_shuffle(data: bytes, header: ChunkHeader) -> NDArray[np.uint8]:
    plain = np.frombuffer(data, np.uint8).copy()
    whole = header.nbytes // header.blocksize * header.blocksize
    _undo_in_blocks(plain[:whole].reshape(-1, header.blocksize), header.typesize)
    if whole < header.nbytes:
        _undo_in_blocks(plain[whole:].reshape(1, -1), header.typesize)
    return plain


def _undo_in_blocks(blocks: NDArray[np.uint8], typesize: int) -> None:
    """Undo the bit shuffle in place, in blocks of equal size, one per row.

    In a block of n elements, plane j of `8 * typesize` planes holds bit j of all n, lowest bit first. Bytes after the
    last whole element are unchanged. Blocks whose n is not a multiple of 8 were not shuffled.
    """
    elements = blocks.shape[1] // typesize
    if elements == 0 or elements % 8:
        return
    width = elements * typesize
    at_once, step = max(_UNSHUFFLE_SLAB // width, 1), max(_UNSHUFFLE_SLAB // (8 * typesize), 1)
    for top in range(0, len(blocks), at_once):
        slab = blocks[top : top + at_once, :width]
        planes = np.array(slab).reshape(len(slab), 8 * typesize, elements // 8)
        for first in range(0, elements // 8, step):
            bits = np.unpackbits(planes[:, :, first : first + step], axis=2, bitorder="little")
            rows = np.packbits(bits.transpose(0, 2, 1), axis=2, bitorder="little").reshape(len(slab), -1)
            start = 8 * first * typesize
            slab[:, start : start + rows.shape[1]] = rows
