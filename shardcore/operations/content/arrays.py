"""Arrays: tensor files and `.npy`, pictures, and slices of arrays as pixels."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.array_headers import DTYPES, LENGTH, METADATA, npy_layout, tensor_entry
from shardcore.codecs.images import MOST_PIXELS, decode_picture, picture_header
from shardcore.codecs.json_text import parse_json
from shardcore.errors import FormatError, LimitExceeded, Unsupported, UsageError
from shardcore.model.content_layout import RAW, ArrayLayout
from shardcore.model.text import plural, short
from shardcore.operations.content.content_types import ArrayContent, Content, PictureContent, Tensor, TensorsContent

if TYPE_CHECKING:
    from shardcore.shards.shard import Shard

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


LABELS = "compressed_segmentation"
"""Encoding of arrays of labels (segment IDs)."""

_TITLES = {"webp": "WebP"}


def picture_content(data: bytes, size: int) -> Content:
    """Return a picture with its properties from the header; its pixels are not decoded."""
    header = picture_header(data)
    if header is None:
        raise FormatError("not a picture")
    title, note = f"{_TITLES.get(header.format, header.format.upper())} picture", ""
    if header.width * header.height > MOST_PIXELS:
        note = f"{header.width:,} × {header.height:,} pixels; at most {MOST_PIXELS:,} are decoded"
    return PictureContent(
        title, size, data, note, header.format, header.width, header.height, header.frames, header.mode
    )


def picture_pixels(shard: Shard, found: PictureContent) -> NDArray[np.uint8]:
    """Decode a picture into read-only uint8 of shape `(rows, columns, 4)`, RGBA.

    Decoding runs in a separate process if the shard was opened with `isolated=True`.

    Raises:
        FormatError: The picture is invalid.
        Unsupported: Its format or mode is not supported.
        LimitExceeded: It has too many pixels, or not all of its bytes were read.
    """
    if not found.complete:
        raise LimitExceeded(f"{plural(len(found.data), 'byte')} were read; decoding needs the whole picture")
    return decode_picture(found.data, decoder=shard.decoder)


def label_colours(labels: NDArray[Any]) -> NDArray[np.uint32]:
    """Return an ARGB pixel per label: a colour computed from its hash, never dark; label 0 is black."""
    numbers = np.abs(labels) if labels.dtype.kind == "c" else labels
    if numbers.dtype.kind == "f":
        # Floats are hashed by their bits.
        numbers = numbers.astype("=f8").view(np.uint64)
    numbers = numbers.astype(np.uint64)
    mixed = (numbers ^ (numbers >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    colour = ((mixed >> np.uint64(40)) & np.uint64(0xFFFFFF)).astype(np.uint32) | np.uint32(0x404040)
    return np.where(numbers == 0, np.uint32(0xFF000000), np.uint32(0xFF000000) | colour)


def slice_of(array: NDArray[Any], index: str | None, *, across: bool = False) -> NDArray[Any]:
    """Return a slice whose rows and columns are the first two axes; with `across`, the first axis is horizontal.

    `index` has the comma-separated indices of the other axes; default: zeros.

    Raises:
        UsageError: An index is out of range, or the array has fewer than two axes.
    """
    if array.ndim < 2:
        raise UsageError(f"a picture needs at least two axes; the array has {array.ndim}")
    rest = array.ndim - 2
    texts = index.split(",") if index else ["0"] * rest
    if len(texts) != rest or not all(text.strip().isdecimal() for text in texts):
        raise UsageError(f"--index {index}: {plural(rest, 'whole number')} required, one per axis after the second")
    places = tuple(int(text) for text in texts)
    for place, length in zip(places, array.shape[2:], strict=True):
        if place >= length:
            raise UsageError(f"--index {index}: {place} is out of range for an axis of length {length}")
    index_of_plane: Any = (slice(None), slice(None), *places)
    plane: NDArray[Any] = array[index_of_plane]
    return plane.T if across else plane


def pixels_of(shard: Shard, found: ArrayContent | PictureContent, index: str | None) -> NDArray[np.uint8]:
    """Return a picture, or a slice of an array, as pixels; see `array_pixels`."""
    if isinstance(found, PictureContent):
        if index is not None:
            raise UsageError(f"--index applies to arrays; this is {found.title}")
        return picture_pixels(shard, found)
    return array_pixels(found, index)


def array_pixels(found: ArrayContent, index: str | None = None) -> NDArray[np.uint8]:
    """Return a slice of an array as pixels: labels in colour, other numbers in grey."""
    plane = slice_of(found.array, index, across=bool(found.layout.axes))
    if plane.dtype.kind not in "iufb":
        raise UsageError(f"--png needs numbers; these are {plane.dtype}")
    if found.encoding != LABELS:
        return grey(plane)
    # The colours of the window, without alpha.
    argb = label_colours(plane)
    return np.stack([argb >> shift & 0xFF for shift in (16, 8, 0)], axis=-1).astype(np.uint8)


def grey(plane: NDArray[Any]) -> NDArray[np.uint8]:
    """Scale numbers to grey levels between minimum and maximum; NaN becomes black."""
    values = plane.astype(np.float64)
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = (values - low) / ((high - low) or 1) * 255
    return np.nan_to_num(scaled).clip(0, 255).astype(np.uint8)
