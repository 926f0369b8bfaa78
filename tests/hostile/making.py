"""What the modules of hostile files share: the list of them, and pieces that attack any format."""

from __future__ import annotations

import functools
import os
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

GIB = 1 << 30
MEGABYTES = 10_000_000
"""Bytes of a hostile file, about; each stays below it."""

UNFIT = "\x1b[31mred\x1b]0;title\x07 \x9b2J \u202eevil\u2066\u200f \r\t\x00end"
"""Text that acts where it is printed: escape sequences, control characters, marks of direction."""


@dataclass(frozen=True)
class Hostile:
    """A hostile file.

    Attributes:
        format: The format it attacks.
        name: What it is called.
        make: Builds it below a folder, and returns what is to be opened.
        keys: Keys to look up in it.
        why: What it attacks.
        sparse: Whether it has more bytes than it takes on the disk.
    """

    format: str
    name: str
    make: Callable[[Path], Path]
    keys: tuple[str, ...]
    why: str
    sparse: bool = False
    many: bool = False

    def __str__(self) -> str:
        return f"{self.format}-{self.name}"


ALL: list[Hostile] = []


def hostile(format_name: str, *keys: str) -> Callable[[Callable[[Path], Path]], Callable[[Path], Path]]:
    """Puts a function on the list of hostile files.

    Args:
        format_name: The format that it attacks.
        keys: Keys to look up in it.
    """

    def listed(make: Callable[[Path], Path]) -> Callable[[Path], Path]:
        name = getattr(make, "__name__", "").replace("_", "-")
        why = (make.__doc__ or "").partition("\n")[0]
        ALL.append(Hostile(format_name, name, make, keys, why, "sparse" in name, "very-many" in name))
        return make

    return listed


def put(folder: Path, name: str, *parts: bytes) -> Path:
    """A file of some parts."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(parts))
    return path


def put_sparse(folder: Path, name: str, head: bytes, tail: bytes = b"", *, most: int = 2**63 - 2**20) -> int:
    """A file of a head, as large a hole as the file system lets have, and a tail; returns where the tail begins."""
    path = put(folder, name, head)
    with path.open("r+b") as file:
        for size in (2**63 - 2**20, 2**60, 2**43, 2**40):
            if size > most:
                continue
            try:
                file.seek(size)
                file.write(tail or b"\0")
                return size
            except OSError:
                file.truncate(len(head))
    return len(head)


def lead_out(folder: Path, names: Sequence[str]) -> None:
    """Members of a folder that are a FIFO, a link to itself, a link to a device, a folder, and a link out of it."""
    put(folder.parent, "secret", b"not yours")
    fifo, itself, device, inner, outside = names
    os.mkfifo(folder / fifo)
    (folder / itself).symlink_to(itself)
    (folder / device).symlink_to("/dev/zero")
    (folder / inner).mkdir()
    (folder / outside).symlink_to("../secret")


def _packed(engine: Any, size: int) -> bytes:
    piece = bytes(1 << 20)
    return b"".join(engine.compress(piece) for _ in range(size >> 20)) + engine.flush()


@functools.cache
def zstd_bomb(size: int = GIB) -> bytes:
    """A zstd frame of some 33 KB for each GiB of zeros; it does not state its size."""
    return _packed(zstandard.ZstdCompressor(level=1, write_content_size=False).compressobj(), size)


@functools.cache
def gzip_bomb(size: int = GIB) -> bytes:
    """A gzip member of about a MB for each GiB of zeros."""
    return _packed(zlib.compressobj(9, zlib.DEFLATED, 31), size)


@functools.cache
def zlib_bomb(size: int = GIB) -> bytes:
    """As `gzip_bomb`, a zlib stream."""
    return _packed(zlib.compressobj(9), size)


def zstd_wide(content: bytes = b"x") -> bytes:
    """A zstd frame whose window is 2 GiB."""
    # Descriptor 0: no content size, no checksum; window descriptor: exponent 21, 2**(10 + 21).
    return b"\x28\xb5\x2f\xfd\x00" + bytes([21 << 3]) + (1 | len(content) << 3).to_bytes(3, "little") + content


def lz4_frame(block_size: int, content_size: int, block: bytes, *, stated: int | None = None) -> bytes:
    """An LZ4 frame of one block.

    Args:
        block_size: The code of the largest block, 4 to 7 for 64 KiB to 4 MiB; others are not defined.
        content_size: The content size that the header states.
        block: The block, stored plain.
        stated: The size that the block states; its own by default.
    """
    descriptor = struct.pack("<BBQ", 0x68, block_size << 4, content_size)
    check = _xxh32(descriptor) >> 8 & 0xFF
    size = (len(block) if stated is None else stated) | 0x80000000
    return b"\x04\x22\x4d\x18" + descriptor + bytes([check]) + struct.pack("<I", size) + block + bytes(4)


def _xxh32(data: bytes) -> int:
    """XXH32 with seed 0 of fewer than 16 bytes."""
    mask = 0xFFFFFFFF
    at, value = 0, (374761393 + len(data)) & mask
    while at + 4 <= len(data):
        value = (value + int.from_bytes(data[at : at + 4], "little") * 3266489917) & mask
        value = (value << 17 | value >> 15) & mask
        value = value * 668265263 & mask
        at += 4
    for byte in data[at:]:
        value = (value + byte * 374761393) & mask
        value = (value << 11 | value >> 21) & mask
        value = value * 2654435761 & mask
    for shift, factor in ((15, 2246822519), (13, 3266489917)):
        value = (value ^ value >> shift) * factor & mask
    return value ^ value >> 16


def json_lists(size: int = MEGABYTES) -> bytes:
    """JSON of as many lists as fit."""
    return b"[" + b"[]," * (size // 3 - 2) + b"[]]"


def json_deep(depth: int = 1_000_000) -> bytes:
    """JSON nested as deep as fits."""
    return b"[" * depth + b"]" * depth


def json_escapes(size: int = MEGABYTES) -> bytes:
    """One JSON string of escapes."""
    return b'"' + b"\\\\" * (size // 2 - 2) + b'"'


def json_unended(size: int = MEGABYTES) -> bytes:
    """A JSON string of escaped quotes that does not end: quadratic for who tries each of them as a start."""
    return b'"' + b'\\"' * (size // 2 - 2)


def hostile_texts(format_name: str, prefix: str, make: Callable[[Path, bytes], Path], key: str) -> None:
    """Put JSON that costs much on the list of hostile files, once per kind.

    Args:
        format_name: The format that it attacks.
        prefix: What the files are called before the kind.
        make: Builds the file around a text below a folder, and returns what is to be opened.
        key: A key to look up in it.
    """
    for text in (json_lists, json_deep, json_escapes, json_unended):
        name = text.__name__.replace("json", prefix).replace("_", "-")
        built = functools.partial(lambda text, folder: make(folder, text()), text)
        ALL.append(Hostile(format_name, name, built, (key,), text.__doc__ or ""))
