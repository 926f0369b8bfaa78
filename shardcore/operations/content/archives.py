"""Archives and compressed files: listing the members, and decompressing one of them."""

from __future__ import annotations

import bz2
import io
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal

import numpy as np

from shardcore.codecs.decompress import GZIP_MAGIC, MAX_WINDOW, ZSTD_MAGIC, zstd_end
from shardcore.containers import ZIP_MAGICS
from shardcore.containers.zip import CENTRAL_MAGIC, ZipObjects
from shardcore.dataclasses import asdict, dataclass, replace
from shardcore.errors import FormatError, LimitExceeded, Unsupported, UsageError
from shardcore.model.text import plural, short
from shardcore.operations.content.base import (
    HTML_ROWS,
    LINES,
    WHOLE,
    Beginning,
    Content,
    ListedPart,
    Recognise,
    Rows,
    TableBlock,
    aligned,
    rest,
)
from shardcore.shards.opening import open as open_shard

MOST_MEMBERS = 100_000

PEEK = 1 << 20
"""Maximum bytes that are decompressed to recognise the content of a compressed file."""

_TAR_MAGIC = b"ustar"
_ZIP_CODECS = {"method 12": "bzip2"}
"""Names of compression methods that are supported here but that the zip reader names only by number."""
_XZ_MEMORY = 64 << 20
_PIECE = 1 << 18
_MOST_STREAMS = 1 << 12
"""Maximum number of concatenated streams, since thousands of empty ones fit into a few bytes."""
_FAILURES = (
    tarfile.TarError, zlib.error, lzma.LZMAError, OSError, ValueError, EOFError,
    NotImplementedError, RuntimeError, RecursionError, OverflowError, LookupError,
)  # fmt: skip

COMPRESSED = ((GZIP_MAGIC, "gzip"), (ZSTD_MAGIC, "zstd"), (b"BZh", "bzip2"), (b"\xfd7zXZ\0", "xz"))


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """Member of an archive.

    Attributes:
        name: Path in the archive.
        size: Uncompressed bytes; -1 if unknown.
        start: First byte of the member in the content, including a preceding header.
        stop: One past the last byte; -1 if unknown.
        data: First byte of its data, after the header; -1 if unknown.
        codec: Compression of its data: `none`, `deflate`, `gzip`, …
    """

    name: str
    size: int
    start: int
    stop: int
    data: int = -1
    codec: str = "none"


@dataclass(frozen=True, slots=True)
class ArchiveContent(Content):
    """Archive or compressed file.

    Attributes:
        format: `zip`, `tar`, `gzip`, `zstd`, `bzip2` or `xz`.
        members: The members that were found; a compressed file has one.
        inner: Beginning of the decompressed content; None for archives, and if decompression fails.
    """

    kind: ClassVar[Literal["archive"]] = "archive"
    opens: ClassVar[bool] = True
    views: ClassVar[tuple[str, ...]] = ("table",)
    parts: ClassVar[str] = "member"

    format: str = ""
    members: tuple[ArchiveMember, ...] = ()
    inner: Content | None = None

    @classmethod
    def recognise(cls, beginning: Beginning) -> ArchiveContent | None:
        head = beginning.head
        if head.startswith(ZIP_MAGICS):
            return zip_content(beginning.whole(), beginning.size)
        if head[257:262] == _TAR_MAGIC:
            return tar_content(beginning.whole(), beginning.size)
        return compressed_content(beginning)

    def properties(self) -> dict[str, Any]:
        members = [asdict(one) | {"size": one.size if one.size >= 0 else None} for one in self.members]
        inner = self.inner.to_json() if self.inner is not None else None
        return {"format": self.format, "members": members, "inner": inner}

    def lines(self) -> Iterator[str]:
        rows = [
            (one.name, f"{one.size:,}" if one.size >= 0 else "unknown", f"{one.start:#x}", one.codec)
            for one in self.members[:LINES]
        ]
        yield from aligned([("name", "size", "start", "codec"), *rows])
        yield from rest(len(self.members), LINES, "member")

    def to_text(self, *, colours: bool = False) -> str:
        return Content.to_text(self) + (self.inner.to_text(colours=colours) if self.inner is not None else "")

    def blocks(self) -> Iterator[TableBlock | Content]:
        rows = [(one.name, f"{one.size:,}" if one.size >= 0 else "–", one.codec) for one in self.members[:HTML_ROWS]]
        yield TableBlock(("member", "size", "codec"), rows, len(self.members), "member")
        if self.inner is not None:
            yield self.inner

    def listing(self) -> Rows:
        cells = [(one.name, f"{one.size:,}" if one.size >= 0 else "", one.start) for one in self.members]
        return Rows(("Name", "Bytes", "Offset"), cells, [(one.start, one.stop) for one in self.members])

    def part(self, number: int) -> ListedPart:
        one = self.members[number]
        stored = one.codec == "none" and one.data >= 0
        return ListedPart(one.name, one.data if stored else one.start, one.stop, stored, in_tab=self.inner is not None)

    def member(self, name: str, read: Callable[[int, int], bytes], recognise: Recognise, limit: int) -> Content:
        # So far only the beginning of a large compressed file was read.
        found = self if self.complete or not 0 <= self.size <= WHOLE else replace(self, data=read(0, self.size))
        member = found.members[0] if len(found.members) == 1 and found.inner is not None and not name else None
        if member is None:
            # If several members have the name, the last one counts, as when unpacking.
            member = next((one for one in reversed(found.members) if one.name == name), None)
        if member is None:
            there = ", ".join(short(one.name) for one in found.members[:8])
            raise UsageError(f"no member {short(name)}" + (f" (available: {there})" if there else ""))
        data = member_bytes(found, member, limit)
        return recognise(data, len(data), member.name)


