"""Nested contents: a tensor in a tensor file, a member of an archive, or the content of a compressed file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from shardcore.errors import LimitExceeded, UsageError
from shardcore.model.number_text import plural
from shardcore.model.safe_text import short
from shardcore.operations.content.archives import member_bytes, member_of
from shardcore.operations.content.content_types import ArchiveContent, ArrayContent, Content, TensorsContent
from shardcore.operations.content.detect_kind import WHOLE, content, content_of
from shardcore.operations.content.tensors import tensor_content

if TYPE_CHECKING:
    from shardcore.model.keys import Key
    from shardcore.model.objects import ObjectRef
    from shardcore.shards.shard import Shard


def member_content(shard: Shard, ref: ObjectRef | Key, name: str = "", *, limit: int | None = None) -> Content:
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
    found = content(shard, wanted)
    if isinstance(found, TensorsContent):
        tensor = next((one for one in found.tensors if one.name == name), None)
        if tensor is None:
            raise UsageError(
                f"no tensor {short(name)} (available: {', '.join(short(t.name) for t in found.tensors[:8])})"
            )
        size = tensor.stop - tensor.start
        if tensor.stop >= 0 and size > most:
            raise LimitExceeded(f"{short(name)} has {plural(size, 'byte')}; at most {most:,} are read")
        data = shard.read_range(wanted, tensor.start, tensor.stop, limit=most) if size > 0 else b""
        return tensor_content(tensor, data)
    if not isinstance(found, ArchiveContent):
        raise UsageError(f"{short(wanted.key)} has no members: it is {found.title}")
    if not found.complete and 0 <= found.size <= WHOLE:
        # `content` reads only the beginning of a compressed file.
        found = content_of(shard.read_range(wanted, 0, found.size, limit=WHOLE), _name(shard, wanted))
        assert isinstance(found, ArchiveContent)
    single = len(found.members) == 1 and found.inner is not None
    member = found.members[0] if single and name in ("", found.members[0].name) else member_of(found, name)
    return content_of(member_bytes(found, member, most), member.name)


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


def _name(shard: Shard, ref: ObjectRef) -> str:
    return next(iter(shard.file_names(ref).values()), "")
