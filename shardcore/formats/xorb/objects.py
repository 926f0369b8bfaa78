"""The objects of a xorb: its chunks, in file order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import to_text
from shardcore.codecs.xet.xorb_layout import CHUNK_HEADER, HEADER_SIZE, Scheme, read_u24
from shardcore.formats.xorb.file import Read, XorbFile
from shardcore.model.byte_strings import ByteStrings
from shardcore.model.objects import ObjectColumns, ObjectRef, Objects, State

CODECS = (*(scheme.label for scheme in Scheme), "unknown")
UNKNOWN = len(CODECS) - 1


class XorbObjects(Objects):
    kinds = ("chunk",)
    codecs = CODECS
    key_encoding = "number"

    def __init__(self, file: XorbFile) -> None:
        self.file = file

    def __len__(self) -> int:
        return self.file.records.count

    @property
    def sized(self) -> bool:
        """True if the info block lists the uncompressed sizes."""
        return self.file.records.unpacked_ends is not None

    def columns(self, rows: NDArray[np.int64], *, sizes: bool = False) -> ObjectColumns:
        """Return the columns of rows; codec and state need the headers (`load`, or `sizes=True`)."""
        rows, records = np.asarray(rows, np.int64), self.file.records
        headers = self.file.load() if sizes else self.file.headers
        stop = records.ends[rows]
        start = np.minimum(records.starts[rows] + HEADER_SIZE, stop)
        codec: Any = UNKNOWN
        state: Any = State.LIVE
        size: Any = -1
        if headers is not None or self.sized:
            size = self.file.chunk_sizes()[rows]
        if headers is not None:
            codec = np.minimum(headers["compression_type"][rows], UNKNOWN)
            state = np.where(records.faults(headers)[rows], State.DAMAGED, State.LIVE)
        return ObjectColumns.of(rows, start, stop, size, codec=codec, state=state)

    def key_texts(self, rows: NDArray[np.int64]) -> list[str | None]:
        return [str(row) for row in np.asarray(rows).tolist()]

    def key_bytes(self, rows: NDArray[np.int64]) -> ByteStrings:
        """Return the chunk numbers as 8 little-endian bytes each."""
        return ByteStrings.rows(np.ascontiguousarray(rows, "<i8"))

    def ref(self, row: int) -> ObjectRef:
        """Return one chunk; reads its 8-byte header unless the index is loaded."""
        return self.ref_at(row, self.file.source.read)

    def ref_at(self, row: int, read: Read) -> ObjectRef:
        if not 0 <= row < len(self):
            raise IndexError(row)
        records, headers = self.file.records, self.file.headers
        span, stored = records.span(row), records.stored_span(row)
        if headers is not None:
            header = CHUNK_HEADER.values(headers[row])
        else:
            header = CHUNK_HEADER.read_one(read(span.start, stored.start), place=span)
        fault, size = records.fault(header, row), records.size(row)
        extras: dict[str, Any] = {"record": (span.start, span.stop)}
        if records.hashes is not None:
            extras["hash"] = to_text(records.hashes[row].tobytes())
        return ObjectRef(
            key=str(row),
            row=row,
            spans=(stored,),
            size=read_u24(header["uncompressed_size"]) if size < 0 else size,
            stored_size=stored.size,
            codec=CODECS[min(header["compression_type"], UNKNOWN)],
            state=State.DAMAGED if fault else State.LIVE,
            kind="chunk",
            error=fault,
            extras=extras,
        )

    @property
    def orders(self) -> tuple[str, ...]:
        return ("slot", "offset") + (("size",) if self.file.headers is not None else ())

    def order(self, name: str) -> NDArray[np.int64] | None:
        if name == "offset":
            return None
        if name == "size" and name in self.orders:
            return np.argsort(self[:].size, kind="stable")
        return super().order(name)
