"""Writer of xorbs: contents are cut into chunks, stored in the order of `add`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import numpy as np

from shardcore.codecs.xet.chunker import chunks
from shardcore.codecs.xet.hashes import chunk_hash
from shardcore.codecs.xet.xorb_builder import PackedXorb, XorbPacker, usual_chunks
from shardcore.codecs.xet.xorb_layout import HEADER_SIZE, MAX_UNPACKED, chunk_headers
from shardcore.errors import UsageError
from shardcore.formats.xorb.file import Records, XorbFile
from shardcore.formats.xorb.lookup import XorbObjects
from shardcore.sources.memory import BytesSource
from shardcore.writing.output import Output
from shardcore.writing.plan import Plan, PlannedFile
from shardcore.writing.writer import Data, More, Sized, Writer, pieces_of, whole


class XorbWriter(Writer):
    """Writes chunk records as contents are added, then an info block of version 1.

    Args:
        output: The target.
        compression: `auto` (smallest result per chunk), `none`, `lz4`, or `bg4` (LZ4 of grouped bytes).
        cut: Cut contents into chunks; otherwise each content is one chunk.
    """

    def __init__(self, output: Output, *, compression: str = "auto", cut: bool = True) -> None:
        super().__init__(output)
        self._cut = cut
        self._file = output.open()
        self._packer = XorbPacker(self._file, compression, output.workers)

    @property
    def rows(self) -> int:
        return len(self._packer)

    def _add(self, key: str | None, data: Data, more: More) -> str:
        if isinstance(data, Sized) and self.output.planning:
            given = more.facts.get("chunks")
            self._plan_sizes(_sizes(given, more.label) if given is not None else usual_chunks(data.size), more.label)
            return ""
        self._packer.settle()
        count, offset = len(self._packer), self._file.at
        try:
            for chunk in self._chunks(data, more):
                self._check(len(chunk), more.label)
                self._packer.add(chunk, chunk_hash(chunk))
        except BaseException:
            # After a failed input the xorb stays valid: its chunks are dropped.
            self._packer.forget(count)
            self._file.rewind(offset)
            raise
        return ""

    def _chunks(self, data: Data, more: More) -> Iterator[bytes | memoryview]:
        label = more.label
        if "chunks" in more.facts:
            return _cut_at(_sizes(more.facts["chunks"], label), pieces_of(data, label), label)
        if self._cut:
            return chunks(pieces_of(data, label))
        chunk = whole(data, label)
        if not 0 < len(chunk) <= MAX_UNPACKED:
            raise UsageError(
                f"{label or 'the chunk'} has {len(chunk):,} bytes; a chunk has 1 to {MAX_UNPACKED:,}: use cut=yes"
            )
        return iter((chunk,))

    def _plan_sizes(self, sizes: list[int], label: str) -> None:
        self.exact = False
        for one in sizes:
            self._check(one, label)
            self._packer.skip(one, hashlib.sha256(b"%d" % len(self._packer)).digest())

    def _check(self, size: int, label: str) -> None:
        if fault := self._packer.fault_of(size):
            raise UsageError(f"with {label or 'this content'} the xorb would have {fault}")

    def plan(self) -> Plan:
        """Return the plan of the file that would be written now; raise UsageError if nothing was added."""
        packed = self._packed()
        name = self.output.target.name if self.output.target else ""
        return Plan(
            (PlannedFile(name, packed.size, packed.sections, _planned(packed)),), self.exact, self._packer.unpacked
        )

    def _packed(self) -> PackedXorb:
        if not len(self._packer):
            raise UsageError("a xorb needs at least one chunk; nothing was added")
        return self._packer.plan()

    def _complete(self) -> None:
        self._packed()
        self._packer.finish()
        self._file.complete(len(self._packer))


def _sizes(given: object, label: str) -> list[int]:
    if not isinstance(given, list) or any(type(one) is not int or not 0 < one <= MAX_UNPACKED for one in given):
        raise UsageError(f"{label or 'the content'}: chunks must be a list of numbers from 1 to {MAX_UNPACKED:,}")
    return given


def _cut_at(sizes: list[int], pieces: Iterable[bytes | bytearray | memoryview], label: str) -> Iterator[bytes]:
    """Yield chunks of the given sizes; raise UsageError at the end if their sum is not the content's size."""
    held, number, whole = bytearray(), 0, 0
    for piece in pieces:
        held += piece
        whole += len(piece)
        start = 0
        while number < len(sizes) and len(held) - start >= sizes[number]:
            yield bytes(held[start : start + sizes[number]])
            start += sizes[number]
            number += 1
        del held[:start]
    if whole != sum(sizes):
        raise UsageError(f"{label or 'the content'} has {whole:,} bytes; the chunk sizes add up to {sum(sizes):,}")


def _planned(packed: PackedXorb) -> XorbObjects:
    info, stored = packed.info, np.diff(packed.info.ends, prepend=0) - HEADER_SIZE
    headers = chunk_headers(packed.schemes, stored, packed.sizes)
    return XorbObjects(XorbFile(BytesSource(b""), Records.of(info), info, headers=headers))
