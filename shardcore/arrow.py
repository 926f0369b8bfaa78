"""Objects as Arrow record batches and pandas data frames. Needs the extra `pandas`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import ShardError
from shardcore.model.byte_strings import ByteStrings
from shardcore.model.objects import Objects, ObjectSlice, Rows, State, as_array
from shardcore.model.optional_packages import optional
from shardcore.model.text import plural

BATCH = 1 << 16
"""Number of rows per batch."""

_HASH = 32
"""Size of a hash key in bytes."""

_HEX = np.array([f"{byte:02x}" for byte in range(256)], "S2").view("<u2")
"""The two hex digits of each byte value, as one 16-bit number."""


def record_reader(part: ObjectSlice, *, raw_keys: bool = False) -> Any:
    """Return a `pyarrow.RecordBatchReader`, which reads `BATCH` rows at a time."""
    batches = _Batches(part.objects, raw_keys=raw_keys)
    return batches.arrow.RecordBatchReader.from_batches(batches.schema, batches.of(part.rows))


def data_frame(part: ObjectSlice, *, raw_keys: bool = False) -> Any:
    """Return a `pandas.DataFrame` whose index is the row number."""
    pandas, arrow = optional("pandas"), optional("pyarrow")
    types = {
        arrow.uint64(): pandas.UInt64Dtype(),
        arrow.int64(): pandas.Int64Dtype(),
        arrow.string(): pandas.StringDtype("pyarrow"),
        arrow.binary(_HASH): pandas.ArrowDtype(arrow.binary(_HASH)),
    }
    rows = part.rows
    try:
        table = record_reader(part, raw_keys=raw_keys).read_all()
        frame = table.to_pandas(types_mapper=types.get, split_blocks=True, self_destruct=True)
    except MemoryError as error:
        raise ShardError(f"not enough memory for {plural(len(rows), 'row')}") from error
    spread = not isinstance(rows, range)
    frame.index = pandas.Index(rows, name="row") if spread else pandas.RangeIndex(rows, name="row")
    return frame


class _Batches:
    def __init__(self, objects: Objects, *, raw_keys: bool) -> None:
        self.arrow = optional("pyarrow")
        self._objects = objects
        self._form = objects.key_encoding
        self._raw = raw_keys
        arrow = self.arrow
        key = {"hash": arrow.binary(_HASH), "number": arrow.uint64()}.get(self._form) if raw_keys else None
        self._names = {
            "kind": self._texts(objects.kinds),
            "state": self._texts([state.name.lower() for state in State]),
            "codec": self._texts(objects.codecs),
            "shard": self._texts(objects.shards),
        }
        word, number = arrow.dictionary(arrow.int8(), arrow.string()), arrow.int64()
        types = {
            "key": key or arrow.string(), "kind": word, "state": word, "size": number, "stored_size": number,
            "start": number, "stop": number, "codec": word,
            "shard": arrow.dictionary(arrow.int32(), arrow.string()),
        }  # fmt: skip
        self.schema = arrow.schema(types)

    def of(self, rows: Rows) -> Iterator[Any]:
        for first in range(0, len(rows), BATCH):
            yield self._batch(as_array(rows[first : first + BATCH]))

    def _batch(self, rows: NDArray[np.int64]) -> Any:
        if self._form == "text":
            columns, texts = self._objects.page(rows, sizes=True)
            keys = self._texts(texts)
        else:
            columns, strings = self._objects.columns(rows, sizes=True), self._objects.key_bytes(rows)
            keys = self._hashes(strings) if self._form == "hash" else self._numbers(strings)
        found = [keys]
        for field in list(self.schema)[1:]:
            values = getattr(columns, field.name)
            if field.name in self._names:
                names = self._names[field.name]
                # The shard index of an object in several shards of a data set is past the names.
                codes = np.where(values < len(names), values, 0).astype(field.type.index_type.to_pandas_dtype())
                found.append(self.arrow.DictionaryArray.from_arrays(codes, names))
            else:
                found.append(self.arrow.array(values, mask=values < 0))
        return self.arrow.RecordBatch.from_arrays(found, schema=self.schema)

    def _texts(self, texts: Sequence[str | None]) -> Any:
        try:
            return self.arrow.array(texts, self.arrow.string())
        except UnicodeEncodeError:
            # Lone surrogates: Arrow accepts only valid UTF-8.
            fit = [text and text.encode("utf-8", "backslashreplace").decode() for text in texts]
            return self.arrow.array(fit, self.arrow.string())

    def _hashes(self, strings: ByteStrings) -> Any:
        """Return hash keys as 32 bytes or as hex text; null for rows without a key."""
        count, arrow, there = len(strings), self.arrow, strings.lengths > 0
        raw = np.zeros((count, _HASH), np.uint8)
        raw[there] = strings.data.reshape(-1, _HASH)
        bits = arrow.py_buffer(np.packbits(there, bitorder="little"))
        if self._raw:
            buffers = [bits, arrow.py_buffer(raw)]
            return arrow.FixedSizeBinaryArray.from_buffers(arrow.binary(_HASH), count, buffers)
        ends = np.arange(0, (count + 1) * 2 * _HASH, 2 * _HASH, dtype=np.int32)
        buffers = [bits, arrow.py_buffer(ends), arrow.py_buffer(_HEX[raw])]
        return arrow.StringArray.from_buffers(count, buffers[1], buffers[2], buffers[0])

    def _numbers(self, strings: ByteStrings) -> Any:
        there = strings.lengths > 0
        values = np.zeros(len(there), np.uint64)
        values[there] = np.frombuffer(strings.data.tobytes(), "<u8")
        found = self.arrow.array(values, mask=~there)
        return found if self._raw else found.cast(self.arrow.string())
