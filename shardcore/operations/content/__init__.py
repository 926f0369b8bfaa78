"""Contents of objects: reading them, and recognising their kinds as declared by the format, by magic number or as text.

The modules of this package define the kinds: how each is recognised, and its forms as JSON, text, HTML, rows, picture.
"""

from __future__ import annotations

from typing import Any, cast

from numpy.typing import NDArray

from shardcore.dataclasses import replace
from shardcore.errors import FormatError, PackageMissing, ShardError, SourceError, UsageError
from shardcore.model.content_layout import part_at
from shardcore.model.keys import Key
from shardcore.model.objects import ObjectRef
from shardcore.model.span import Span
from shardcore.model.text import short
from shardcore.operations.content.archives import ArchiveContent
from shardcore.operations.content.arrays import ArrayContent, PictureContent, TensorsContent, declared_array
from shardcore.operations.content.base import WHOLE, Beginning, BytesContent, Content, ShardContent
from shardcore.operations.content.geometry import AnnotationsContent, MeshContent, SkeletonContent, declared_geometry
from shardcore.operations.content.text import JsonContent, PlainTextContent, TableContent, TextContent, table_of_columns
from shardcore.shards.shard import Shard

AnyContent = (
    PlainTextContent | JsonContent | TableContent | PictureContent | ArrayContent | TensorsContent | MeshContent
    | SkeletonContent | AnnotationsContent | ArchiveContent | ShardContent | BytesContent
)  # fmt: skip
"""Content of any kind; type checkers know its class after a comparison of `kind`."""

DECLARED = ((declared_array, ShardError), (declared_geometry, FormatError))
"""Functions for the kinds that formats declare, each with the error after which the declaration is ignored."""

KINDS: tuple[type[Content], ...] = (
    PictureContent,
    ArrayContent,
    TensorsContent,
    ArchiveContent,
    ShardContent,
    TextContent,
)
"""Kinds that are recognised by their bytes, in the order in which they are tried; other contents are bytes."""

HEAD = 1 << 20
"""Bytes read to recognise a content, and first bytes of a text that are shown."""

WHOLE_KEY = "all"
"""Key that means the rows of a table, if the objects of the shard are its columns (bcolz)."""

ROWS = 1000
"""Maximum rows read of such a table."""


