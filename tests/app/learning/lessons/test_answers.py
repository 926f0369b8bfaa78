"""Every answer of every lesson is computed again from the bytes of its file, without the expressions of the lesson."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from shardcore import DataSet
from shardscope.learning.lessons.answers import number_of, solution
from shardscope.learning.lessons.lesson import Answer, Lesson, Show
from shardscope.learning.lessons.library import lessons
from shardscope.learning.lessons.stage import LessonStage, drawn
from tests.app.learning.lessons.test_every_lesson import stages_of


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


def slot_of(file: File, key: str) -> int:
    """The slot of a key."""
    g, f, h, n = placed(file, key)
    d = displacement(file, g)
    return (f + h * (d % n) + d // n) % n


def placed(file: File, key: str) -> tuple[int, int, int, int]:
    """Bucket, first slot, step, and number of slots: Jenkins' hash of 1996 over unsigned bytes."""
    section = file.at(BE, 80)
    seed, buckets = file.at(LE4, section + 23), file.at(LE4, section + 31)
    n, mask = file.at(LE4, section + 7), 0xFFFFFFFF
    words = struct.unpack("<8I", bytes.fromhex(key))
    a, b, c = 0x9E3779B9, 0x9E3779B9, seed
    for w0, w1, w2 in (words[0:3], words[3:6], (*words[6:8], 32)):
        a, b, c = (a + w0) & mask, (b + w1) & mask, (c + w2) & mask
        for x, y, z in ((13, 8, 13), (12, 16, 5), (3, 10, 15)):
            a = (a - b - c & mask) ^ (c >> x)
            b = (b - c - a & mask) ^ (a << y & mask)
            c = (c - a - b & mask) ^ (b >> z)
    return a % buckets, b % n, c % (n - 1) + 1, n


