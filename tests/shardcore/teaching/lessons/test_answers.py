"""Every answer of every lesson is computed again from the bytes of its file, without the expressions of the lesson."""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from shardcore import DataSet
from shardcore.teaching.lessons.answers import number_of, solution
from shardcore.teaching.lessons.lesson import Answer, Lesson, Show
from shardcore.teaching.lessons.library import lessons
from shardcore.teaching.lessons.stage import LessonStage, drawn
from tests.shardcore.teaching.lessons.block_solvers import (
    CHECKSUMS,
    Value,
    bloscpack,
    blp_chunk,
    blp_table,
    lz4_sequences,
    murmur,
    neuroglancer,
    shard_of,
    spec_in,
    ungrouped,
    unshuffled,
    xorb,
)
from tests.shardcore.teaching.lessons.solvers import chunk, chunk_at, des, mdb, printed, swh
from tests.shardcore.teaching.lessons.test_every_lesson import stages_of


@dataclass(frozen=True)
class Bytes:
    """The bytes to click, half-open."""

    start: int
    stop: int


@dataclass(frozen=True)
class Clicked:
    """The item of a drawing to click, and what proves that it is the right one: its text, or its bytes."""

    name: str
    proof: str | Bytes


class File:
    """The file of a step, its key, and its numbers.

    Attributes:
        path: The file or folder.
        key: The key of the lesson.
    """

    def __init__(self, stage: LessonStage) -> None:
        shard = stage.scene.shard
        self.path = Path(shard.folder.uri if isinstance(shard, DataSet) else shard.source.uri if shard.source else "")
        self.key = stage.scene.key

    def data(self, name: str = "") -> bytes:
        """The bytes of the file, or of one in the folder."""
        return (self.path / name).read_bytes()

    def at(self, form: str, offset: int, name: str = "") -> int:
        """One number, by its form for `struct`."""
        number: int = struct.unpack_from(form, self.data(name), offset)[0]
        return number


Expected = int | str | Bytes | Clicked
Answers = dict[int, Callable[[File], Expected]]
"""The answer to the question of a step, from 1."""

BE, LE, LE4 = ">Q", "<Q", "<I"


# --- swh ---


def by_hand(file: File, key: str = "") -> dict[str, int]:
    """The numbers on the way from a key to its object."""
    return swh(file.data(), bytes.fromhex(key or file.key))[0]


def slot_key(file: File) -> Bytes:
    """The key in the slot of the key."""
    at = by_hand(file)["position"]
    return Bytes(at, at + 32)


def mixing(file: File, lines: int, name: str) -> int:
    """One of a, b and c after so many lines of round 1."""
    w = struct.unpack("<3I", bytes.fromhex(file.key)[:12])
    starts = (0x9E3779B9, 0x9E3779B9, file.at(LE4, file.at(BE, 80) + 23))
    state = [start + word & 0xFFFFFFFF for start, word in zip(starts, w, strict=True)]
    for number, shift in enumerate((13, -8, 13, 12, -16, 5, 3, -10, 15)[:lines]):
        one, second, third = (number % 3, (number + 1) % 3, (number + 2) % 3)
        shifted = state[third] >> shift if shift > 0 else state[third] << -shift
        state[one] = (state[one] - state[second] - state[third] ^ shifted) & 0xFFFFFFFF
    return state["abc".index(name)]


def swh_object(file: File, number: int) -> int:
    """The offset of an object, by walking from the first."""
    at = file.at(BE, 48)
    for _ in range(number):
        at += 8 + file.at(BE, at)
    return at


def swh_slot(file: File, number: int) -> int:
    """The offset of a slot."""
    return file.at(BE, 64) + 40 * number


def swh_offset(file: File) -> int:
    """The offset of the object of the key: of the slot that contains the key, found by a scan of the index."""
    return file.at(BE, file.data().index(bytes.fromhex(file.key), file.at(BE, 64)) + 32)


def jumped(file: File) -> Clicked:
    """The slot after one jump."""
    told = by_hand(file)
    slot = (told["f"] + told["h"]) % told["n"]
    return Clicked(f"slot {slot}", Bytes(swh_slot(file, slot), swh_slot(file, slot) + 40))


