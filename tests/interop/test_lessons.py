"""The answers of lessons and missions, beside what the reference implementations say of the same files.

swh.shard (with the cmph in it), bloscpack, blosc, lz4, blake3, cloud-volume and hf-xet answer. No package reads DES,
and hf-xet shows no offsets: there the bytes are read a second time, with `struct` and without code of the program.
"""

from __future__ import annotations

import collections
import collections.abc
import ctypes
import hashlib
import json
import re
import struct
import zlib
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace as Entry
from typing import Any

import numpy as np
import pytest

from shardcore.teaching.lessons.answers import solution
from shardcore.teaching.lessons.html_page import lesson_stages
from shardcore.teaching.lessons.lesson import Answer, Lesson, Show
from shardcore.teaching.lessons.lesson_list import lessons, missions
from shardcore.teaching.lessons.lesson_step import LessonStage, drawn
from shardcore.testing import rounds

pytestmark = [
    pytest.mark.interop("swh.shard", "blosc", "bloscpack", "lz4", "blake3", "cloudvolume", "hf_xet"),
    pytest.mark.filterwarnings("ignore:hf_xet:DeprecationWarning"),
]


class Reference:
    """One file, and a question about it: the key that was looked up, the words, and their numbers of several digits."""

    def __init__(self, path: Path) -> None:
        self.path, self.data = path, path.read_bytes() if path.is_file() else b""

    def ask(self, stage: LessonStage, folder: Path) -> None:
        self.key, self.folder = stage.scene.trace.key if stage.scene.trace else stage.scene.key, folder
        self.words = stage.scene.fill(f"{stage.step.text} {stage.step.question.prompt}")
        self.numbers = [int(one) for one in re.findall(r"\d{2,}", self.words)]

    close = staticmethod(lambda: None)


