"""Contents that are arrays, tensor files or pictures, and the conversion of array slices to pixels."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.array_headers import (
    DTYPES,
    LENGTH,
    METADATA,
    MOST_HEADER,
    NPY_MAGIC,
    header_stop,
    npy_layout,
    tensor_entry,
)
from shardcore.codecs.images import MOST_PIXELS, decode_picture, encode_png, picture_format, picture_header
from shardcore.codecs.json_text import parse_json
from shardcore.dataclasses import asdict, dataclass, field, replace
from shardcore.errors import FormatError, LimitExceeded, Unsupported, UsageError
from shardcore.model.chunk_grid import ArrayValue
from shardcore.model.content_layout import RAW, ArrayLayout
from shardcore.model.objects import ObjectRef
from shardcore.model.text import json_values, number_text, plural, range_text, said, short, visible
from shardcore.operations.content.base import (
    HTML_LETTERS,
    HTML_ROWS,
    LINES,
    Beginning,
    BytesContent,
    Content,
    ListedPart,
    PictureBlock,
    Recognise,
    Rows,
    TableBlock,
    TextBlock,
    aligned,
    rest,
)
from shardcore.shards.shard import Shard

LABELS = "compressed_segmentation"
"""Encoding of arrays of labels (segment IDs)."""

CORNER = 6
"""Number of elements per axis of an array that are printed as text."""

HEADERS = 16 << 20
"""Maximum bytes that are read from a GGUF file to parse its header."""

HTML_PIXELS = 512
"""Pixels along the longer edge of a picture in HTML."""

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
_TITLES = {"webp": "WebP"}
_BROWSERS = ("png", "jpeg", "gif", "webp")
"""Picture formats that browsers display, which are embedded in HTML unchanged."""
_MOST_EMBEDDED = 1 << 20
"""Maximum bytes of a stored picture in HTML."""
_MOST_AREA = 1 << 24


@dataclass(frozen=True, slots=True)
class ArrayContent(ArrayValue, Content):
    """Array of numbers, which can be indexed like a NumPy array if all of it was read; `size` is in bytes.

    Attributes:
        layout: Type, shape and order of the elements.
        encoding: Encoding of the stored content before it was decoded: `raw`, `jpeg`, …
        stored_size: Bytes of the encoded content; -1 if the encoding is `raw`.
    """

    kind: ClassVar[Literal["array"]] = "array"
    opens: ClassVar[bool] = True
    views: ClassVar[tuple[str, ...]] = ("array",)

    layout: ArrayLayout = field(default_factory=lambda: ArrayLayout(np.dtype("u1"), (0,), "C"))
    encoding: str = RAW
    stored_size: int = -1

    @classmethod
    def recognise(cls, beginning: Beginning) -> ArrayContent | None:
        if not beginning.head.startswith(NPY_MAGIC):
            return None
        data, size = beginning.whole(), beginning.size
        layout = npy_layout(data)
        needed = layout.start + layout.nbytes
        if size >= 0 and needed != size:
            raise FormatError(f"invalid .npy: the array needs {needed:,} bytes, the content has {size:,}")
        return cls("NumPy array", size, data, "", layout)

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis."""
        return self.layout.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of an element."""
        return self.layout.dtype

    def __getitem__(self, index: Any) -> Any:
        if not self.complete:
            raise LimitExceeded(f"only {plural(len(self.data), 'byte')} of {self.size:,} were read; all are needed")
        return self.array[index]

    @property
    def read_layout(self) -> ArrayLayout:
        """Layout of the elements that were read; if the content is incomplete, only its leading elements."""
        return self.layout if self.complete else self.layout.leading(len(self.data))

    @property
    def array(self) -> NDArray[Any]:
        """The elements of `read_layout` as a read-only array.

        Raises:
            FormatError: The content has more or fewer bytes than the array.
        """
        layout = self.read_layout
        return layout.of(self.data if self.complete else self.data[: layout.start + layout.nbytes])

    def properties(self) -> dict[str, Any]:
        layout = self.layout
        return {
            "dtype": layout.dtype.str, "shape": layout.shape, "order": layout.order, "axes": layout.axes,
            "units": layout.units, "resolution": layout.resolution, "begin": layout.begin,
            "encoding": self.encoding, "stored_size": self.stored_size if self.stored_size >= 0 else None,
            "statistics": statistics(self.array) if self.complete else None,
        }  # fmt: skip

    def lines(self) -> Iterator[str]:
        layout = self.layout
        axes = f" ({', '.join(layout.axes)})" if layout.axes else ""
        if self.encoding != RAW:
            yield f"encoded as {self.encoding}, {plural(self.stored_size, 'byte')}"
        yield f"type {layout.dtype}, shape {' × '.join(map(str, layout.shape))}{axes}, order {layout.order}"
        if layout.resolution:
            steps = zip(layout.resolution, layout.units, layout.axes, strict=True)
            known = (f"{axis} {number_text(step)} {unit}" for step, unit, axis in steps if unit)
            yield f"resolution {', '.join(known)}"
        if any(layout.begin):
            yield f"begins at {', '.join(map(str, layout.begin))}"
        if not self.complete:
            yield f"{plural(len(self.data), 'byte')} were read; statistics need the whole content"
        array = self.array
        if not array.size:
            return
        result = statistics(array)
        if self.complete and "min" in result:
            mean = f", mean {result['mean']:.9g}" if result["mean"] is not None else ""
            yield f"minimum {result['min']}, maximum {result['max']}{mean}"
        corner = array[tuple(slice(CORNER) for _ in array.shape[:2]) + (0,) * (array.ndim - 2)]
        yield from np.array2string(corner, floatmode="unique").split("\n")

    def blocks(self) -> Iterator[TextBlock | PictureBlock]:
        layout = self.layout
        axes = f" ({', '.join(layout.axes)})" if layout.axes else ""
        encoded = f", encoded as {self.encoding}" if self.stored_size >= 0 else ""
        yield TextBlock(f"{layout.dtype}, {' × '.join(map(str, layout.shape)) or 'one element'}{axes}{encoded}")
        array = self.array
        if array.ndim < 2 or not array.size or array.dtype.kind not in "iufb":
            first = array[tuple(slice(HTML_ROWS) for _ in array.shape)] if array.ndim < 2 else array.ravel()[:HTML_ROWS]
            text = visible(np.array2string(first, max_line_width=100, floatmode="unique"), keep="\n")
            yield TextBlock(text[:HTML_LETTERS], code=True)
            return
        middle = ", ".join(str(length // 2) for length in array.shape[2:])
        pixels = array_pixels(self, middle or None)
        longest = max(pixels.shape[:2])
        step = -(-longest // HTML_PIXELS)
        enlarged = pixels.shape[1] * (HTML_PIXELS // 2 // longest)
        yield PictureBlock(encode_png(pixels[::step, ::step]), "png", enlarged)
        if middle:
            yield TextBlock(f"slice {middle}", faint=True)

    def pixels(self, shard: Shard, index: str | None = None) -> NDArray[np.uint8]:
        self._needs_all()
        return array_pixels(self, index)


def declared_array(shard: Shard, ref: ObjectRef, beginning: Beginning, strict: bool) -> Content | None:
    """Return an object as the array that its format declares; None if it declares none.

    Raises:
        FormatError: The array does not match the content.
        LimitExceeded: The array is compressed, and the content is not complete.
    """
    layout = shard.arrays.array_layout(ref)
    if layout is None:
        return None
    data, size = beginning.whole(), beginning.size
    title = f"{' × '.join(map(str, layout.shape))} array of {layout.dtype.name}"
    if layout.encoding == RAW:
        if size >= 0 and layout.start + layout.nbytes != size:
            note = f"expected an array of {layout.nbytes:,} bytes; the content has {size:,}"
            return BytesContent.of(data, size, note)
        return ArrayContent(title, size, data, "", layout)
    if size != len(data):
        raise LimitExceeded(f"decoding {layout.encoding} needs the whole content of {plural(size, 'byte')}")
    decoded, elements = shard.arrays.decode_array(ref, layout, data, shard.decoder)
    return ArrayContent(title, len(elements), elements, "", decoded, layout.encoding, size)


def statistics(array: NDArray[Any]) -> dict[str, Any]:
    """Return number of elements, and minimum, maximum and mean of the finite ones; for other types only the number."""
    result: dict[str, Any] = {"elements": int(array.size)}
    if array.size and array.dtype.kind in "iufb":
        values = array.astype(float) if array.dtype.kind == "b" else array
        if array.dtype.kind == "f":
            values = values[np.isfinite(values)]
            result["not_finite"] = int(array.size - values.size)
        if values.size:
            with np.errstate(over="ignore"):
                mean = float(values.mean(dtype=float))
            result |= {"min": json_values(values.min()), "max": json_values(values.max())}
            result["mean"] = mean if np.isfinite(mean) else None
    return result


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


@dataclass(frozen=True, slots=True)
class Tensor:
    """Tensor in a tensor file.

    Attributes:
        name: Its name.
        dtype: Type of an element, in the notation of the file.
        shape: Elements along each axis.
        start: First byte in the content.
        stop: One past the last byte; -1 if the size of the type is unknown.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int

    @property
    def length(self) -> str:
        """Size in bytes as text; empty if unknown."""
        return f"{self.stop - self.start:,}" if self.stop >= 0 else ""

    def as_text(self) -> tuple[str, ...]:
        """Return name, type, shape and byte range, as printed by `show`."""
        place = range_text(self.start, self.stop) if self.stop >= 0 else f"{self.start:#x}, size unknown"
        return self.name, self.dtype, str(list(self.shape)), place