WHAT_IS_A_SHARD: Answers = {
    1: lambda _: "A reader could not find where one ends and the next begins",
    2: lambda file: Bytes(file.at(BE, 48), file.at(BE, 64)),
    3: lambda file: Bytes(0, 32),
    4: lambda file: file.at(BE, 64),
    5: lambda file: "Big-endian" if file.data()[47] == file.at(BE, 40) else "Little-endian",
    6: lambda _: 40_000_000_000,
    7: lambda file: len(file.key),
    8: lambda file: file.at(BE, swh_offset(file)),
    10: lambda file: file.at(BE, swh_offset(file)),
}
SWH_1: Answers = {
    1: lambda _: "objects_count",
    2: lambda file: Bytes(88, file.at(BE, 48)),
    3: lambda file: Bytes(swh_object(file, 2), swh_object(file, 2) + 8),
    4: lambda file: swh_object(file, 3),
    5: lambda file: swh_slot(file, 7),
    6: lambda file: file.at(BE, swh_slot(file, 5) + 32),
    7: lambda file: file.at(BE, 72) // 40 - file.at(BE, 40),
    8: lambda file: 39 + file.at(LE4, file.at(BE, 80) + 27),
    9: lambda file: swh_offset(file) + 8,
}
SWH_2: Answers = {
    1: lambda file: file.at(BE, 72) // 40,
    2: lambda _: "It would be possible, but finding the parameters takes much longer",
    3: lambda file: Bytes(file.at(BE, 80) + 23, file.at(BE, 80) + 27),
    4: jumped,
    5: lambda file: by_hand(file)["d"] % by_hand(file)["n"],
    6: lambda file: by_hand(file)["slot"],
    7: slot_key,
    8: lambda _: "One slot is read, and that key is not in it",
    9: lambda file: by_hand(file)["slot"],
}
SWH_3: Answers = {
    1: lambda file: file.at(BE, 72) // 40,
    2: lambda file: file.at(BE, 80) + 23,
    3: lambda file: int.from_bytes(bytes.fromhex(file.key)[4:8], "little"),
    4: lambda file: mixing(file, 0, "b"),
    5: lambda _: (1 << 32) + 3 - 7 - 1,
    6: lambda file: " ".join(f"{mixing(file, 9, name):08x}" for name in "abc"),
    7: lambda file: len(bytes.fromhex(file.key)),
    8: lambda file: by_hand(file)["h"],
    9: lambda file: by_hand(file)["a"],
    10: lambda file: by_hand(file)["f"],
}
SWH_4: Answers = {
    1: lambda file: by_hand(file)["low"],
    2: lambda _: 55 + 72 + 12,
    3: lambda _: int.from_bytes(bytes.fromhex("1402"), "little").bit_length() - 1,
    4: lambda file: by_hand(file)["P"],
    5: lambda _: 300 % 128,
    6: lambda file: by_hand(file)["end"],
    7: lambda file: by_hand(file)["bits"],
    8: lambda file: by_hand(file)["d"],
    9: lambda file: by_hand(file, ABSENT)["position"],
    10: lambda file: file.at(BE, swh_slot(file, 3) + 32) + 8,
    11: lambda file: by_hand(file)["g"],
    12: lambda file: by_hand(file)["d"],
    13: lambda file: by_hand(file)["position"],
    14: lambda file: file.at(BE, swh_offset(file)),
    15: lambda file: by_hand(file, "3cf2ab74b8d7e9d4a3a9ce0e1f6a54cbb5d03e0f0cd47e4c8a2f6c1b9e7d5a31")["slot"],
}
ABSENT = "fddabd4dc71ee42edfa53b2b618f94c7fcd5f0647d4c7739cd2982dc5e0ef28a"


# --- bloscpack ---


def blp_element(file: File) -> int:
    """Element [52,21] of an array of 58 rows of 64 numbers."""
    length = file.at(LE4, 32 + 20)
    described = json.loads(zlib.decompress(file.data()[64 : 64 + length]))
    assert described["shape"] == [58, 64]
    assert described["order"] == "C"
    return 52 * 64 + 21


