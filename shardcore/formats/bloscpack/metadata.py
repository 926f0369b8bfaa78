"""The metadata section ("Description of the metadata section"), and the NumPy array that its text may describe.

metadata header 32 | stored bytes | preallocated zeros up to max_meta_size | checksum of the stored bytes
"""

from __future__ import annotations

import ast
import io
import zlib
from typing import Any

import numpy as np

from shardcore.codecs import decompress as payload
from shardcore.codecs.json_text import FREE, parse_json
from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, ShardError, Truncated, Unsupported, UsageError
from shardcore.formats.bloscpack.layout import CHECKSUMS, METADATA_HEADER, Checksum, checksum
from shardcore.model.content_layout import ArrayLayout, is_length
from shardcore.model.span import Span, decoded_name
from shardcore.model.text import SHOWN, grouped_digits, plural, short

CODECS = ("none", "zlib")
MAX_LEVEL = 9
DEFAULT_LIMIT = FREE.size
"""Largest uncompressed metadata, in bytes."""


@dataclass(frozen=True, slots=True)
class MetadataSection:
    """Location and header fields of the metadata section, which begins at `start`."""

    start: int
    values: dict[str, Any]
    checksum: Checksum

    @property
    def header(self) -> Span:
        return METADATA_HEADER.span("", self.start)

    @property
    def stored(self) -> Span:
        size = min(self.values["meta_comp_size"], self.values["max_meta_size"])
        return Span("", self.header.stop, self.header.stop + size)

    @property
    def padding(self) -> Span:
        return Span("", self.stored.stop, self.header.stop + self.values["max_meta_size"])

    @property
    def digest(self) -> Span:
        return Span("", self.padding.stop, self.stop)

    @property
    def stop(self) -> int:
        return self.padding.stop + self.checksum.size

    @property
    def codec(self) -> str:
        number = self.values["meta_codec"]
        return CODECS[number] if number < len(CODECS) else f"codec {number}"

    @property
    def decoded(self) -> str:
        """Name by which the decompressed text is opened as a source; empty if it is stored uncompressed."""
        return decoded_name(self.stored.start, self.stored.stop) if self.codec != "none" else ""

    @property
    def problems(self) -> dict[str, str]:
        """Error messages of the invalid fields, by name."""
        values, found = self.values, dict[str, str]()
        if values["magic_format"].rstrip(b"\0 ") != b"JSON":
            found["magic_format"] = f"metadata format {values['magic_format']!r} is unknown; supported: JSON"
        if values["meta_options"]:
            found["meta_options"] = f"meta_options is {values['meta_options']:#04x}, but no option is defined"
        if values["meta_codec"] >= len(CODECS):
            found["meta_codec"] = f"metadata codec {values['meta_codec']} is unknown; supported: 0 (none), 1 (zlib)"
        if values["meta_level"] > MAX_LEVEL:
            found["meta_level"] = f"meta_level is {values['meta_level']}; valid: 0 to {MAX_LEVEL}"
        if values["meta_comp_size"] > values["max_meta_size"]:
            stored, room = plural(values["meta_comp_size"], "byte"), grouped_digits(values["max_meta_size"])
            found["meta_comp_size"] = f"the stored metadata has {stored}, but only {room} are reserved for it"
        return found

    def digest_problem(self, stored: bytes, digest: bytes) -> str:
        try:
            self.checksum.check(stored, digest, self.digest, "metadata")
        except ShardError as error:
            return error.message
        return ""


def read_metadata_section(header: bytes, start: int, size: int) -> MetadataSection:
    """Parse a section header; raise Truncated if the section, at byte `start`, ends after the file of `size` bytes."""
    values = METADATA_HEADER.read_one(header, place=Span("", start, start + len(header)))
    kind = checksum(values["meta_checksum"], METADATA_HEADER.span("meta_checksum", start))
    section = MetadataSection(start, values, kind)
    if section.stop > size:
        message = f"the metadata section ends at byte {section.stop:#x}, the file at {size:#x}"
        raise Truncated(message, span=Span("", start, size))
    return section


def write_metadata_section(
    text: bytes, *, codec: int = 1, level: int = 6, kind: Checksum = CHECKSUMS[1], room: int | None = None
) -> bytes:
    """Return the bytes of a section; the text is not compressed if zlib would make it longer.

    `room` is the number of bytes reserved for the stored text; default: ten times the text, as in the reference.
    """
    packed = zlib.compress(text, level) if codec else text
    if len(packed) > len(text):
        codec, packed = 0, text
    room = 10 * len(text) if room is None else room
    if len(packed) > room:
        raise UsageError(
            f"the metadata takes {plural(len(packed), 'byte')}, but only {grouped_digits(room)} are reserved for it"
        )
    header = METADATA_HEADER.pack(
        meta_checksum=kind.number,
        meta_codec=codec,
        meta_level=level,
        meta_size=len(text),
        max_meta_size=room,
        meta_comp_size=len(packed),
    )
    return header + packed.ljust(room, b"\0") + kind.compute(packed)


