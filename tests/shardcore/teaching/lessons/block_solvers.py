"""Solvers that know the text of the lessons alone: raw bytes in, the object out. They share no code with shardcore."""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MASK = 0xFFFFFFFF


def u4(data: bytes, at: int) -> int:
    """Four bytes, the lowest first."""
    return int.from_bytes(data[at : at + 4], "little")


def u8(data: bytes, at: int) -> int:
    """Eight bytes, the lowest first."""
    return int.from_bytes(data[at : at + 8], "little")


# --- LZ4: neither frame nor sequences are those of a library ---


def lz4_sequences(block: bytes, before: bytes = b"") -> bytes:
    """The sequences of a block, decoded; matches may begin in what was decoded before it."""
    out, at = bytearray(before), 0
    while at < len(block):
        token = block[at]
        literals, at = _counted(block, at + 1, token >> 4)
        out += block[at : at + literals]
        at += literals
        if at >= len(block):
            break
        offset = block[at] + 256 * block[at + 1]
        match, at = _counted(block, at + 2, token & 15)
        for _ in range(match + 4):
            out.append(out[-offset])
    return bytes(out[len(before) :])


def _counted(block: bytes, at: int, digit: int) -> tuple[int, int]:
    while digit >= 15:
        digit += block[at]
        at += 1
        if block[at - 1] != 255:
            break
    return digit, at


def lz4_frame(data: bytes) -> bytes:
    """A frame: magic, FLG, BD, a length where FLG has 8, a checksum byte, blocks, and a size of 0."""
    assert data[:4] == bytes.fromhex("04224d18")
    flags = data[4]
    at, out = 7 + (8 if flags & 8 else 0), b""
    while size := u4(data, at):
        block = data[at + 4 : at + 4 + size % (1 << 31)]
        out += block if size >> 31 else lz4_sequences(block, out)
        at += 4 + len(block) + (4 if flags & 16 else 0)
    return out


# --- neuroglancer ---


@dataclass(frozen=True)
class Value:
    """A value in its file.

    Attributes:
        file: The name of the shard file.
        entry: The number of its entry in its minishard.
        start: Where it begins in the file.
        content: Its bytes, decompressed.
    """

    file: str
    entry: int
    start: int
    content: bytes


def spec_in(info: Any) -> dict[str, Any]:
    """The sharding specification, wherever the info has it."""
    if isinstance(info, dict):
        if str(info.get("@type", "")).startswith("neuroglancer_uint64_sharded"):
            return info
        info = list(info.values())
    for part in info if isinstance(info, list) else ():
        if found := spec_in(part):
            return found
    return {}


def murmur(number: int) -> tuple[int, int]:
    """The table of the lesson, line by line: h1 and h2 at the end."""

    def r(x: int, n: int) -> int:
        return (x << n | x >> (32 - n)) & MASK

    def mix(x: int) -> int:
        x ^= x >> 16
        x = x * 0x85EBCA6B & MASK
        x ^= x >> 13
        x = x * 0xC2B2AE35 & MASK
        return x ^ (x >> 16)

    a = number % 2**32 * 0x239B961B & MASK
    h1 = (r(a, 15) * 0xAB0E9789 & MASK) ^ 8
    b = number // 2**32 * 0xAB0E9789 & MASK
    h2 = (r(b, 16) * 0x38B34AE5 & MASK) ^ 8
    s1 = (h1 + h2 + 16) & MASK
    s2, s3 = (h2 + s1) & MASK, (8 + s1) & MASK
    end = (mix(s1) + mix(s2) + 2 * mix(s3)) & MASK
    return end, (mix(s2) + end) & MASK