def zip_content(data: bytes, size: int) -> ArchiveContent:
    """Return the members of a zip file; no members if its end with the central directory was not read."""
    if size != len(data):
        return ArchiveContent("zip archive", size, data, "the list of members, at the end, was not read", "zip")
    if (entries := data.count(CENTRAL_MAGIC)) > MOST_MEMBERS:
        return ArchiveContent("zip archive", size, data, f"about {entries:,} members: too many to list", "zip")
    try:
        with open_shard(data, format="zip") as archive:
            objects = archive.objects
            assert isinstance(objects, ZipObjects)
            columns = objects.columns(np.arange(len(objects)))
            places = zip(objects.parts, columns.start.tolist(), columns.stop.tolist(), strict=True)
            members = tuple(
                ArchiveMember(part.key, part.size, part.start, stop, start, _zip_codec(objects, row))
                for row, (part, start, stop) in enumerate(places)
            )
    except FormatError as error:
        raise FormatError(f"invalid zip archive: {error.message}") from error
    return ArchiveContent("zip archive", size, data, "", "zip", members)


def _zip_codec(objects: ZipObjects, row: int) -> str:
    codec = objects.parts[row].codec
    return "encrypted" if objects.is_encrypted(row) else _ZIP_CODECS.get(codec, codec)


def tar_content(data: bytes, size: int) -> ArchiveContent:
    members: list[ArchiveMember] = []
    note = ""
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for info in archive:
                stop = info.offset_data + info.size
                codec = "sparse" if info.issparse() else "none"
                members.append(ArchiveMember(info.name, info.size, info.offset, stop, info.offset_data, codec))
                if len(members) >= MOST_MEMBERS:
                    note = f"only the first {MOST_MEMBERS:,} members are listed"
                    break
    except _FAILURES as error:
        if not members:
            raise FormatError(f"invalid tar archive: {short(str(error))}") from error
        note = f"the list of members is incomplete: {short(str(error))}"
    if size != len(data):
        note = f"only members in the first {len(data):,} bytes are listed"
    return ArchiveContent("tar archive", size, data, note, "tar", tuple(members))


def compressed_format(data: bytes) -> str:
    return next((format for magic, format in COMPRESSED if data.startswith(magic)), "")


def compressed_content(beginning: Beginning) -> ArchiveContent | None:
    """Return a compressed file as an archive with one member, whose beginning is decompressed and recognised."""
    data, size, name = beginning.head, beginning.size, beginning.name
    format = compressed_format(data)
    if not format or beginning.inside:
        return ArchiveContent(f"{format} file", size, data, "", format) if format else None
    inner_name = name.rpartition(".")[0] or name if name.endswith((".gz", ".zst", ".bz2", ".xz")) else ""
    title, note, inner = f"{format} file", "", None
    begin, ended = b"", False
    try:
        begin, ended = expand(format, data, PEEK)
    except FormatError as error:
        note = error.message
    whole = size == len(data)
    full = len(begin) if ended and whole else _stated_size(format, data, whole=whole)
    if begin:
        inner = beginning.recognise(begin, full, inner_name)
        title = f"{format} of {inner.title}"
    member = ArchiveMember(inner_name or "content", full, 0, size, 0, format)
    return ArchiveContent(title, size, data, note, format, (member,), inner)


