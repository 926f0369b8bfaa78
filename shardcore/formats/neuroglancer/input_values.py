"""Values as they come: small ones whole, large ones in pieces, manifests checked."""

from __future__ import annotations

from collections.abc import Iterator

from shardcore.errors import FormatError, UsageError
from shardcore.formats.neuroglancer.gzip_member import WHOLE
from shardcore.formats.neuroglancer.layout import read_manifest
from shardcore.formats.neuroglancer.meshes import MANIFEST_LIMIT
from shardcore.model.number_words import plural
from shardcore.writing.writer import Data, pieces_of


def checked_manifest(data: Data, fragments: int, who: str) -> bytes:
    """A manifest, all of it; it has to say as many bytes of fragments as there are.

    Raises:
        UsageError: It does not, or is none.
        SourceError: It cannot be read.
    """
    parts, size = [], 0
    for piece in pieces_of(data, who):
        size += len(piece)
        if size > MANIFEST_LIMIT:
            raise UsageError(f"{who} has over {MANIFEST_LIMIT:,} bytes: that is no mesh manifest")
        parts.append(bytes(piece))
    joined = b"".join(parts)
    try:
        manifest = read_manifest(joined)
    except FormatError as error:
        raise UsageError(f"{who} is no mesh manifest: {error.message}") from error
    if manifest.fragments_size != fragments:
        said, there = plural(manifest.fragments_size, "byte"), plural(fragments, "byte")
        raise UsageError(f"{who}: the manifest speaks of {said} of fragments; there are {there}")
    return joined


def first_of(data: Data, who: str) -> tuple[bytes, Iterator[bytes | bytearray | memoryview] | None]:
    """Content that is small enough to be one piece; else what was read of it, and the rest."""
    rest = pieces_of(data, who)
    parts, size = [], 0
    for piece in rest:
        parts.append(bytes(piece))
        size += len(piece)
        if size > WHOLE:
            return b"".join(parts), rest
    return parts[0] if len(parts) == 1 else b"".join(parts), None