def displacement(file: File, bucket: int) -> int:
    """The displacement of a bucket: all of them are decoded, without the select directory."""
    data, section = file.data(), file.at(BE, 80)
    count, low_bits, top_bits = (file.at(LE4, section + at) for at in (31, 35, 39))

    def bit_string(offset: int, length: int) -> tuple[int, int]:
        words = (length + 31) // 32 * 4
        return int.from_bytes(data[offset : offset + words], "little"), offset + words

    unary, after = bit_string(section + 55, count + (top_bits >> low_bits))
    low, after = bit_string(after + 4 * (count // 128 + 1), count * low_bits)
    store, _ = bit_string(after, top_bits)
    ones = [at for at in range(unary.bit_length()) if unary >> at & 1]
    ends = [
        (one - number << low_bits) + (low >> number * low_bits) % (1 << low_bits) for number, one in enumerate(ones)
    ]
    start = ends[bucket - 1] if bucket else 0
    length = ends[bucket] - start
    return (store >> start) % (1 << length) + (1 << length) - 1


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
    _, f, h, n = placed(file, file.key)
    at = swh_slot(file, (f + h) % n)
    return Clicked(f"slot {(f + h) % n}", Bytes(at, at + 40))


WHAT_IS_A_SHARD: Answers = {
    1: lambda _: "A reader could not find where one ends and the next begins",
    2: lambda file: Bytes(file.at(BE, 48), file.at(BE, 64)),
    3: lambda file: Bytes(0, 32),
    4: lambda file: file.at(BE, 64),
    5: lambda file: "Big-endian" if file.data()[47] == file.at(BE, 40) else "Little-endian",
    6: lambda _: 40_000_000_000,
    7: lambda file: len(bytes.fromhex(file.key)),
    8: lambda file: file.at(BE, swh_offset(file)),
    9: lambda file: Bytes(swh_object(file, file.at(BE, 40) - 1), file.at(BE, 64)),
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
    5: lambda file: displacement(file, placed(file, file.key)[0]) % placed(file, file.key)[3],
    6: lambda file: slot_of(file, file.key),
    7: lambda file: Bytes(swh_slot(file, slot_of(file, file.key)), swh_slot(file, slot_of(file, file.key)) + 32),
    8: lambda _: "It has some slot, and the key there is another one",
    9: lambda file: slot_of(file, file.key),
}


# --- bloscpack ---


def blp_chunk(file: File, number: int) -> int:
    """The offset of a chunk, by walking from the first."""
    data = file.data()
    at = 32 + 8 * (file.at(LE, 16) + file.at(LE, 24)) if data[5] & 1 else 32
    if data[5] & 2:
        at += 32 + file.at(LE4, 32 + 16) + checksum_size(data[32 + 9])
    for _ in range(number):
        at += file.at(LE4, at + 12) + checksum_size(data[6])
    return at


def checksum_size(kind: int) -> int:
    """Bytes of a checksum, by its number."""
    return (0, 4, 4, 16, 20, 28, 32, 48, 64)[kind]


def blp_byte(file: File) -> int:
    """The uncompressed byte of element [24,40] of an array of 58 rows of 64 numbers of 8 bytes."""
    length = file.at(LE4, 32 + 20)
    described = json.loads(zlib.decompress(file.data()[64 : 64 + length]))
    assert described["shape"] == [58, 64]
    assert described["order"] == "C"
    return (24 * 64 + 40) * 8


def offsets_table(file: File) -> int:
    """The offset of the table of offsets."""
    return 32 + 32 + file.at(LE4, 32 + 16) + checksum_size(file.data()[32 + 9])


BLOSCPACK_1: Answers = {
    1: lambda file: file.at(LE, 16),
    2: lambda file: sum(file.at(LE4, blp_chunk(file, number) + 4) for number in range(file.at(LE, 16))),
    3: lambda file: file.at(LE4, 32 + 16),
    4: lambda file: blp_chunk(file, 1),
    5: lambda _: "Chunks that are appended later",
    6: lambda file: Bytes(blp_chunk(file, 0) + 12, blp_chunk(file, 0) + 16),
    7: lambda file: blp_chunk(file, 2),
    8: lambda _: "Random bytes",
    9: lambda file: blp_chunk(file, 4),
}
BLOSCPACK_2: Answers = {
    1: lambda file: blp_byte(file) // 8,
    2: blp_byte,
    3: lambda file: blp_byte(file) // file.at("<i", 8),
    4: lambda file: blp_byte(file) % file.at("<i", 8),
    5: lambda file: Clicked("slot 1", Bytes(offsets_table(file) + 8, offsets_table(file) + 16)),
    6: lambda file: blp_byte(file) % file.at("<i", 8) // file.at(LE4, blp_chunk(file, 1) + 8),
    7: lambda file: blp_byte(file) % file.at("<i", 8) // file.data()[blp_chunk(file, 1) + 3],
    8: lambda _: "The offset of the chunk, and the block or chunk",
    9: lambda file: (int(file.key) * 4096 + 2345) // 4096,
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
    """The content of entry 1."""
    _, flags = des_entry(file, 1, DES)
    start = file.at(LE, flags + 1, DES)
    return Bytes(start, start + file.at(LE, flags + 9, DES))


DES_1: Answers = {
    1: lambda file: len(file.data(DES)) - file.data(DES).rindex(b"DESI"),
    2: lambda file: des_index(file, DES),
    3: lambda file: file.at(LE4, des_index(file, DES), DES),
    4: lambda file: Bytes(*des_entry(file, 1, DES)),
    5: lambda _: "Uids and metadata differ in length, so each entry must be read to know where the next begins",
    6: lambda file: "In this file" if not file.data(DES)[des_entry(file, 1, DES)[1]] & 1 else "In a BigFile",
    7: des_content,
    8: lambda _: "The object, as if it had never been deleted",
    9: lambda file: des_entry(file, 0)[0],
}
DES_2: Answers = {
    1: lambda _: "The day, which begins the name of the file",
    2: lambda file: 2090 % 256,
    3: lambda file: f"{2090 % 256:02X}",
    4: lambda _: Clicked("hex", "2A"),
    5: lambda _: "Yes: both are the number 42",
    6: lambda file: len(list(file.path.glob("20260105_2A_*.des"))),
    7: lambda file: file.at(LE4, des_index(file, DES), DES),
    8: lambda _: "The last",
    9: lambda _: "The rule names the only files it may be in, and all their entries were compared",
    10: lambda file: f"{int(file.key) % 256:02X}",
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
    5: lambda file: 48 + 48 * file.at(LE4, footer(file, MDB_FILE_TABLE) + 12 + 8),
    6: lambda file: Clicked("record", Bytes(reconstruction_of(file), reconstruction_of(file) + 48)),
    7: lambda _: "The truncated hash is only 8 bytes: another hash may have the same",
    8: lambda _: "In a xorb, in another file",
    9: lambda _: 0,
    10: reconstruction_of,
}


# --- neuroglancer ---


def minishard_index(file: File, name: str, number: int) -> tuple[int, list[int], list[int], list[int]]:
    """The offset of a minishard index, and its three rows, of an index that is raw."""
    spec = sharding(file)
    base = 16 << spec["minishard_bits"]
    start, stop = (base + file.at(LE, 16 * number + at, name) for at in (0, 8))
    numbers = struct.unpack(f"<{(stop - start) // 8}Q", file.data(name)[start:stop])
    count = len(numbers) // 3
    return start, *(list(numbers[row * count : (row + 1) * count]) for row in range(3))


def sharding(file: File) -> dict[str, int]:
    """The sharding specification."""
    info = json.loads(file.data("info"))
    found: dict[str, int] = info["sharding"]
    return found


def found_in(file: File) -> tuple[int, int]:
    """Minishard and shard of the key, without a hash."""
    spec = sharding(file)
    left = int(file.key) >> spec["preshift_bits"]
    minishards = 1 << spec["minishard_bits"]
    return left % minishards, left // minishards % (1 << spec["shard_bits"])


def value_at(file: File) -> Clicked:
    """The offset of the value of the key in its file, found by its bytes."""
    minishard, shard = found_in(file)
    name = f"{shard:x}.shard"
    _, ids, offsets, sizes = minishard_index(file, name, minishard)
    assert sum(ids[:1]) == int(file.key)
    start = file.data(name).index(b"twelve")
    assert (start, 6) == ((16 << sharding(file)["minishard_bits"]) + offsets[0], sizes[0])
    return Clicked("start", str(start))


def second_value(file: File) -> int:
    """The offset of the second value of minishard 0, found by its bytes."""
    return file.data("0.shard").index(b"nine")


NEUROGLANCER_1: Answers = {
    1: lambda file: sum(
        len(minishard_index(file, name, number)[1]) for name in ("0.shard", "1.shard") for number in range(2)
    ),
    2: lambda file: 2 ** sharding(file)["shard_bits"],
    3: lambda file: 2 ** sharding(file)["minishard_bits"] * 16,
    4: lambda file: minishard_index(file, "0.shard", 0)[0],
    5: lambda file: (
        "It is empty: start and end are equal"
        if file.at(LE, 16, "1.shard") == file.at(LE, 24, "1.shard")
        else "The file is damaged"
    ),
    6: lambda file: len(minishard_index(file, "0.shard", 0)[1]),
    7: lambda file: sum(minishard_index(file, "0.shard", 0)[1][:2]),
    8: second_value,
    9: lambda file: minishard_index(file, "0.shard", 2)[0],
}
NEUROGLANCER_2: Answers = {
    1: lambda _: "info",
    2: lambda file: int(file.key).bit_length(),
    3: lambda file: int(file.key) >> 1,
    4: lambda _: "Their low bits are all 0, so all would be in minishard 0",
    5: lambda file: found_in(file)[0],
    6: lambda file: found_in(file)[1],
    7: lambda file: Bytes(16 * found_in(file)[0], 16 * found_in(file)[0] + 16),
    8: value_at,
    9: lambda _: 5 >> 1 >> 1 & 1,
    10: lambda _: 3,
    11: lambda file: found_in(file)[0],
}


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
XORB_1: Answers = {
    1: lambda file: len(records(file)),
    2: lambda _: Bytes(1, 4),
    3: lambda file: records(file)[1][0],
    4: lambda file: SCHEMES[records(file)[1][2]],
    5: lambda _: Clicked("lane byte 6", "Byte 2 of number 1"),
    6: lambda file: (
        "Its bytes are random: LZ4 would make it longer"
        if records(file)[4][2] == 0
        and len(zlib.compress(file.data()[records(file)[4][0] + 8 : record_end(file, 4)])) > records(file)[4][3]
        else ""
    ),
    7: equal_chunk,
    8: lambda file: record_end(file, 2),
    9: lambda file: records(file)[2][0],
}
XORB_2: Answers = {
    1: lambda file: int(file.key) - 1,
    2: lambda file: Bytes(*(info_list(file, b"XBLBBND") + 4 * (int(file.key) + more) for more in (0, 1))),
    3: lambda file: record_end(file, int(file.key)) - records(file)[int(file.key)][0],
    4: lambda file: records(file)[int(file.key)][1],
    5: lambda _: "It compares one after the other",
    6: lambda _: "Decompress chunk after chunk, and hash each",
    7: holds_byte,
    8: lambda _: "It reads one byte of each plane in turn",
    9: lambda file: records(file)[int(file.key)][1],
}


ANSWERS: dict[str, Answers] = {
    "00-what-is-a-shard": WHAT_IS_A_SHARD,
    "bloscpack-1-meet-the-file": BLOSCPACK_1,
    "bloscpack-2-find-a-key": BLOSCPACK_2,
    "des-1-meet-the-file": DES_1,
    "des-2-find-a-key": DES_2,
    "mdb-1-meet-the-file": MDB_1,
    "mdb-2-find-a-key": MDB_2,
    "neuroglancer-1-meet-the-file": NEUROGLANCER_1,
    "neuroglancer-2-find-a-key": NEUROGLANCER_2,
    "swh-1-meet-the-file": SWH_1,
    "swh-2-find-a-key": SWH_2,
    "xorb-1-meet-the-file": XORB_1,
    "xorb-2-find-a-key": XORB_2,
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
    item = next(one for one in drawn(shown, stage.scene).items if one.name == name)
    if isinstance(like, Bytes):
        return Bytes(item.spans[0].start, item.spans[0].stop)
    return item.text if item.text == like else item.doc.partition(":")[0].rstrip(".")
