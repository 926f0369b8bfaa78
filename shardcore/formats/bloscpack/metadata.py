"""The metadata section ("Description of the metadata section").

metadata header 32 | stored bytes | preallocated zeros up to max_meta_size | checksum of the stored bytes
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

from shardcore.codecs import decompress as payload
from shardcore.codecs.json_text import FREE, parse_json
from shardcore.errors import FormatError, ShardError, Truncated, Unsupported, UsageError
from shardcore.formats.bloscpack.checksums import CHECKSUMS, Checksum, checksum
from shardcore.formats.bloscpack.layout import METADATA_HEADER
from shardcore.model.number_text import grouped_digits, plural
from shardcore.model.source_name import decoded_name
from shardcore.model.span import Span

CODECS = ("none", "zlib")
MAX_LEVEL = 9
DEFAULT_LIMIT = FREE.size
"""Largest uncompressed metadata, in bytes."""


@dataclass(frozen=True, slots=True)
class MetadataSection:
    start: int
    values: dict[str, Any]
    checksum: Checksum

    @property
    def header(self) -> Span:
        return Span("", self.start, self.start + METADATA_HEADER.size)

    @property
    def stored(self) -> Span:
        """Stored text, cut at the end of the preallocated space."""
        size = min(self.values["meta_comp_size"], self.values["max_meta_size"])
        return Span("", self.header.stop, self.header.stop + size)

    @property
    def padding(self) -> Span:
        return Span("", self.stored.stop, self.header.stop + self.values["max_meta_size"])

    @property
    def digest(self) -> Span:
        return Span("", self.padding.stop, self.padding.stop + self.checksum.size)

    @property
    def stop(self) -> int:
        return self.digest.stop

    @property
    def codec(self) -> str:
        number = self.values["meta_codec"]
        return CODECS[number] if number < len(CODECS) else f"codec {number}"

    @property
    def decoded(self) -> str:
        """Source name of the uncompressed text; empty if it is stored uncompressed."""
        return decoded_name(self.stored.start, self.stored.stop) if self.codec != "none" else ""

    def problems(self) -> list[tuple[str, str]]:
        """Return the invalid fields, each with its error message."""
        values, found = self.values, []
        if values["magic_format"].rstrip(b"\0 ") != b"JSON":
            found.append(("magic_format", f"metadata format {values['magic_format']!r} is unknown; supported: JSON"))
        if values["meta_options"]:
            found.append(("meta_options", f"meta_options is {values['meta_options']:#04x}, but no option is defined"))
        if values["meta_codec"] >= len(CODECS):
            found.append(
                ("meta_codec", f"metadata codec {values['meta_codec']} is unknown; supported: 0 (none), 1 (zlib)")
            )
        if values["meta_level"] > MAX_LEVEL:
            found.append(("meta_level", f"meta_level is {values['meta_level']}; valid: 0 to {MAX_LEVEL}"))
        if values["meta_comp_size"] > values["max_meta_size"]:
            stored, room = plural(values["meta_comp_size"], "byte"), grouped_digits(values["max_meta_size"])
            found.append(("meta_comp_size", f"the stored metadata has {stored}, but only {room} are reserved for it"))
        return found


def read_metadata_section(header: bytes, start: int, size: int) -> MetadataSection:
    """Read the header of the section at `start`; raise Truncated if the section ends after the file of `size` bytes."""
    values = METADATA_HEADER.read_one(header, place=Span("", start, start + len(header)))
    at = start + METADATA_HEADER.offsets["meta_checksum"]
    section = MetadataSection(start, values, checksum(values["meta_checksum"], Span("", at, at + 1)))
    if section.stop > size:
        raise Truncated(
            f"the metadata section ends at byte {section.stop:#x}, the file at {size:#x}", span=Span("", start, size)
        )
    return section


def write_metadata_section(
    text: bytes, *, codec: int = 1, level: int = 6, kind: Checksum = CHECKSUMS[1], room: int | None = None
) -> bytes:
    """Return the bytes of a section; the text is not compressed if zlib would make it longer.

    `room` is the size reserved for the stored text, by default ten times the text, as in the reference.
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
    problems = [message for name, message in section.problems() if name in ("meta_codec", "meta_comp_size")]
    if problems:
        raise Unsupported(problems[0], span=section.header)
    expected = section.values["meta_size"]
    return payload.decompress(section.codec, stored, limit=limit, expected=expected, span=section.stored)


def parse_metadata(section: MetadataSection, text: bytes) -> Any:
    """Return the parsed metadata; raise FormatError if `magic_format` is not `JSON`, or the text is not valid JSON."""
    for name, message in section.problems():
        if name == "magic_format":
            raise FormatError(message, span=section.header)
    return parse_json(text, "the metadata", limits=FREE, span=section.stored)


def check_digest(section: MetadataSection, stored: bytes, digest: bytes) -> str:
    try:
        section.checksum.check(stored, digest, section.digest, "metadata")
    except ShardError as error:
        return error.message
    return ""