def blp_split(file: File) -> tuple[int, int]:
    """The chunk of the uncompressed byte of the key, and the byte in the chunk."""
    return divmod(blp_element(file) * file.data()[7], file.at("<i", 8))


def blp_walk(file: File, number: int) -> int:
    """The offset of a chunk, by walking from the first, which the first slot of the table contains."""
    data = file.data()
    at = file.at(LE, blp_table(data)) if data[5] & 1 else blp_table(data)
    for _ in range(number):
        at += file.at(LE4, at + 12) + CHECKSUMS[data[6]]
    return at


def blp_requested(file: File) -> int:
    """The element that is requested of a fresh file, which is near its key."""
    return int(file.key) * 512 + 293


def blp_found(file: File) -> int:
    """The offset of the chunk with the requested element."""
    return blp_chunk(file.data(), blp_requested(file) * 8 // file.at("<i", 8))


BLOSCPACK_1: Answers = {
    1: lambda file: file.at(LE, 16),
    2: lambda file: sum(file.at(LE4, blp_walk(file, number) + 4) for number in range(file.at(LE, 16))),
    3: lambda file: file.at(LE4, 32 + 16),
    4: lambda file: blp_table(file.data()),
    5: lambda file: blp_walk(file, 1),
    6: lambda _: "Append chunks at the end of the file",
    7: lambda file: Bytes(blp_walk(file, 0) + 12, blp_walk(file, 0) + 16),
    8: lambda file: blp_walk(file, 2),
    9: lambda _: "Random bytes",
    10: lambda file: blp_walk(file, 5),
    11: lambda file: blp_walk(file, 2),
}
BLOSCPACK_2: Answers = {
    1: blp_element,
    2: lambda file: blp_element(file) * file.data()[7],
    3: lambda file: blp_split(file)[0],
    4: lambda file: blp_split(file)[1],
    5: lambda file: Clicked("slot 2", Bytes(blp_table(file.data()) + 16, blp_table(file.data()) + 24)),
    6: lambda file: blp_split(file)[1] // file.at(LE4, blp_walk(file, 2) + 8),
    7: lambda file: blp_split(file)[1] // file.data()[blp_walk(file, 2) + 3],
    8: lambda _: "The offset of the chunk, then the chunk or a block of it",
    9: lambda _: 58 * 64,
    10: blp_found,
}
BLOSCPACK_3: Answers = {
    1: lambda file: 16 + file.at(LE4, 16 + 12),
    2: lambda file: "Uncompressed" if file.data()[file.data().index(b"\2\1\x33\x08") + 2] & 2 else "",
    3: lambda file: file.data().index(b"\2\1\x33\x08") + 16 + 56,
    4: lambda file: file.at(LE4, 20) - 2 * file.at(LE4, 24),
    5: lambda file: 16 + file.at(LE4, 36),
    6: lambda file: file.data()[19],
    7: lambda _: "512 bytes compressed with LZ4",
    8: lambda _: len(lz4_sequences(bytes.fromhex("326162630300"))),
    9: lambda _: next(at for at in range(4096) if unshuffled(bytes(at) + b"x" + bytes(4095 - at), 8)[42]),
    10: lambda _: "It was written so: the checksum is of the stored bytes",
    11: lambda file: int.from_bytes(bloscpack(file.data(), blp_requested(file)) or b"", "little"),
    12: lambda file: blp_found(file) + 20 + 4 + file.at(LE4, blp_found(file) + 20) + 4,
}


# --- des ---

DES = "20260105_2A_0000.des"


def des_index(file: File, name: str = "") -> int:
    """The offset of the index, from the end of the file."""
    size = len(file.data(name))
    return size - 12 - file.at(LE, size - 8, name)


def des_entry(file: File, number: int, name: str = "") -> tuple[int, int]:
    """The offsets of the uid and of the flags of an entry, by walking from the first; all are inline."""
    at = des_index(file, name) + 4
    for _ in range(number + 1):
        uid, flags = at + 2, at + 2 + file.at("<H", at, name)
        assert not file.data(name)[flags]
        at = flags + 1 + 33 + 4 + file.at(LE4, flags + 34, name)
    return uid, flags


def des_content(file: File) -> Bytes:
    """The content of entry 2."""
    _, flags = des_entry(file, 2, DES)
    start = file.at(LE, flags + 1, DES)
    return Bytes(start, start + file.at(LE, flags + 9, DES))


DES_1: Answers = {
    1: lambda file: len(file.data(DES)) - file.data(DES).rindex(b"DESI"),
    2: lambda file: des_index(file, DES),
    3: lambda file: file.at(LE4, des_index(file, DES), DES),
    4: lambda file: Bytes(*des_entry(file, 2, DES)),
    5: lambda _: "Uids and metadata differ in length, so each entry must be read to know where the next begins",
    6: lambda file: "In this file" if not file.data(DES)[des_entry(file, 2, DES)[1]] & 1 else "In a BigFile",
    7: des_content,
    8: lambda _: "The object, as if it had never been deleted",
    9: lambda file: des_entry(file, 0)[0],
}
DES_2: Answers = {
    1: lambda _: "The day of the document",
    2: lambda file: 2090 % 256,
    3: lambda file: f"{2090 % 256:02X}",
    4: lambda _: Clicked("hex", "2A"),
    5: lambda _: "Yes: both are the number 42",
    6: lambda file: len(list(file.path.glob("20260105_2A_*.des"))),
    7: lambda file: file.at(LE4, des_index(file, DES), DES),
    8: lambda _: "The content of the last",
    9: lambda _: "The rule names the only files it may be in, and all their entries were compared",
    10: lambda file: f"{int(file.key) % 256:02X}",
}


def by_uid(file: File, uid: str = "") -> dict[str, int | str]:
    """The numbers on the way from a uid to its content."""
    return des(file.path, uid or file.key, 8)[0]


def des_bigfile(file: File) -> int:
    """The size of the only BigFile."""
    return len(next((file.path / "_bigFiles").iterdir()).read_bytes())


DES_3: Answers = {
    1: lambda file: des_entry(file, 2, DES)[1] + 1 + 16,
    2: lambda file: des_entry(file, 3, DES)[0] - 2,
    3: lambda file: file.at(LE, des_entry(file, 3, DES)[1] + 1 + 17 + 8, DES),
    4: des_bigfile,
    5: lambda file: f"The letter {next((file.path / '_bigFiles').iterdir()).name[0]}",
    6: lambda file: by_uid(file, "invoice-2026-017")["hex"],
    7: lambda _: f"{298 % (1 << 9):X}",
    8: lambda _: "20260105",
    9: lambda file: "That it was deleted" if "tombstones" in json.loads(file.data("20260105_88_0000.meta")) else "",
    10: lambda file: by_uid(file)["hex"],
    11: lambda file: by_uid(file)["index_start"],
    12: lambda file: by_uid(file)["flags"],
    13: lambda file: by_uid(file)["size"],
    14: lambda file: by_uid(file, "61234")["hex"],
}


# --- mdb ---

MDB_FILES, MDB_XORBS, MDB_FILE_TABLE = 8, 16, 24
"""Offsets of fields in the footer."""


def footer(file: File, field: int) -> int:
    """A field of the footer."""
    return file.at(LE, len(file.data()) - 200 + field)


def reconstructions(file: File) -> list[tuple[int, int]]:
    """The offsets and numbers of records of all reconstructions."""
    found, at = [], footer(file, MDB_FILES)
    while file.data()[at : at + 32] != b"\xff" * 32:
        flags, entries = file.at(LE4, at + 32), file.at(LE4, at + 36)
        records = 1 + entries * (2 if flags >> 31 else 1) + (flags >> 30 & 1)
        found.append((at, records))
        at += 48 * records
    return found


def ranges(file: File, number: int) -> list[range]:
    """The ranges of chunks of a reconstruction."""
    at, _ = reconstructions(file)[number]
    segments = [at + 48 * (1 + one) for one in range(file.at(LE4, at + 36))]
    return [range(file.at(LE4, one + 40), file.at(LE4, one + 44)) for one in segments]


def table_row(file: File) -> int:
    """The row of the file table with the first 16 digits of the key."""
    wanted, table = int(file.key[:16], 16), footer(file, MDB_FILE_TABLE)
    return next(row for row in range(footer(file, 32)) if file.at(LE, table + 12 * row) == wanted)


def same_chunks(file: File) -> str:
    """The chunks that the reconstructions 1 and 2 share."""
    sets = [{one for some in ranges(file, number) for one in some} for number in (1, 2)]
    return f"Chunks {' and '.join(map(str, sorted(sets[0] & sets[1])))}"


def reconstruction_of(file: File) -> int:
    """The offset of the reconstruction of the key, found by its complete hash."""
    stored = b"".join(bytes.fromhex(file.key[at : at + 16])[::-1] for at in range(0, 64, 16))
    return next(at for at, _ in reconstructions(file) if file.data()[at : at + 32] == stored)


MDB_1: Answers = {
    1: lambda _: "file info",
    2: lambda file: reconstructions(file)[0][1],
    3: lambda file: Bytes(reconstructions(file)[1][0] + 36, reconstructions(file)[1][0] + 40),
    4: lambda file: ranges(file, 2)[0][-1],
    5: lambda file: sum(map(len, ranges(file, 1))),
    6: same_chunks,
    7: lambda file: file.at(LE4, footer(file, MDB_XORBS) + 36),
    8: lambda file: (footer(file, 40) - footer(file, MDB_FILE_TABLE)) // footer(file, 32),
    9: lambda file: 48 * (1 + file.at(LE4, footer(file, MDB_XORBS) + 36)),
}
MDB_2: Answers = {
    1: lambda _: len((b"\0" * 8).hex()),
    2: lambda _: "No: each group of eight bytes is reversed",
    3: table_row,
    4: lambda file: Bytes(*(footer(file, MDB_FILE_TABLE) + 12 * table_row(file) + at for at in (8, 12))),
    5: lambda file: 48 + 48 * file.at(LE4, footer(file, MDB_FILE_TABLE) + 24 + 8),
    6: lambda file: Clicked("record", Bytes(reconstruction_of(file), reconstruction_of(file) + 48)),
    7: lambda _: "The truncated hash is only 8 bytes: another hash may have the same",
    8: lambda _: "In a xorb, in another file",
    9: lambda _: 0,
    10: reconstruction_of,
}


def xorb_of(file: File) -> bytes:
    """The xorb of the first segment of the key."""
    at = reconstruction_of(file) + 48
    return (file.path.parent / "xorbs" / f"default.{printed(file.data()[at : at + 32])}").read_bytes()


def by_hash(file: File, key: str = "") -> dict[str, int]:
    """The numbers on the way from the hash of a file to its content."""
    return mdb(file.data(), key or file.key, file.path.parent / "xorbs")[0]


MDB_3: Answers = {
    1: lambda file: len(file.data()) - 200 + 24,
    2: lambda file: footer(file, MDB_XORBS),
    3: lambda file: int(file.key[14:16], 16),
    4: table_row,
    5: reconstruction_of,
    6: lambda file: reconstruction_of(file) + 2 * 48,
    7: lambda file: file.at(LE4, reconstruction_of(file) + 2 * 48 + 36),
    8: lambda _: (
        "Neighbours in the table with the same truncated hash are also compared; if none fits, the file "
        "is not in the shard"
    ),
    9: table_row,
    10: reconstruction_of,
    11: lambda file: file.at(LE4, reconstruction_of(file) + 48 + 40),
}
MDB_4: Answers = {
    1: lambda file: printed(file.data()[reconstruction_of(file) + 96 :][:32])[:16],
    2: lambda file: chunk_at(xorb_of(file), 1),
    3: lambda file: len(chunk(xorb_of(file), chunk_at(xorb_of(file), 6))),
    4: lambda file: int.from_bytes(xorb_of(file)[8 + 7 : 8 + 11], "little"),
    5: lambda _: len(lz4_sequences(bytes.fromhex("3261626303001021"))) - len("abc!"),
    6: lambda _: ungrouped(bytes.fromhex("30343831353932363337"))[1:2].hex(),
    7: lambda file: sum(file.at(LE4, reconstruction_of(file) + 48 * one + 36) for one in (1, 2)),
    8: reconstruction_of,
    9: lambda file: by_hash(file)["start"],
    10: lambda file: by_hash(file)["byte"],
    11: lambda file: by_hash(file, "5baaad9078484f22d44f82ba555ae5892233d94389ba132c81e6421fcd4e8c68")["entry"],
}


# --- neuroglancer ---


def minishard_index(file: File, name: str, number: int) -> tuple[int, list[int], list[int], list[int]]:
    """The offset of a minishard index, and its three rows, of an index that is raw."""
    base = 16 << sharding(file)["minishard_bits"]
    start, stop = (base + file.at(LE, 16 * number + at, name) for at in (0, 8))
    numbers = struct.unpack(f"<{(stop - start) // 8}Q", file.data(name)[start:stop])
    count = len(numbers) // 3
    return start, *(list(numbers[row * count : (row + 1) * count]) for row in range(3))


def sharding(file: File) -> dict[str, int]:
    """The sharding specification, which for a volume is in the folder above."""
    return spec_in(json.loads(file.data("info" if (file.path / "info").is_file() else "../info")))


def list_of(file: File) -> tuple[int, int]:
    """Start and end of the minishard index of the key in its file."""
    name, minishard = shard_of(sharding(file), int(file.key))
    base = 16 << sharding(file)["minishard_bits"]
    return base + file.at(LE, 16 * minishard, name), base + file.at(LE, 16 * minishard + 8, name)


def value_of(file: File) -> Value:
    """The value of the key."""
    found = neuroglancer(file.path, int(file.key))
    assert found is not None
    return found


def letters(file: File) -> str:
    """The first three letters of the first word of the value."""
    return value_of(file).content.decode().split()[1][:3]


def second_value(file: File) -> int:
    """The offset of the second value of minishard 0, found by its bytes."""
    return file.data("0.shard").index(b"nine")


def value_1(file: File) -> int:
    """The offset of value 1 of minishard 2."""
    _, _, offsets, sizes = minishard_index(file, "0.shard", 2)
    return 64 + offsets[0] + sizes[0] + offsets[1]


def product(file: File) -> int:
    """The first product of the hash."""
    return (int(file.key) >> 2) * 0x239B961B % 2**32


NEUROGLANCER_1: Answers = {
    1: lambda file: sum(
        len(minishard_index(file, name, number)[1]) for name in ("0.shard", "1.shard") for number in range(2)
    ),
    2: lambda file: 2 ** sharding(file)["shard_bits"],
    3: lambda file: 2 ** sharding(file)["minishard_bits"] * 16,
    4: lambda file: minishard_index(file, "0.shard", 0)[0],
    5: lambda file: "start 24, end 24" if file.at(LE, 16, "1.shard") == file.at(LE, 24, "1.shard") else "",
    6: lambda file: len(minishard_index(file, "0.shard", 0)[1]),
    7: lambda file: sum(minishard_index(file, "0.shard", 0)[1][:2]),
    8: second_value,
    9: value_1,
}
NEUROGLANCER_2: Answers = {
    1: lambda _: "data_encoding",
    2: lambda file: f"{int(file.key):b}",
    3: lambda file: int(file.key) >> 1,
    4: lambda _: "All of them are in minishard 0",
    5: lambda file: shard_of(sharding(file), int(file.key))[1],
    6: lambda file: int(shard_of(sharding(file), int(file.key))[0][:1]),
    7: lambda _: shard_of({**IDENTITY, "shard_bits": 9}, 43)[0],
    8: lambda file: Bytes(*(16 * (shard_of(sharding(file), int(file.key))[1] + more) for more in (0, 1))),
    9: lambda file: list_of(file)[0],
    10: lambda file: value_of(file).entry,
    11: lambda file: Clicked("start", str(value_of(file).start)),
    12: lambda file: shard_of(sharding(file), 54)[1],
    13: lambda file: value_of(file).start,
    14: letters,
}
NEUROGLANCER_3: Answers = {
    1: lambda _: 12_884_901_893 & 0xFFFFFFFF,
    2: lambda _: 0x00000018,
    3: product,
    4: lambda file: int(f"{product(file):032b}"[15:] + f"{product(file):032b}"[:15], 2),
    5: lambda file: Clicked("h1 at the end", f"{murmur(int(file.key) >> 2)[0]:08x}"),
    6: lambda file: shard_of(sharding(file), int(file.key))[1],
    7: lambda file: len(gzip.decompress(file.data("0.shard")[slice(*list_of(file))])) // 24,
    8: lambda file: value_of(file).entry,
    9: lambda _: "The size of the gzip member, as it is stored",
    10: lambda _: 3,
    11: lambda file: value_of(file).file,
    12: lambda file: value_of(file).start,
    13: letters,
}
IDENTITY = {"preshift_bits": 0, "hash": "identity", "minishard_bits": 0}


# --- xorb ---


def records(file: File) -> list[tuple[int, int, int, int]]:
    """Offset, stored size, scheme and uncompressed size of all records, by walking."""
    data, at, found = file.data(), 0, []
    while at < len(data) and data[at : at + 7] != b"XETBLOB":
        stored, size = (int.from_bytes(data[at + first : at + first + 3], "little") for first in (1, 5))
        found.append((at, stored, data[at + 4], size))
        at += 8 + stored
    return found


def info_list(file: File, magic: bytes) -> int:
    """The offset of the first entry of a list of the info block."""
    return file.data().rindex(magic) + 8 + 4


def equal_chunk(file: File) -> int:
    """The first chunk with the same hash as chunk 5."""
    data, at = file.data(), info_list(file, b"XBLBHSH")
    hashes = [data[at + 32 * number : at + 32 * number + 32] for number in range(len(records(file)))]
    return hashes.index(hashes[5])


def record_end(file: File, number: int) -> int:
    """The end of a record."""
    at, stored, _, _ = records(file)[number]
    return at + 8 + stored


def holds_byte(file: File) -> Clicked:
    """The record with the uncompressed byte that is 100 after the end of chunk 3."""
    sizes = [size for *_, size in records(file)]
    wanted = sum(sizes[:4]) + 100
    number = next(number for number in range(len(sizes)) if sum(sizes[: number + 1]) > wanted)
    return Clicked(f"stored {number}", Bytes(records(file)[number][0], record_end(file, number)))


SCHEMES = ("Uncompressed", "LZ4", "BG4, then LZ4")


def chunk_letters(file: File) -> str:
    """The first four letters of the chunk."""
    return (xorb(file.data(), file.key) or b"")[:4].decode()


XORB_1: Answers = {
    1: lambda file: len(records(file)),
    2: lambda _: Bytes(1, 4),
    3: lambda file: records(file)[1][1],
    4: lambda file: records(file)[2][0],
    5: lambda file: SCHEMES[records(file)[1][2]],
    6: lambda _: Clicked("plane byte 6", "Byte 2 of number 1"),
    7: lambda file: (
        "Its bytes look random, and LZ4 would make it longer"
        if records(file)[4][2] == 0
        and len(zlib.compress(file.data()[records(file)[4][0] + 8 : record_end(file, 4)])) > records(file)[4][3]
        else ""
    ),
    8: equal_chunk,
    9: lambda file: file.data().index(b"XETBLOB"),
    10: lambda file: info_list(file, b"XBLBBND"),
    11: lambda file: records(file)[3][0],
    12: lambda file: record_end(file, 5),
}
XORB_2: Answers = {
    1: lambda file: int(file.key) - 1,
    2: lambda file: Bytes(*(info_list(file, b"XBLBBND") + 4 * (int(file.key) + more) for more in (0, 1))),
    3: lambda file: record_end(file, int(file.key)) - records(file)[int(file.key)][0],
    4: lambda file: records(file)[int(file.key)][1],
    5: lambda _: bytes([1, 2, 3, 4, 5, 6, 7, 8])[::-1].hex()[:4],
    6: lambda _: "It compares one after the other",
    7: lambda _: "Decompress chunk after chunk, and hash each",
    8: holds_byte,
    9: lambda file: records(file)[int(file.key)][0] + 8,
    10: lambda _: 7,
}
XORB_3: Answers = {
    1: lambda file: records(file)[4][0] + 8 + 100,
    2: lambda file: file.at(LE4, records(file)[3][0] + 8 + 7),
    3: lambda _: 5,
    4: lambda _: lz4_sequences(bytes.fromhex("326162630200")).decode(),
    5: lambda file: len(xorb(file.data(), "3") or b"") - 4 - 5,
    6: lambda _: len(range(1, 10, 4)),
    7: lambda _: chr(ungrouped(b"abcdefghij")[6]),
    8: lambda file: 8500 - sum(size for *_, size in records(file)[:3]),
    9: chunk_letters,
    10: chunk_letters,
}
ANSWERS: dict[str, Answers] = {
    "00-what-is-a-shard": WHAT_IS_A_SHARD,
    "bloscpack-1-meet-the-file": BLOSCPACK_1,
    "bloscpack-2-find-a-key": BLOSCPACK_2,
    "bloscpack-3-to-the-bytes": BLOSCPACK_3,
    "des-1-meet-the-file": DES_1,
    "des-2-find-a-key": DES_2,
    "des-3-from-uid-to-bytes": DES_3,
    "mdb-1-meet-the-file": MDB_1,
    "mdb-2-find-a-key": MDB_2,
    "mdb-3-from-hash-to-record": MDB_3,
    "mdb-4-from-record-to-bytes": MDB_4,
    "neuroglancer-1-meet-the-file": NEUROGLANCER_1,
    "neuroglancer-2-find-a-key": NEUROGLANCER_2,
    "neuroglancer-3-hashed-keys": NEUROGLANCER_3,
    "swh-1-meet-the-file": SWH_1,
    "swh-2-find-a-key": SWH_2,
    "swh-3-hash-a-key": SWH_3,
    "swh-4-from-key-to-bytes": SWH_4,
    "xorb-1-meet-the-file": XORB_1,
    "xorb-2-find-a-key": XORB_2,
    "xorb-3-to-the-bytes": XORB_3,
}


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.name)
def test_every_answer_is_that_of_the_bytes(lesson: Lesson, tmp_path: Path) -> None:
    """Each question has an answer of its own here, computed from the bytes of its file; the lesson accepts the same."""
    asked = {number for number, step in enumerate(lesson.steps, 1) if step.question is not None}
    assert asked == set(ANSWERS[lesson.name])
    for stage in stages_of(lesson, tmp_path):
        if stage.question is not None:
            expected = ANSWERS[lesson.name][stage.number + 1](File(stage))
            assert accepted(stage, expected) == expected, f"{lesson.name}, step {stage.number + 1}"