def content(shard: Shard, ref: ObjectRef | Key, *, limit: int | None = None, strict: bool = False) -> AnyContent:
    """Read an object and return it as picture, text, table, array and so on.

    Args:
        shard: The shard.
        ref: The object, or its key; `all` for the rows of a table of columns (bcolz).
        limit: Maximum bytes to read. Default: 1 MiB of text and unknown bytes; 64 MiB of pictures, arrays and
            archives, which must be complete to be useful.
        strict: Raise `PackageMissing` if a decoder is not installed, instead of adding a note.

    Returns:
        An instance of a class in `shardcore.operations.content`. If it cannot be decoded, it is a
        `BytesContent` whose `note` has the reason.

    Raises:
        KeyAbsent: The key was not found.
        FormatError: The stored bytes are corrupt.
        SourceError: The bytes cannot be read.
        UsageError: The limit is not positive.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"limit must be at least 1, not {limit}")
    if ref == WHOLE_KEY and (columns := shard.arrays.first_rows(ROWS)) is not None and WHOLE_KEY not in columns:
        return table_of_columns(columns, shard.declared_objects or 0)
    wanted = shard.ref_of(ref)
    size = wanted.size
    head = shard.read_range(wanted, 0, min(limit or HEAD, size if size >= 0 else HEAD), limit=limit or HEAD)
    if size < 0 and len(head) < (limit or HEAD):
        size = len(head)

    unread: list[ShardError] = []

    def first(count: int) -> bytes:
        count = min(count, limit or count, size if size >= 0 else count)
        try:
            return head if count <= len(head) else shard.read_range(wanted, 0, count, limit=count)
        except ShardError as error:
            unread.append(error)
            raise

    name = next(iter(shard.file_names(wanted).values()), "")
    beginning = Beginning(head, size, name, first, _part_of, limit or WHOLE)
    reason = ""
    for declared, undecoded in DECLARED:
        try:
            if (found := declared(shard, wanted, beginning, strict)) is not None:
                return cast("AnyContent", found)
        except undecoded as error:
            if error in unread or isinstance(error, SourceError) or (strict and isinstance(error, PackageMissing)):
                raise
            reason = error.message
    return _recognised(beginning, reason)


def content_of(data: bytes, name: str = "", *, size: int | None = None) -> AnyContent:
    """Recognise the kind of some bytes; see `content`. `size` is the total size (-1: unknown; default: `len(data)`)."""
    return _recognised(_beginning(data, len(data) if size is None else size, name))


def _beginning(data: bytes, size: int, name: str, *, inside: bool = False) -> Beginning:
    return Beginning(data, size, name, lambda count: data[:count], _part_of, inside=inside)


def _part_of(data: bytes, size: int, name: str) -> AnyContent:
    """Recognise the decompressed content of a compressed file; nested compression is not decompressed."""
    return _recognised(_beginning(data, size, name, inside=True))


def _recognised(beginning: Beginning, reason: str = "") -> AnyContent:
    found = None
    if beginning.size:
        try:
            found = next(filter(None, (kind.recognise(beginning) for kind in KINDS)), None)
        except (FormatError, PackageMissing) as error:
            reason = error.message
    found = found or BytesContent.of(beginning.head, beginning.size, reason)
    return cast("AnyContent", replace(found, note=reason) if reason and not found.note else found)


def content_span(shard: Shard, ref: ObjectRef, start: int, stop: int) -> Span | None:
    """Return the span that stores the bytes `[start, stop)` of a content; None if the shard does not store them.

    For uncompressed contents it is the exact span in the file. Otherwise it is a span of the decoded bytes
    (`Span.source`) if the shard has them as a source, or the stored block or object that contains the first byte.

    Raises:
        FormatError: The stored bytes are corrupt.
        SourceError: They cannot be read.
    """
    part = part_at(shard.content_parts(ref), start)
    return part.span_of(start, stop) if part is not None else None


def member_content(shard: Shard, ref: ObjectRef | Key, name: str = "", *, limit: int | None = None) -> AnyContent:
    """Read a nested content and recognise its kind.

    For a tensor, only its own bytes are read; for an archive, the whole archive.

    Args:
        shard: The shard.
        ref: The object, or its key.
        name: Name of the tensor or of the archive member. Not needed for a compressed file, which has one member.
        limit: Maximum bytes of the member; default: 64 MiB.

    Raises:
        UsageError: The content has no members, or none of this name.
        LimitExceeded: The member, or the archive, is too large.
        Unsupported: The codec of the member is not supported.
        FormatError: It is corrupt.
        SourceError: The bytes cannot be read.
    """
    most = limit or WHOLE
    wanted = shard.ref_of(ref)
    read = lambda start, stop: shard.read_range(wanted, start, stop, limit=max(most, WHOLE))  # noqa: E731
    found = content(shard, wanted)
    if not found.parts:
        raise UsageError(f"{short(wanted.key)} has no members: it is {found.title}")
    return cast("AnyContent", found.member(name, read, lambda data, _, name: content_of(data, name), most))


def tensor_array(shard: Shard, ref: ObjectRef | Key, name: str, *, limit: int | None = None) -> NDArray[Any]:
    """Return a tensor as a read-only array. BF16 is widened to 32-bit floats.

    Raises:
        UsageError: There is no such tensor.
        Unsupported: Its type is not supported.
        LimitExceeded: It has more than `limit` bytes (default: 64 MiB).
    """
    found = member_content(shard, ref, name, limit=limit)
    if not isinstance(found, ArrayContent):
        raise UsageError(f"{short(name)} is not an array: it is {found.title}")
    return found.array
