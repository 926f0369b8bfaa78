"""Tensor files: reading the headers of safetensors, GGUF and `.npy`."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from typing import Any

import numpy as np

from shardcore.codecs.array_headers import DTYPES, LENGTH, METADATA, npy_layout, tensor_entry
from shardcore.codecs.json_text import parse_json
from shardcore.errors import FormatError, Unsupported
from shardcore.model.content_layout import RAW, ArrayLayout
from shardcore.model.text import short
from shardcore.operations.content.content_types import ArrayContent, Content, Tensor, TensorsContent

GGUF = b"GGUF"

_MOST_TENSORS = 1 << 20
_MOST_AXES = 8
_MOST_BYTES = 1 << 62
# Type number: name, elements of a block, bytes of a block (ggml).
_GGML = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 24: ("I8", 1, 1), 25: ("I16", 1, 2), 26: ("I32", 1, 4),
    27: ("I64", 1, 8), 28: ("F64", 1, 8), 30: ("BF16", 1, 2),
}  # fmt: skip
BF16 = "BF16"
_VALUES = ("<B", "<b", "<H", "<h", "<I", "<i", "<f", "<?", "", "", "<Q", "<q", "<d")
_STRING, _LIST = 8, 9


def npy_content(data: bytes, size: int) -> Content:
    layout = npy_layout(data)
    needed = layout.start + layout.nbytes
    if size >= 0 and needed != size:
        raise FormatError(f"invalid .npy: the array needs {needed:,} bytes, the content has {size:,}")
    return ArrayContent("NumPy array", size, data, "", layout)


def safetensors_content(data: bytes, size: int) -> Content:
    """Return the tensors of a safetensors file; FormatError if they overlap or `data` ends within the header."""
    stop = LENGTH + int.from_bytes(data[:LENGTH], "little")
    if stop > len(data):
        raise FormatError(f"safetensors header of {stop - LENGTH:,} bytes; {len(data):,} bytes were read")
    header = parse_json(data[LENGTH:stop].rstrip(b" "), "the safetensors header")
    if not isinstance(header, dict):
        raise FormatError("invalid safetensors header: no JSON object")
    metadata = header.pop(METADATA, {})
    tensors = tuple(_safetensor(name, entry, stop, size) for name, entry in header.items())
    _check_apart(tensors)
    return TensorsContent("safetensors", size, data, "", tensors, metadata if isinstance(metadata, dict) else {})


def _safetensor(name: str, entry: Any, base: int, size: int) -> Tensor:
    try:
        dtype, shape, start, stop = tensor_entry(name, entry)
    except FormatError as error:
        raise FormatError(f"invalid safetensors header: tensor {error.message}") from error
    if 0 <= size < base + stop:
        raise FormatError(f"invalid safetensors header: tensor {short(name)} is outside the file")
    return Tensor(name, dtype, shape, base + start, base + stop)


def _check_apart(tensors: tuple[Tensor, ...]) -> None:
    stop, before = 0, ""
    for tensor in sorted((one for one in tensors if one.stop > one.start), key=lambda one: one.start):
        if tensor.start < stop:
            raise FormatError(f"invalid safetensors header: {short(before)} and {short(tensor.name)} overlap")
        stop, before = tensor.stop, tensor.name


def tensor_layout(tensor: Tensor) -> ArrayLayout | None:
    """Return the layout of a tensor, with offsets from its first byte; None if its type is not supported.

    BF16 has the encoding `bf16`, which `tensor_content` widens to 32-bit floats.
    """
    half = tensor.dtype == BF16
    # Type names that safetensors and GGUF share have the same meaning.
    text = "<f4" if half else DTYPES.get(tensor.dtype)
    if text is None:
        return None
    layout = ArrayLayout(np.dtype(text), tensor.shape, "C", encoding="bf16" if half else RAW)
    return layout if layout.nbytes == (tensor.stop - tensor.start) * (2 if half else 1) else None


def tensor_content(tensor: Tensor, data: bytes) -> Content:
    """Return a tensor as an array, from its bytes `data`; raise Unsupported for an unknown type or a wrong size."""
    layout = tensor_layout(tensor)
    if layout is None:
        raise Unsupported(f"{short(tensor.name)}: {short(tensor.dtype)} of this size is not supported")
    stored, size = (RAW, -1) if layout.encoding == RAW else (tensor.dtype, len(data))
    if layout.encoding != RAW:
        # BF16 is the upper half of a 32-bit float.
        data = (np.frombuffer(data, "<u2").astype("<u4") << 16).tobytes()
    title = f"{' × '.join(map(str, tensor.shape)) or 'scalar'} tensor of {tensor.dtype}"
    return ArrayContent(title, len(data), data, "", replace(layout, encoding=RAW), stored, size)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        if size > len(self._data) - self.at:
            raise FormatError(f"the GGUF header is longer than the {len(self._data):,} bytes that were read")
        self.at += size
        return self._data[self.at - size : self.at]

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def string(self) -> str:
        return self.take(self.number("<Q")).decode("utf-8", "replace")

    def value(self, kind: int, depth: int = 0) -> Any:
        """Read the next value of a GGUF type; a list is shortened to its first 16 values."""
        if kind == _STRING:
            return self.string()
        if kind == _LIST and depth < 4:
            inner, count = self.number("<I"), self.number("<Q")
            if inner < len(_VALUES) and _VALUES[inner]:
                width = struct.calcsize(_VALUES[inner])
                data = self.take(width * count)
                return [v for (v,) in struct.iter_unpack(_VALUES[inner], data[: 16 * width])]
            if count > len(self._data):
                raise FormatError(f"invalid GGUF header: {count:,} values in a list")
            return [self.value(inner, depth + 1) for _ in range(count)][:16]
        if kind >= len(_VALUES) or not _VALUES[kind]:
            raise FormatError(f"invalid GGUF header: unknown value type {kind}")
        return self.number(_VALUES[kind])


def gguf_content(data: bytes, size: int) -> Content:
    reader = _Reader(data)
    reader.take(4)
    version = reader.number("<I")
    if version not in (2, 3):
        raise FormatError(f"GGUF version {version} is not supported (supported: 2, 3)")
    count, pairs = reader.number("<Q"), reader.number("<Q")
    metadata: dict[str, Any] = {}
    for _ in range(pairs):
        name = reader.string()
        metadata[name] = reader.value(reader.number("<I"))
    found = []
    for _ in range(count):
        name, rank = reader.string(), reader.number("<I")
        if rank > _MOST_AXES:
            raise FormatError(f"invalid GGUF header: tensor {short(name)} has {rank:,} axes")
        shape = tuple(reader.number("<Q") for _ in range(rank))
        found.append((name, shape, reader.number("<I"), reader.number("<Q")))
        if len(found) > _MOST_TENSORS:
            raise FormatError(f"invalid GGUF header: {count:,} tensors")
    alignment = metadata.get("general.alignment", 32)
    step = alignment if isinstance(alignment, int) and 0 < alignment <= 1 << 20 else 32
    base = -(-reader.at // step) * step
    tensors = []
    for name, shape, kind, offset in found:
        dtype, block, width = _GGML.get(kind, (f"type {kind}", 0, 0))
        start = base + offset
        stop = start + math.prod(shape) // block * width if block else -1
        if max(start, stop) > (size if size >= 0 else _MOST_BYTES):
            raise FormatError(f"invalid GGUF header: tensor {short(name)} is outside the file")
        # GGUF lists the fastest axis first.
        tensors.append(Tensor(name, dtype, shape[::-1], start, stop))
    return TensorsContent("GGUF", size, data, "", tuple(tensors), metadata)