def decode_metadata(section: MetadataSection, stored: bytes, *, limit: int = DEFAULT_LIMIT) -> bytes:
    """Decompress `stored`; raise FormatError if the size of the result is not `meta_size`."""
    for name in ("meta_codec", "meta_comp_size"):
        if name in section.problems:
            raise Unsupported(section.problems[name], span=section.header)
    expected = section.values["meta_size"]
    return payload.decompress(section.codec, stored, limit=limit, expected=expected, span=section.stored)


def parse_metadata(section: MetadataSection, text: bytes) -> Any:
    """Return the parsed metadata; raise FormatError if `magic_format` is not `JSON`, or the text is not valid JSON."""
    if "magic_format" in section.problems:
        raise FormatError(section.problems["magic_format"], span=section.header)
    return parse_json(text, "the metadata", limits=FREE, span=section.stored)


ARRAY_MEMBERS = ("dtype", "shape", "order", "container")
"""Members of the metadata that describe an array."""
MAX_DTYPE_TEXT = 65536
MAX_TYPE_LETTERS = 128
"""Longest type string, in letters; NumPy parses some longer ones in quadratic time."""
MAX_FIELDS = 4096
"""Maximum number of fields of a structured type, nested ones included."""
MAX_DIMENSIONS = 64


def dtype_text(dtype: np.dtype[Any]) -> str:
    return str(np.lib.format.dtype_to_descr(dtype))


def names_array(name: str) -> bool:
    return name.lower().endswith(".npy")


def npy_head(array: ArrayLayout) -> bytes:
    header = {
        "descr": np.lib.format.dtype_to_descr(array.dtype),
        "fortran_order": array.order == "F",
        "shape": array.shape,
    }
    file = io.BytesIO()
    try:
        np.lib.format.write_array_header_1_0(file, header)
    except ValueError:
        # Too long for version 1.0, or field names outside Latin-1.
        text = f"{header}\n".encode()
        return np.lib.format.magic(3, 0) + len(text).to_bytes(4, "little") + text
    return file.getvalue()


def array_info(metadata: Any) -> ArrayLayout | None:
    """Return the array that the metadata describes (if `container` is "numpy"); None if it describes none."""
    if not isinstance(metadata, dict) or metadata.get("container") != "numpy":
        return None
    shape, order = metadata.get("shape"), metadata.get("order", "C")
    if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS or not all(is_length(n) for n in shape):
        raise FormatError(f"metadata: {_short(shape)} is not the shape of an array")
    if order not in ("C", "F"):
        raise FormatError(f"metadata: order must be C or F, not {_short(order)}")
    return ArrayLayout(parse_dtype(metadata.get("dtype")), tuple(shape), order)


def parse_dtype(text: Any, *, objects: bool = False) -> np.dtype[Any]:
    """Return the element type in the metadata; the text is parsed as a literal, never evaluated.

    Args:
        text: The repr of a type string (`"'<f8'"`) or of a list of fields. Before bloscpack 0.7.2: a type string
            (`<f8`), or the fields as nested lists.
        objects: Accept Python objects as elements.
    """
    descr = text
    try:
        if isinstance(text, str):
            if len(text) > MAX_DTYPE_TEXT:
                raise FormatError(f"metadata: dtype has {plural(len(text), 'letter')}; the limit is {MAX_DTYPE_TEXT:,}")
            # Old versions write a type string that is not a literal: `<f8`, `int64`.
            descr = ast.literal_eval(text) if text[:1] in "'\"[(" else text
        if not isinstance(descr, (str, list)):
            raise FormatError(f"metadata: {_short(text)} is not an element type")
        dtype = np.dtype(_fields(descr, [MAX_FIELDS]) if isinstance(descr, list) else _type_string(descr))
    except (TypeError, ValueError, SyntaxError, KeyError, MemoryError, RecursionError, OverflowError) as error:
        raise FormatError(f"metadata: {_short(text)} is not an element type ({_short(str(error))})") from error
    if dtype.hasobject and not (objects and dtype == np.object_):
        raise Unsupported(f"metadata: elements of {_short(text)} are Python objects, which are not supported")
    return dtype


def _type_string(text: str) -> str:
    if len(text) > MAX_TYPE_LETTERS:
        raise ValueError(f"the type has {len(text)} letters; the limit is {MAX_TYPE_LETTERS}")
    return text


def _fields(descr: list[Any], room: list[int]) -> list[Any]:
    """Return the fields as tuples (name, type, shape), as NumPy requires; reduces `room[0]`, the number allowed."""
    room[0] -= len(descr)
    if room[0] < 0:
        raise ValueError(f"more than {MAX_FIELDS} fields")
    fields: list[Any] = []
    for field in descr:
        if not isinstance(field, (list, tuple)) or not 2 <= len(field) <= 3:
            raise ValueError("a field must be a name, a type and an optional shape")
        name, kind, *shape = field
        kind = _fields(kind, room) if isinstance(kind, list) else _type_string(kind) if isinstance(kind, str) else kind
        fields.append((name, kind, *(tuple(s) if isinstance(s, list) else s for s in shape)))
    return fields


def _short(value: Any) -> str:
    text = value[: SHOWN + 1] if isinstance(value, str) else short(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"