class Swh(Reference):
    def __init__(self, path: Path) -> None:
        from swh.shard import Shard, _shard

        super().__init__(path)
        self.shard, self.cmph = Shard(str(path)), ctypes.CDLL(_shard.__file__)
        self.close, head = self.shard.close, self.shard.header
        self.objects = range(head.objects_position, head.objects_position + head.objects_size)
        self.index = range(head.index_position, head.hash_position)
        self.rows = [self.shard.getindex(n) for n in range(len(self.index) // 40)]
        self.section = self.data[head.hash_position :]
        self.seed, self.buckets = self.section[23:27], int.from_bytes(self.section[31:35], "little")

    def hashed(self) -> list[int]:
        found = (ctypes.c_uint32 * 3)()
        self.cmph.jenkins_hash_vector_packed(self.seed, bytes.fromhex(self.key), 32, found)
        return list(found)

    def bucket(self) -> int:
        return self.hashed()[0] % self.buckets

    def displacement(self, bucket: int) -> int:
        return int(self.cmph.compressed_seq_query_packed(self.section[31:], bucket))

    def after(self, displacement: int) -> int:
        single, jumps = divmod(displacement, len(self.rows))
        _, first, step = self.hashed()
        return (first + (step % (len(self.rows) - 1) + 1) * jumps + single) % len(self.rows)

    def slot(self) -> int:
        return int(self.shard.getpos(bytes.fromhex(self.key)))

    def kept(self) -> int:
        return [row.key.hex() for row in self.rows].index(self.key)


class Bloscpack(Reference):
    def __init__(self, path: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(collections, "MutableMapping", collections.abc.MutableMapping, raising=False)
            from bloscpack import abstract_io, file_io, headers
        super().__init__(path)
        self.blosc, self.content = abstract_io.blosc, lambda path: file_io.unpack_bytes_from_file(str(path))[0]
        with path.open("rb") as file:
            if self.data[4] == 3:
                self.header = file_io._read_bloscpack_header(file)
                self.meta = file_io._read_metadata(file)[0] if self.header.metadata else {}
                self.table = file.tell()
                self.offsets, kind = file_io._read_offsets(file, self.header), self.header.checksum_impl
            else:
                file.seek(16)
                kind = Entry(size=0)
            self.starts, self.chunks, self.heads = [file.tell()], [], []
            while self.starts[-1] < len(self.data):
                chunk, head, _ = file_io._read_compressed_chunk_fp(file, kind)
                self.chunks.append(chunk)
                self.heads.append(head | headers.decode_blosc_flags(head["flags"]))
                self.starts.append(file.tell())

    def element(self) -> int:
        return int(np.ravel_multi_index(json.loads(self.key), self.meta["shape"], order=self.meta["order"]))

    def placed(self, element: int) -> tuple[int, int]:
        """Chunk of an element, and the byte of the chunk where it begins."""
        chunk, byte = 0, element * self.heads[0]["typesize"]
        while byte >= self.heads[chunk]["nbytes"]:
            chunk, byte = chunk + 1, byte - self.heads[chunk]["nbytes"]
        return chunk, byte

    def stream(self, chunk: int, number: int) -> range:
        """Data of a stream of block 0; empty unless lz4 decodes it to this byte of all elements."""
        import lz4.block

        head, at = self.heads[chunk], self.starts[chunk] + struct.unpack_from("<i", self.chunks[chunk], 16)[0]
        for _ in range(number):
            at += 4 + struct.unpack_from("<i", self.data, at)[0]
        found = range(at + 4, at + 4 + struct.unpack_from("<i", self.data, at)[0])
        wanted = self.blosc.decompress(self.chunks[chunk])[: head["blocksize"]][number :: head["typesize"]]
        decoded = lz4.block.decompress(self.data[found.start : found.stop], len(wanted))
        return found if decoded == wanted else range(0)


class Neuroglancer(Reference):
    def __init__(self, path: Path) -> None:
        from cloudvolume.datasource.precomputed.common import compressed_morton_code, morton_code_to_gridpt

        super().__init__(path)
        root = path.parent if path.is_file() else path
        info = json.loads((root / "info" if (root / "info").exists() else root.parent / "info").read_text("utf-8"))
        if scales := info.get("scales"):
            info = scales[0]
            self.grid = [-(-size // chunk) for size, chunk in zip(info["size"], info["chunk_sizes"][0], strict=True)]
        self.spec, self.code, self.point = info.get("sharding", info), compressed_morton_code, morton_code_to_gridpt
        self.shards = {one.name: one.read_bytes() for one in root.glob("*.shard")}
        self.reader = self.reader_of()

    def reader_of(self, **more: Any) -> Any:
        from cloudvolume.datasource.precomputed.sharding import ShardingSpecification, ShardReader

        return ShardReader(None, None, ShardingSpecification.from_dict(self.spec | more))

    def pair(self, minishard: int, name: str = "0.shard") -> range:
        index = self.reader.decode_index(self.shards[name][: self.reader.spec.index_length()])
        return range(*map(int, index[minishard]))

    def rows(self, minishard: int, name: str = "0.shard") -> list[list[int]]:
        """Key, start and size of each value of a minishard."""
        place = self.pair(minishard, name)
        return list(self.reader.decode_minishard_index(self.shards[name][place.start : place.stop]).tolist())

    def place(self, key: int) -> tuple[str, int]:
        name, minishard = self.reader.compute_shard_location(key)
        return name, int(minishard)

    def value(self) -> range:
        name, minishard = self.place(int(self.key))
        start, size = next(row[1:] for row in self.rows(minishard, name) if row[0] == int(self.key))
        return range(start, start + size)


class Des(Reference):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        paths = sorted(path.glob("*.des")) if path.is_dir() else [path]
        self.files = {one.name: one.read_bytes() for one in paths}
        self.first = next(iter(self.files))

    def index(self, name: str = "") -> range:
        data = self.files[name or self.first]
        return range(len(data) - 12 - struct.unpack("<Q", data[-8:])[0], len(data) - 12)

    def entries(self, name: str = "", at: int = 0) -> list[Entry]:
        data, found, at = self.files[name or self.first], [], at or self.index(name).start
        count, at = struct.unpack_from("<I", data, at)[0], at + 4
        for _ in range(count):
            start, (length,) = at, struct.unpack_from("<H", data, at)
            uid, flags, at = data[at + 2 : at + 2 + length].decode(), data[at + 2 + length], at + 3 + length
            fields = struct.Struct("<H64sQI" if flags & 1 else "<QQBQQI")
            *_, size, meta = fields.unpack_from(data, at)
            at += fields.size + meta
            found.append(Entry(start=start, stop=at, uid=uid, size=size, meta=data[at - meta : at].decode()))
        return found

    def shard(self, uid: str, bits: int = 8) -> str:
        number = int(uid) if uid.isdecimal() else zlib.crc32(uid.encode())
        return f"{number % 2**bits:0{max(1, bits // 4)}X}"

    def lost(self) -> int:
        """First byte from which entries lead exactly to the end of a file that lost its footer."""
        for at in range(8, len(self.data)):
            try:
                if [one.stop for one in self.entries(at=at)][-1:] == [len(self.data)]:
                    return at
            except (struct.error, ValueError, IndexError):
                continue
        return -1


def text_of(raw: bytes) -> str:
    return b"".join(raw[at : at + 8][::-1] for at in range(0, 32, 8)).hex()


class Xorb(Reference):
    def __init__(self, path: Path) -> None:
        import lz4.frame
        from blake3 import blake3

        super().__init__(path)
        self.chunks: list[Entry] = []
        key = bytes.fromhex("6697f5775b9550de3135cbaca597181c9de421109beb2b58b4d0b04b93adf229")
        at = 0
        while self.data[at : at + 7] not in (b"XETBLOB", b""):
            start, at = at, at + 8 + int.from_bytes(self.data[at + 1 : at + 4], "little")
            raw, scheme = self.data[start + 8 : at], self.data[start + 4]
            plain = lz4.frame.decompress(raw) if scheme else raw
            if scheme == 2:
                plain = bytes(byte for _, byte in sorted(zip(self.grouped(len(plain)), plain, strict=True)))
            hashed = blake3(plain, key=key).digest()
            self.chunks.append(Entry(start=start, stop=at, raw=raw, plain=plain, hash=hashed, text=text_of(hashed)))
        self.info = at

    @staticmethod
    def grouped(size: int) -> list[int]:
        """Bytes of a chunk in the order of its byte groups."""
        return [byte for plane in range(4) for byte in range(plane, size, 4)]

    def ends(self) -> range:
        raw = b"".join(struct.pack("<I", one.stop) for one in self.chunks)
        return range(self.data.index(raw, self.info), self.data.index(raw, self.info) + len(raw))

    def longest_run(self, plain: bytes) -> int:
        """First byte of the longest run of equal neighbours in a byte group."""
        order = self.grouped(len(plain))
        runs = [len(plain[at::4]) - len(plain[at::4].lstrip(plain[at : at + 1])) for at in order]
        return order[runs.index(max(runs))]


class Mdb(Reference):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.files, at = [], 48
        while (raw := self.data[at : at + 32]) != b"\xff" * 32:
            start, (flags, count) = at, struct.unpack_from("<II", self.data, at + 32)
            segments = [struct.unpack_from("<32sIIII", self.data, at + 48 * n) for n in range(1, count + 1)]
            at += 48 * (1 + count * (1 + (flags >> 31)) + (flags >> 30 & 1))
            self.files.append(Entry(start=start, stop=at, hash=text_of(raw), segments=segments))
        self.end, at = at, at + 48
        while self.data[at : at + 32] != b"\xff" * 32:
            at += 48 * (1 + struct.unpack_from("<I", self.data, at + 36)[0])
        self.table = at + 48
        self.xorb = Xorb(path.parent / "xorbs" / f"default.{text_of(self.files[-1].segments[0][0])}")

    def file(self, digits: str) -> Entry:
        return next(one for one in self.files if one.hash.startswith(digits))

    def chunks(self, digits: str) -> list[int]:
        return [chunk for one in self.file(digits).segments for chunk in range(*one[3:])]

    def entry(self) -> int:
        return sorted(one.hash for one in self.files).index(self.key)

    def first_chunk(self) -> int:
        """Chunk that is the content of the file, by the hash that hf-xet computes."""
        import hf_xet

        paths = [self.folder / f"chunk {number}" for number in range(len(self.xorb.chunks))]
        for path, chunk in zip(paths, self.xorb.chunks, strict=True):
            path.write_bytes(chunk.plain)
        return [one.hash for one in hf_xet.hash_files([str(path) for path in paths])].index(self.key)


FORMATS = {one.__name__.lower(): one for one in Reference.__subclasses__()}
NAMES = {"hashlib": hashlib, "np": np, "re": re, "struct": struct}
TABLE = (Path(__file__).parent / "lessons.txt").read_text("utf-8").splitlines()
QUESTIONS = dict(line.split(" = ", 1) for line in TABLE if not line.startswith("%"))


def answer(stage: LessonStage, kind: type) -> object:
    """The answer of a lesson, as what the reference replies: a number, a text, or the range or the bytes of an item."""
    question, found = stage.question, solution(stage.question, stage.scene)
    text, span = found.text, found.span
    if question.kind is Answer.CHOICE:
        return question.choices[int(text)].text
    if question.kind is Answer.ITEM:
        shown = next(one for one in stage.shown if one.kind is Show.DRAWING and one.name == found.sketch)
        items = drawn(shown, stage.scene).items
        span = next((span for item in items if item.name == text for span in item.spans), None)
    if kind is int:
        return int(re.findall(r"0x[0-9a-f]+|\d+", text.partition("#")[0])[-1], 0)
    if kind is str:
        return text
    place = range(span.start, span.stop)
    return place if kind is range else stage.scene.shard.bytes_of(span.source).read(span.start, span.stop)


@pytest.mark.parametrize("seed", range(rounds(8, 3)))
@pytest.mark.parametrize("lesson", [*lessons(), *missions()], ids=lambda lesson: lesson.name)
def test_answers_are_those_of_the_reference(lesson: Lesson, seed: int, tmp_path: Path) -> None:
    for stage in lesson_stages(lesson, seed):
        if (question := QUESTIONS.get(f"{lesson.name} {stage.number + 1}")) is not None:
            assert not stage.missing, question
            shard = stage.scene.shard
            path = Path(shard.source.uri if shard.source is not None else shard.uri)
            with closing(FORMATS[shard.format](path)) as reference:
                reference.ask(stage, tmp_path)
                reply = eval(question, NAMES | {"r": reference})  # noqa: S307 - a line of the table
            assert answer(stage, type(reply)) == reply, f"{lesson.name} {stage.number + 1} = {question}"


def test_the_table_lists_steps_that_exist() -> None:
    steps = {f"{one.name} {number}" for one in (*lessons(), *missions()) for number in range(1, len(one.steps) + 1)}
    assert QUESTIONS.keys() <= steps
