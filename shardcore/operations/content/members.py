"""Members of contents: tensors of a file of tensors, files in an archive, and what a compressed file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from shardcore.errors import LimitExceeded, UsageError
from shardcore.model.number_words import plural
from shardcore.model.text import short
from shardcore.operations.content.archives import member_bytes, member_of
from shardcore.operations.content.recognise import WHOLE, content, content_of
from shardcore.operations.content.results import ArchiveContent, ArrayContent, Content, TensorsContent
from shardcore.operations.content.tensors import tensor_content

if TYPE_CHECKING:
    from shardcore.model.keys import Key
    from shardcore.model.objects import ObjectRef
    from shardcore.shards.shard import Shard


def member_content(shard: Shard, ref: ObjectRef | Key, name: str = "", *, limit: int | None = None) -> Content:
    """Return a member of a content as what it is.

    Of a tensor its own bytes are read, of an archive all of it.

    Args:
        shard: The shard.
        ref: The object, or its key.
        name: Name of a tensor or of a file in an archive. A compressed file has one member: the name is not needed.
        limit: Bytes of the member. Default: 64 MiB.

    Raises:
        UsageError: The content has no members, or none of this name.
        LimitExceeded: The member, or the archive, is too large.
        Unsupported: The member is encoded in a way that is not decoded here.
        FormatError: It is damaged.
        SourceError: The bytes cannot be read.
    """
    most = limit or WHOLE
    wanted = shard.ref_of(ref)
    found = content(shard, wanted)
    if isinstance(found, TensorsContent):
        tensor = next((one for one in found.tensors if one.name == name), None)
        if tensor is None:
            raise UsageError(f"no tensor {short(name)}; there is {', '.join(short(t.name) for t in found.tensors[:8])}")
        size = tensor.stop - tensor.start
        if tensor.stop >= 0 and size > most:
            raise LimitExceeded(f"{short(name)} has {plural(size, 'byte')}; at most {most:,} are read")
        data = shard.read_range(wanted, tensor.start, tensor.stop, limit=most) if size > 0 else b""
        return tensor_content(tensor, data)
    if not isinstance(found, ArchiveContent):
        raise UsageError(f"{short(wanted.key)} has no members: it is {found.title}")
    if not found.complete and 0 <= found.size <= WHOLE:
        # Of a compressed file, the beginning is read at first.
        found = content_of(shard.read_range(wanted, 0, found.size, limit=WHOLE), _name(shard, wanted))
        assert isinstance(found, ArchiveContent)
    single = len(found.members) == 1 and found.inner is not None
    member = found.members[0] if single and name in ("", found.members[0].name) else member_of(found, name)
    return content_of(member_bytes(found, member, most), member.name)


def tensor_array(shard: Shard, ref: ObjectRef | Key, name: str, *, limit: int | None = None) -> NDArray[Any]:
    """Return a tensor of a file of tensors; read-only. BF16 becomes 32-bit floats.

    Raises:
        UsageError: There is no such tensor.
        Unsupported: Its type is not decoded here.
        LimitExceeded: It has more than `limit` bytes, by default 64 MiB.
    """
    found = member_content(shard, ref, name, limit=limit)
    if not isinstance(found, ArrayContent):
        raise UsageError(f"{short(name)} is not an array: it is {found.title}")
    return found.array


def _name(shard: Shard, ref: ObjectRef) -> str:
    return next(iter(shard.file_names(ref).values()), "")
