"""Lookup of the mesh that belongs to a segment of a volume."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardcore.errors import FormatError, SourceError, says_absent
from shardcore.formats.neuroglancer.find_spec import find_info, read_info
from shardcore.formats.neuroglancer.info import SpaceKind, parse_info
from shardcore.formats.neuroglancer.sharding import KEY_LIMIT

if TYPE_CHECKING:
    from shardcore.sources.base import Folder


def mesh_of_segment(folder: Folder, segment: int) -> tuple[str, str] | None:
    """Return the address of the mesh key space, and the key of a segment's mesh, which may not exist.

    Reads only the info of the volume and of its meshes. None for the background (0), without an info, or if the info
    has no multi-resolution meshes.
    """
    found = find_info(folder, any_space=True) if 0 < segment < KEY_LIMIT else None
    root: Folder | None = folder
    for _ in found.folder.split("/") if found is not None and found.folder else ():
        root = root.parent() if root is not None else None
    if found is None or root is None:
        return None
    for name in found.info.folders:
        below = root.folder(name)
        try:
            text = read_info(below)
            info = parse_info(text) if text is not None else None
        except FormatError:
            continue
        except SourceError as error:
            if not says_absent(error):
                raise
            continue
        if info is not None and any(space.kind is SpaceKind.MESH for space in info.key_spaces):
            return below.uri, str(segment)
    return None