def accepted(stage: LessonStage, expected: Expected) -> Expected | None:
    """What the lesson accepts, in the form of what is expected."""
    assert stage.question is not None
    given = solution(stage.question, stage.scene)
    kind = stage.question.kind
    if kind is Answer.CHOICE:
        return stage.question.choices[int(given.text)].text.replace("\\", "")
    if kind is Answer.NODE:
        assert given.span is not None
        return Bytes(given.span.start, given.span.stop)
    if kind is Answer.NUMBER:
        return number_of(given.text)
    if kind is Answer.TEXT:
        return given.text
    assert isinstance(expected, Clicked)
    return Clicked(given.text, proof_of(stage, given.text, given.sketch, expected.proof))


def proof_of(stage: LessonStage, name: str, sketch: str, like: str | Bytes) -> str | Bytes:
    """The text or the bytes of an item in the drawing of a step."""
    shown = next(one for one in stage.shown if one.kind is Show.DRAWING and one.name == sketch)
    step = next((one.step for one in stage.shown if one.kind is Show.STEP), 0)
    item = next(one for one in drawn(shown, stage.scene, step).items if one.name == name)
    if isinstance(like, Bytes):
        return Bytes(item.spans[0].start, item.spans[0].stop)
    return item.text if item.text == like else item.doc.partition(":")[0].rstrip(".")
