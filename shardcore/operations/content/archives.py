"""Archives: the members of zip and tar files."""

from __future__ import annotations

import io
import tarfile
import zipfile
import zlib

from shardcore.errors import FormatError
from shardcore.operations.content.results import ArchiveContent, ArchiveMember, Content

MOST_MEMBERS = 100_000
"""Members that are listed at most."""

_TAR_MAGIC = b"ustar"


def is_tar(data: bytes) -> bool:
    """Return whether bytes begin with the header of a tar member."""
    return data[257:262] == _TAR_MAGIC


def zip_content(data: bytes, size: int) -> Content:
    """Return the members of a zip file; none where its end was not read.

    Raises:
        FormatError: Its directory is invalid.
    """
    if size != len(data):
        return ArchiveContent("zip archive", size, data, "the list of members is at the end, which was not read", "zip")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()[:MOST_MEMBERS]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        raise FormatError(f"invalid zip archive: {error}") from error
    members = []
    for info in infos:
        begin = info.header_offset
        names = data[begin + 26 : begin + 30]
        # The local header has its own name and extra field before the data.
        skip = 30 + int.from_bytes(names[:2], "little") + int.from_bytes(names[2:], "little")
        members.append(ArchiveMember(info.filename, info.file_size, begin, begin + skip + info.compress_size))
    return ArchiveContent("zip archive", size, data, "", "zip", tuple(members))


def tar_content(data: bytes, size: int) -> Content:
    """Return the members of a tar file, as far as it was read.

    Raises:
        FormatError: The first header is invalid.
    """
    members: list[ArchiveMember] = []
    note = ""
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for info in archive:
                members.append(ArchiveMember(info.name, info.size, info.offset, info.offset_data + info.size))
                if len(members) >= MOST_MEMBERS:
                    note = f"the first {MOST_MEMBERS:,} members"
                    break
    except (tarfile.TarError, OSError, ValueError, zlib.error) as error:
        if not members:
            raise FormatError(f"invalid tar archive: {error}") from error
        note = f"the list of members ends early: {error}"
    if size != len(data):
        note = f"the members in the first {len(data):,} bytes"
    return ArchiveContent("tar archive", size, data, note, "tar", tuple(members))