def expand(format: str, data: bytes, most: int) -> tuple[bytes, bool]:
    """Decompress at most `most` bytes; return them, and whether they are complete. FormatError if none can be decoded.

    Concatenated streams (`cat a.gz b.gz`) are one file, except for zstd, where bytes after the first frame are ignored.
    """
    if format == "zstd":
        return _expand_zstd(data, most)
    engine, streams = _engine(format), 1
    found, at = bytearray(), 0
    while len(found) < most and at < len(data):
        piece = data[at : at + _PIECE]
        at += len(piece)
        try:
            while len(found) < most:
                more = engine.decompress(piece, most - len(found))
                found += more
                piece = getattr(engine, "unconsumed_tail", b"")
                if engine.eof or not (piece or (more and not getattr(engine, "needs_input", True))):
                    break
        except (zlib.error, lzma.LZMAError, OSError, ValueError, EOFError, MemoryError) as error:
            if not found:
                raise FormatError(f"invalid {format}: {error}") from error
            break
        if engine.eof:
            at -= len(engine.unused_data)
            # Concatenated streams are one file; other trailing bytes are ignored.
            if compressed_format(data[at : at + 6]) != format:
                return bytes(found), True
            if streams == _MOST_STREAMS:
                break
            engine, streams = _engine(format), streams + 1
    return bytes(found), bool(engine.eof) and at == len(data)


def _expand_zstd(data: bytes, most: int) -> tuple[bytes, bool]:
    import zstandard

    found = bytearray()
    try:
        with zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).stream_reader(io.BytesIO(data)) as reader:
            while len(found) < most and (piece := reader.read(min(_PIECE, most - len(found)))):
                found += piece
    except zstandard.ZstdError as error:
        if not found:
            raise FormatError(f"invalid zstd: {error}") from error
        return bytes(found), False
    return bytes(found), len(found) < most and zstd_end(lambda start, stop: data[start:stop], 0, len(data)) is not None


def _engine(format: str) -> Any:
    if format == "gzip":
        return zlib.decompressobj(31)
    if format == "bzip2":
        return bz2.BZ2Decompressor()
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)


def _stated_size(format: str, data: bytes, *, whole: bool) -> int:
    """Return the decompressed size from header or trailer; -1 if unknown, or if several streams may follow."""
    if format == "gzip" and whole and data.count(GZIP_MAGIC) == 1 and len(data) >= 18:
        return int.from_bytes(data[-4:], "little")
    if format == "zstd":
        import zstandard

        try:
            size = int(zstandard.get_frame_parameters(data[:18]).content_size)
        except zstandard.ZstdError:
            return -1
        return size if size < 1 << 62 else -1
    return -1


def member_bytes(found: ArchiveContent, member: ArchiveMember, limit: int) -> bytes:
    """Return the decompressed content of a member.

    Raises:
        LimitExceeded: It has more than `limit` bytes, or its compressed bytes were not all read.
        Unsupported: Its codec is not supported, or it is encrypted.
    """
    if member.size > limit:
        raise LimitExceeded(f"{short(member.name)} has {plural(member.size, 'byte')}; at most {limit:,} are read")
    if not 0 <= member.data <= member.stop <= len(found.data):
        raise LimitExceeded(f"{short(member.name)} is not in the {plural(len(found.data), 'byte')} that were read")
    stored = found.data[member.data : member.stop]
    if member.codec == "none":
        return stored
    if member.codec == "deflate":
        data = _inflate(stored, limit, member.name)
    elif member.codec in ("bzip2", "gzip", "zstd", "xz"):
        data, ended = expand(member.codec, stored, limit + 1)
        if not ended and len(data) <= limit:
            raise FormatError(f"{short(member.name)} ends early, after {plural(len(data), 'byte')}")
    else:
        raise Unsupported(f"{short(member.name)} is compressed by {member.codec}, which is not supported")
    if len(data) > limit:
        raise LimitExceeded(f"{short(member.name)} has more than {plural(limit, 'byte')}")
    return data


def _inflate(stored: bytes, limit: int, name: str) -> bytes:
    engine = zlib.decompressobj(-15)
    try:
        data = engine.decompress(stored, limit + 1)
    except zlib.error as error:
        raise FormatError(f"{short(name)} is damaged: {error}") from error
    if not engine.eof and len(data) <= limit:
        raise FormatError(f"{short(name)} ends early, after {plural(len(data), 'byte')}")
    return data