def shard_of(spec: dict[str, Any], key: int) -> tuple[str, int]:
    """The file of a key, and its minishard."""
    number = key // 2 ** spec["preshift_bits"]
    if spec["hash"] != "identity":
        low, high = murmur(number)
        number = high * 2**32 + low
    minishard = number % 2 ** spec["minishard_bits"]
    shard = number // 2 ** spec["minishard_bits"] % 2 ** spec["shard_bits"]
    digits = max((spec["shard_bits"] + 3) // 4, 1)
    return f"{shard:0{digits}x}.shard", minishard


def neuroglancer(folder: Path, key: int) -> Value | None:
    """The value of a key; None where one of three things proves that it was not stored."""
    infos = [at / "info" for at in (folder, *folder.parents) if (at / "info").is_file()]
    spec = spec_in(json.loads(infos[0].read_text()))
    name, minishard = shard_of(spec, key)
    found = next(iter(folder.rglob(name)), None)
    if found is None:
        return None
    data = found.read_bytes()
    base = 16 * 2 ** spec["minishard_bits"]
    start, stop = u8(data, 16 * minishard), u8(data, 16 * minishard + 8)
    if start == stop:
        return None
    rows = data[base + start : base + stop]
    if spec.get("minishard_index_encoding") == "gzip":
        rows = gzip.decompress(rows)
    count = len(rows) // 24
    total, at = 0, base
    for entry in range(count):
        total += u8(rows, 8 * entry)
        at += u8(rows, 8 * (count + entry))
        size = u8(rows, 8 * (2 * count + entry))
        if total == key:
            value = data[at : at + size]
            return Value(name, entry, at, gzip.decompress(value) if spec.get("data_encoding") == "gzip" else value)
        at += size
    return None


# --- bloscpack ---

CHECKSUMS = (0, 4, 4, 16, 20, 28, 32, 48, 64)


def blp_table(data: bytes) -> int:
    """The offset of what follows header and metadata."""
    return 64 + u4(data, 48) + CHECKSUMS[data[41]] if data[5] & 2 else 32


def blp_chunk(data: bytes, number: int) -> int:
    """The offset of a chunk: from the table, or by walking."""
    table = blp_table(data)
    nchunks = u8(data, 16)
    slots = nchunks + u8(data, 24) if data[5] & 1 else 0
    if slots and (at := int.from_bytes(data[table + 8 * number : table + 8 * number + 8], "little", signed=True)) != -1:
        return at
    at = table + 8 * slots
    for _ in range(number):
        at += u4(data, at + 12) + CHECKSUMS[data[6]]
    return at


def blosc(chunk: bytes) -> bytes:
    """A chunk with its header, decoded."""
    flags, typesize = chunk[2], chunk[3]
    nbytes, blocksize = u4(chunk, 4), u4(chunk, 8)
    if flags & 2:
        return chunk[16 : 16 + nbytes]
    out = b""
    for number in range((nbytes + blocksize - 1) // blocksize):
        size = min(blocksize, nbytes - number * blocksize)
        split = not flags & 16 and typesize <= 16 and blocksize // typesize >= 128 and size == blocksize
        streams = typesize if split else 1
        at, block = u4(chunk, 16 + 4 * number), b""
        for _ in range(streams):
            length = u4(chunk, at)
            stream = chunk[at + 4 : at + 4 + length]
            if length < size // streams:
                stream = zlib.decompress(stream) if flags // 32 == 3 else lz4_sequences(stream)
            block += stream
            at += 4 + length
        out += unshuffled(block, typesize) if flags & 1 and typesize > 1 else block
    return out


def unshuffled(block: bytes, typesize: int) -> bytes:
    """Byte j of number i is at place j · n + i."""
    n = len(block) // typesize
    numbers = bytes(block[j * n + i] for i in range(n) for j in range(typesize))
    return numbers + block[n * typesize :]


def bloscpack(data: bytes, element: int) -> bytes | None:
    """The bytes of an element, counted over the whole content; None where there is none."""
    size, chunk_size, last = data[7], u4(data, 8), u4(data, 12)
    byte = element * size
    if byte + size > (u8(data, 16) - 1) * chunk_size + last:
        return None
    at = blp_chunk(data, byte // chunk_size)
    within = byte % chunk_size
    return blosc(data[at : at + u4(data, at + 12)])[within : within + size]


# --- xorb ---


def xorb_records(data: bytes) -> list[tuple[int, int]]:
    """Start and end of each record: from the info block, else by walking."""
    begin = len(data) - 4 - u4(data, len(data) - 4)
    if data[begin : begin + 7] != b"XETBLOB":
        ends = []
        at = 0
        while at < len(data):
            at += 8 + int.from_bytes(data[at + 1 : at + 4], "little")
            ends.append(at)
    else:
        count = u4(data, begin + 40 + 8)
        first = begin + 40 + 12 + 32 * count + 12
        ends = [u4(data, first + 4 * number) for number in range(count)]
    return list(zip([0, *ends], ends, strict=False))


def xorb_number(data: bytes, text: str) -> int | None:
    """The first chunk with a hash, whose text has its four numbers in reverse order of bytes."""
    begin = len(data) - 4 - u4(data, len(data) - 4)
    stored = b"".join(bytes.fromhex(text[at : at + 16])[::-1] for at in range(0, 64, 16))
    for number in range(u4(data, begin + 48)):
        if data[begin + 52 + 32 * number : begin + 84 + 32 * number] == stored:
            return number
    return None


def xorb(data: bytes, key: str) -> bytes | None:
    """The chunk of a number or a hash; None where there is none."""
    number = xorb_number(data, key) if len(key) == 64 else int(key)
    places = xorb_records(data)
    if number is None or number >= len(places):
        return None
    start, stop = places[number]
    stored, scheme = data[start + 8 : stop], data[start + 4]
    if scheme == 0:
        return stored
    chunk = lz4_frame(stored)
    return ungrouped(chunk) if scheme == 2 else chunk


def ungrouped(planes: bytes) -> bytes:
    """One byte of each plane in turn: plane p of n bytes has (n + 3 - p) // 4 of them."""
    n, at, parts = len(planes), 0, []
    for p in range(4):
        length = (n + 3 - p) // 4
        parts.append(planes[at : at + length])
        at += length
    return bytes(parts[i % 4][i // 4] for i in range(n))