@dataclass(frozen=True, slots=True)
class TensorsContent(Content):
    """Header of a tensor file: its tensors, in the order of the header, and its metadata."""

    kind: ClassVar[Literal["tensors"]] = "tensors"
    opens: ClassVar[bool] = True
    views: ClassVar[tuple[str, ...]] = ("table",)
    parts: ClassVar[str] = "tensor"

    tensors: tuple[Tensor, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def recognise(cls, beginning: Beginning) -> TensorsContent | None:
        if beginning.head.startswith(GGUF):
            return gguf_content(beginning.first(HEADERS), beginning.size)
        if stop := header_stop(beginning.head):
            return safetensors_content(beginning.first(min(stop, LENGTH + MOST_HEADER)), beginning.size)
        return None

    def properties(self) -> dict[str, Any]:
        return {"tensors": [asdict(one) for one in self.tensors], "metadata": self.metadata}

    def lines(self) -> Iterator[str]:
        yield from aligned([("name", "dtype", "shape", "bytes"), *(one.as_text() for one in self.tensors[:LINES])])
        yield from rest(len(self.tensors), LINES, "tensor")

    def blocks(self) -> Iterator[TableBlock]:
        rows = [(one.name, one.dtype, said(list(one.shape))) for one in self.tensors[:HTML_ROWS]]
        yield TableBlock(("tensor", "type", "shape"), rows, len(self.tensors), "tensor")

    def listing(self) -> Rows:
        cells = [(one.name, one.dtype, " × ".join(map(str, one.shape)), one.length, one.start) for one in self.tensors]
        spans = [(one.start, max(one.stop, one.start)) for one in self.tensors]
        return Rows(("Name", "Type", "Shape", "Bytes", "Offset"), cells, spans)

    def part(self, number: int) -> ListedPart:
        one = self.tensors[number]
        return ListedPart(one.name, one.start, max(one.stop, one.start))

    def member(self, name: str, read: Callable[[int, int], bytes], recognise: Recognise, limit: int) -> Content:
        tensor = next((one for one in self.tensors if one.name == name), None)
        if tensor is None:
            raise UsageError(
                f"no tensor {short(name)} (available: {', '.join(short(one.name) for one in self.tensors[:8])})"
            )
        size = tensor.stop - tensor.start
        if tensor.stop >= 0 and size > limit:
            raise LimitExceeded(f"{short(name)} has {plural(size, 'byte')}; at most {limit:,} are read")
        return tensor_content(tensor, read(tensor.start, tensor.stop) if size > 0 else b"")


def safetensors_content(data: bytes, size: int) -> TensorsContent:
    """Return the tensors of a safetensors file; FormatError if they overlap or `data` ends within the header."""
    stop = LENGTH + int.from_bytes(data[:LENGTH], "little")
    if stop > len(data):
        raise FormatError(f"the safetensors header has {stop - LENGTH:,} bytes; only {len(data):,} bytes were read")
    header = parse_json(data[LENGTH:stop].rstrip(b" "), "the safetensors header")
    if not isinstance(header, dict):
        raise FormatError("invalid safetensors header: not a JSON object")
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


def tensor_content(tensor: Tensor, data: bytes) -> ArrayContent:
    """Return a tensor as an array, from its bytes `data`; raise Unsupported for an unknown type or a wrong size."""
    layout = tensor_layout(tensor)
    if layout is None:
        raise Unsupported(f"{short(tensor.name)}: type {short(tensor.dtype)} is not supported with this size")
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
                raise FormatError(f"invalid GGUF header: a list of {count:,} values exceeds the header")
            return [self.value(inner, depth + 1) for _ in range(count)][:16]
        if kind >= len(_VALUES) or not _VALUES[kind]:
            raise FormatError(f"invalid GGUF header: unknown value type {kind}")
        return self.number(_VALUES[kind])


def gguf_content(data: bytes, size: int) -> TensorsContent:
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
            raise FormatError(f"invalid GGUF header: tensor {short(name)} has {rank:,} axes (at most {_MOST_AXES})")
        shape = tuple(reader.number("<Q") for _ in range(rank))
        found.append((name, shape, reader.number("<I"), reader.number("<Q")))
        if len(found) > _MOST_TENSORS:
            raise FormatError(f"invalid GGUF header: {count:,} tensors (at most {_MOST_TENSORS:,})")
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


@dataclass(frozen=True, slots=True)
class PictureContent(Content):
    """Encoded picture.

    Attributes:
        format: `png`, `jpeg`, `gif`, `webp`, `tiff` or `bmp`.
        width: Pixels; 0 if the header was not read.
        height: Pixels.
        frames: Frames of an animation, or pages.
        mode: Channels in words: `grey`, `RGB and alpha`.
    """

    kind: ClassVar[Literal["picture"]] = "picture"
    views: ClassVar[tuple[str, ...]] = ("picture",)

    format: str = ""
    width: int = 0
    height: int = 0
    frames: int = 1
    mode: str = ""

    @classmethod
    def recognise(cls, beginning: Beginning) -> PictureContent | None:
        """Return a picture with its properties from the header; its pixels are not decoded."""
        if not picture_format(beginning.head):
            return None
        data = beginning.whole()
        header = picture_header(data)
        if header is None:
            raise FormatError("the header of the picture cannot be read")
        title, note = f"{_TITLES.get(header.format, header.format.upper())} picture", ""
        if header.width * header.height > MOST_PIXELS:
            note = f"{header.width:,} × {header.height:,} pixels; at most {MOST_PIXELS:,} are decoded"
        facts = header.format, header.width, header.height, header.frames, header.mode
        return cls(title, beginning.size, data, note, *facts)

    def properties(self) -> dict[str, Any]:
        size = {"width": self.width or None, "height": self.height or None}
        return {"format": self.format, **size, "frames": self.frames, "mode": self.mode}

    def lines(self) -> Iterator[str]:
        if self.width:
            frames = f", {plural(self.frames, 'frame')}" if self.frames > 1 else ""
            yield f"{self.width} × {self.height} pixels, {self.mode}{frames}"

    def blocks(self) -> Iterator[TextBlock | PictureBlock]:
        if self.width:
            yield TextBlock(f"{self.width} × {self.height} pixels, {self.mode}")
        fits = self.complete and self.size <= _MOST_EMBEDDED and self.width * self.height <= _MOST_AREA
        if fits and self.format in _BROWSERS:
            yield PictureBlock(self.data, self.format)

    def pixels(self, shard: Shard, index: str | None = None) -> NDArray[np.uint8]:
        self._needs_all()
        if index is not None:
            raise UsageError(f"--index applies to arrays; this is {self.title}")
        return picture_pixels(shard, self)


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
