"""Archives and compressed files: listing the members, and decompressing one of them."""

from __future__ import annotations

import bz2
import io
import lzma
import tarfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from shardcore.codecs.decompress import GZIP_MAGIC, MAX_WINDOW, ZSTD_MAGIC, zstd_end
from shardcore.containers.zip import CENTRAL_MAGIC, ZipObjects
from shardcore.errors import FormatError, LimitExceeded, Unsupported, UsageError
from shardcore.model.text import plural, short
from shardcore.operations.content.content_types import ArchiveContent, ArchiveMember, Content
from shardcore.shards.opening import open as open_shard

MOST_MEMBERS = 100_000

PEEK = 1 << 20
"""Bytes that are decompressed to recognise the content of a compressed file."""

_TAR_MAGIC = b"ustar"
_ZIP_CODECS = {"method 12": "bzip2"}
"""Names of supported zip methods that the zip reader lists by number."""
_XZ_MEMORY = 64 << 20
_PIECE = 1 << 18
_MOST_STREAMS = 1 << 12
"""Maximum number of concatenated streams, since thousands of empty ones fit into a few bytes."""
_FAILURES = (
    tarfile.TarError, zlib.error, lzma.LZMAError, OSError, ValueError, EOFError,
    NotImplementedError, RuntimeError, RecursionError, OverflowError, LookupError,
)  # fmt: skip

COMPRESSED = ((GZIP_MAGIC, "gzip"), (ZSTD_MAGIC, "zstd"), (b"BZh", "bzip2"), (b"\xfd7zXZ\0", "xz"))


def is_tar(data: bytes) -> bool:
    return data[257:262] == _TAR_MAGIC


def zip_content(data: bytes, size: int) -> Content:
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


def tar_content(data: bytes, size: int) -> Content:
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


def compressed_content(data: bytes, size: int, name: str, inside: Callable[[bytes, int, str], Content]) -> Content:
    """Return a compressed file as an archive with one member, whose beginning is decompressed and recognised.

    `inside` recognises it, given its first bytes, its size (-1: unknown) and its name.
    """
    format = compressed_format(data)
    inner_name = name.rpartition(".")[0] or name if name.endswith((".gz", ".zst", ".bz2", ".xz")) else ""
    title, note, inner = f"{format} file", "", None
    beginning, ended = b"", False
    try:
        beginning, ended = expand(format, data, PEEK)
    except FormatError as error:
        note = error.message
    whole = size == len(data)
    full = len(beginning) if ended and whole else _stated_size(format, data, whole=whole)
    if beginning:
        inner = inside(beginning, full, inner_name)
        title = f"{format} of {inner.title}"
    member = ArchiveMember(inner_name or "content", full, 0, size, 0, format)
    return ArchiveContent(title, size, data, note, format, (member,), inner)


def expand(format: str, data: bytes, most: int) -> tuple[bytes, bool]:
    """Decompress at most `most` bytes; return them, and whether they are complete. FormatError if there are none.

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


def member_of(found: ArchiveContent, name: str) -> ArchiveMember:
    """Return a member by name; if several have the name, the last one, as when unpacking."""
    member = next((one for one in reversed(found.members) if one.name == name), None)
    if member is None:
        there = ", ".join(short(one.name) for one in found.members[:8])
        raise UsageError(f"no member {short(name)}" + (f" (available: {there})" if there else ""))
    return member


def member_bytes(found: ArchiveContent, member: ArchiveMember, limit: int) -> bytes:
    """Return the decompressed content of a member.

    Raises:
        LimitExceeded: It has more than `limit` bytes, or its compressed bytes were not all read.
        Unsupported: Its codec is not supported, or it is encrypted.
    """
    if member.size > limit:
        raise LimitExceeded(f"{short(member.name)} has {plural(member.size, 'byte')}; at most {limit:,} are read")
    if not 0 <= member.data <= member.stop <= len(found.data):
        raise LimitExceeded(f"{plural(len(found.data), 'byte')} were read; {short(member.name)} is not among them")
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
