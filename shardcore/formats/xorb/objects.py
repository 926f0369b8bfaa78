"""The objects of a xorb: its chunks, by number."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.formats.xorb.chunk import Scheme
from shardcore.formats.xorb.layout import CHUNK_HEADER, read_u24, u24_column
from shardcore.formats.xorb.records import HEADER_SIZE, Read, Records, header_fault, header_faults
from shardcore.objects import ObjectColumns, ObjectRef, Objects, State
from shardcore.xet_hashes import to_text

CODECS = (*(scheme.label for scheme in Scheme), "unknown")
UNKNOWN = len(CODECS) - 1


class XorbObjects(Objects):
    """The chunks of a xorb, in their order.

    Args:
        records: Where they lie.
        read: Reads ranges of the xorb.
    """

    kinds = ("chunk",)
    codecs = CODECS

    def __init__(self, records: Records, read: Read) -> None:
        self.records = records
        self.headers: NDArray[Any] | None = None
        """The headers of all records, once `load_index` has read them."""
        self._read = read

    def __len__(self) -> int:
        return self.records.count

    def columns(self, rows: NDArray[np.int64], *, sizes: bool = False) -> ObjectColumns:
        """The columns of some rows; schemes are known once the index is loaded."""
        rows = np.asarray(rows, np.int64)
        stop = self.records.ends[rows]
        start = np.minimum(self.records.starts[rows] + HEADER_SIZE, stop)
        codec: Any = UNKNOWN
        state: Any = State.LIVE
        size: Any = -1
        if self.headers is not None and self.records.unpacked_ends is None:
            size = u24_column(self.headers["uncompressed_size"][rows])
        elif self.records.unpacked_ends is not None:
            size = np.diff(self.records.unpacked_ends, prepend=0)[rows]
        if self.headers is not None:
            codec = np.minimum(self.headers["compression_type"][rows], UNKNOWN)
            state = np.where(header_faults(self.headers, self.records)[rows], State.DAMAGED, State.LIVE)
        return ObjectColumns.of(rows, start, stop, size, codec=codec, state=state)

    def key_texts(self, rows: NDArray[np.int64]) -> list[str | None]:
        """The keys of some rows: their numbers."""
        return [str(row) for row in np.asarray(rows).tolist()]

    def ref(self, row: int) -> ObjectRef:
        """One chunk as an object; its header is read when the index is not loaded."""
        return self.ref_at(row, self._read)

    def ref_at(self, row: int, read: Read) -> ObjectRef:
        """As `ref`, reading through `read`."""
        if not 0 <= row < len(self):
            raise IndexError(row)
        span, stored = self.records.span(row), self.records.stored_span(row)
        if self.headers is not None:
            header = CHUNK_HEADER.values(self.headers[row])
        else:
            header = CHUNK_HEADER.read_one(read(span.start, stored.start), place=span)
        fault = header_fault(header, stored.size, self.records.size(row))
        size = self.records.size(row)
        extras: dict[str, Any] = {"record": (span.start, span.stop)}
        if self.records.hashes is not None:
            extras["hash"] = to_text(self.records.hashes[row].tobytes())
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
        """The chunks lie in their order; their sizes are known once the index is loaded."""
        return ("slot", "offset") + (("size",) if self.headers is not None else ())

    def order(self, name: str) -> NDArray[np.int64] | None:
        """Row numbers in an order; see `Objects.order`."""
        if name == "offset":
            return None
        if name == "size" and name in self.orders:
            return np.argsort(self[:].size, kind="stable")
        return super().order(name)
