"""Solvers that follow the printed rules of the lessons on raw bytes: nothing of the library is used here."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import zstandard

from tests.shardcore.teaching.lessons.block_solvers import lz4_frame, ungrouped

WORD = (1 << 32) - 1
RECORD, ENTRY = 48, 12


def little(data: bytes, at: int, size: int) -> int:
    """A number with its lowest byte first."""
    return int.from_bytes(data[at : at + size], "little")


def big(data: bytes, at: int, size: int = 8) -> int:
    """A number with its highest byte first."""
    return int.from_bytes(data[at : at + size], "big")


# --- Read Shards ---


def mixed(a: int, b: int, c: int) -> tuple[int, int, int]:
    """The nine lines of the mixer."""
    for x, y, z in ((13, 8, 13), (12, 16, 5), (3, 10, 15)):
        a = (a - b - c) & WORD ^ c >> x
        b = (b - c - a) & WORD ^ a << y & WORD
        c = (c - a - b) & WORD ^ b >> z
    return a, b, c


def hashed(key: bytes, seed: int) -> tuple[int, int, int]:
    """The three rounds: eight words of the key, then its length."""
    w = [little(key, 4 * number, 4) for number in range(8)] + [32]
    a, b, c = 0x9E3779B9, 0x9E3779B9, seed
    for first in (0, 3, 6):
        a, b, c = mixed(a + w[first] & WORD, b + w[first + 1] & WORD, c + w[first + 2] & WORD)
    return a, b, c


def swh(data: bytes, key: bytes) -> tuple[dict[str, int], bytes | None]:
    """The numbers on the way from a key to its object, and the content; None where it is not there."""
    index, hash_at = big(data, 64), big(data, 80)
    n, seed = little(data, hash_at + 7, 4), little(data, hash_at + 23, 4)
    buckets, r, bits, top = (little(data, hash_at + at, 4) for at in (31, 35, 39, 51))
    a, b, c = hashed(key, seed)
    g, f, h = a % buckets, b % n, c % (n - 1) + 1
    unary_at = hash_at + 55
    directory_at = unary_at + 4 * ((buckets + top + 31) // 32)
    low_at = directory_at + 4 * (buckets // 128 + 1)
    store_at = low_at + 4 * ((buckets * r + 31) // 32)

    def end(i: int) -> tuple[int, int]:
        at = little(data, directory_at + 4 * (i // 128), 4)
        for _ in range(i % 128):
            at += 1
            while not data[unary_at + at // 8] >> at % 8 & 1:
                at += 1
        low = little(data, low_at, store_at - low_at) >> i * r & (1 << r) - 1
        return at, (at - i << r) + low

    first = end(g - 1)[1] if g else 0
    one, last = end(g)
    k = last - first
    store = little(data, store_at, 4 * ((bits + 31) // 32))
    d = (store >> first & (1 << k) - 1) + (1 << k) - 1
    slot = (f + h * (d % n) + d // n) % n
    position = index + 40 * slot
    told = {"a": a, "g": g, "f": f, "h": h, "n": n, "d": d, "slot": slot, "position": position}
    told |= {"P": one, "end": last, "bits": k, "low": low_at}
    if data[position : position + 32] != key or big(data, position + 32) == (1 << 64) - 1:
        return told, None
    offset = big(data, position + 32)
    length = big(data, offset)
    return told | {"length": length}, data[offset + 8 : offset + 8 + length]


# --- Xet shards ---


def chunk_at(xorb: bytes, number: int) -> int:
    """The byte where a chunk begins: headers are walked."""
    at = 0
    for _ in range(number):
        at += 8 + little(xorb, at + 1, 3)
    return at


def chunk(xorb: bytes, at: int) -> bytes:
    """The content of a chunk, as its scheme says."""
    stored = xorb[at + 8 : at + 8 + little(xorb, at + 1, 3)]
    if xorb[at + 4] == 0:
        return stored
    plain = lz4_frame(stored)
    assert len(plain) == little(xorb, at + 5, 3)
    if xorb[at + 4] == 1:
        return plain
    return ungrouped(plain)


def printed(stored: bytes) -> str:
    """A hash as it is printed: each group of 8 bytes reversed."""
    return "".join(stored[at : at + 8][::-1].hex() for at in range(0, 32, 8))


def mdb(data: bytes, key: str, xorbs: Path) -> tuple[dict[str, int], bytes | None]:
    """The numbers on the way from the hash of a file to its chunks, and the content; None where it is not there."""
    footer = len(data) - 200
    info, table, count = (little(data, footer + at, 8) for at in (8, 24, 32))
    wanted = int(key[:16], 16)
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if little(data, table + ENTRY * middle, 8) < wanted:
            low = middle + 1
        else:
            high = middle
    told = {"entry": low}
    for entry in range(low, count):
        if little(data, table + ENTRY * entry, 8) != wanted:
            break
        record = info + RECORD * little(data, table + ENTRY * entry + 8, 4)
        if printed(data[record : record + 32]) == key:
            return _file(data, record, xorbs, told | {"record": record})
    return told, None


def _file(data: bytes, record: int, xorbs: Path, told: dict[str, int]) -> tuple[dict[str, int], bytes]:
    content = b""
    for number in range(little(data, record + 36, 4)):
        segment = record + RECORD * (number + 1)
        xorb = (xorbs / f"default.{printed(data[segment : segment + 32])}").read_bytes()
        first, last = little(data, segment + 40, 4), little(data, segment + 44, 4)
        told = {"chunk": first, "start": chunk_at(xorb, first)} | told
        content += b"".join(chunk(xorb, chunk_at(xorb, one)) for one in range(first, last))
    return told | {"byte": int.from_bytes(content[60:61])}, content


# --- DES ---


def des_entries(data: bytes) -> Iterator[tuple[bytes, int, tuple[int, int, int] | tuple[str, int]]]:
    """Uid, flags and where the content is, of every entry."""
    at = len(data) - 12 - little(data, len(data) - 8, 8)
    count, at = little(data, at, 4), at + 4
    for _ in range(count):
        size = little(data, at, 2)
        uid, at = data[at + 2 : at + 2 + size], at + 2 + size
        flags, at = data[at], at + 1
        if flags & 1:
            letters = little(data, at, 2)
            yield uid, flags, (data[at + 2 : at + 2 + letters].decode(), little(data, at + 2 + letters, 8))
            at += 2 + letters + 8
        else:
            yield uid, flags, (little(data, at, 8), little(data, at + 8, 8), data[at + 16])
            at += 33
        at += 4 + little(data, at, 4)


DECOMPRESS: dict[int, Callable[[bytes], bytes]] = {
    0: lambda stored: stored,
    1: zstandard.decompress,
    2: lz4_frame,
}


def des(folder: Path, uid: str, n_bits: int) -> tuple[dict[str, int | str], bytes | None]:
    """The numbers on the way from a uid to its content, and the content; None where it is not there."""
    number = int(uid) if uid.isdigit() else zlib.crc32(uid.encode())
    digits = f"{number % (1 << n_bits):0{max(1, n_bits // 4)}X}"
    told: dict[str, int | str] = {"hex": digits}
    found: bytes | None = None
    for path in sorted(folder.glob(f"*_{digits}_????.des")):
        data = path.read_bytes()
        told["index_start"] = len(data) - 12 - little(data, len(data) - 8, 8)
        for name, flags, place in des_entries(data):
            if name != uid.encode():
                continue
            told["flags"] = flags
            if len(place) == 2:
                found = (folder / "_bigFiles" / place[0]).read_bytes()
            else:
                offset, length, codec = place
                found = DECOMPRESS[codec](data[offset : offset + length])
            told["size"] = len(found)
        if found is not None:
            break
    return told, found


Told = dict[str, int | str]
Solve = Callable[[Path, str], tuple[Told, bytes | None]]

SOLVERS: dict[str, Solve] = {
    "swh": lambda path, key: _plain(swh(path.read_bytes(), bytes.fromhex(key))),
    "mdb": lambda path, key: _plain(mdb(path.read_bytes(), key, path.parent / "xorbs")),
    "des": lambda path, key: des(path, key, 8),
}


def _plain(found: tuple[dict[str, int], bytes | None]) -> tuple[Told, bytes | None]:
    return {**found[0]}, found[1]
