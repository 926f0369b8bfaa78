"""The mesh of a segment: from the folder of a volume to a key space and a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardcore.errors import FormatError, SourceError, says_absent
from shardcore.formats.neuroglancer.info import SpaceKind, parse_info
from shardcore.formats.neuroglancer.sharding import KEY_LIMIT
from shardcore.formats.neuroglancer.spec_origin import find_info, read_info

if TYPE_CHECKING:
    from shardcore.sources.base import Folder


def mesh_of_segment(folder: Folder, segment: int) -> tuple[str, str] | None:
    """Return where the mesh of a segment is looked up: the address of the key space of meshes, and the key.

    Reads the info of the volume and that of its meshes alone: the key may be absent there.

    Args:
        folder: The folder that has the info of the volume, or the folder of one of its scales.
        segment: Number of the segment, from the voxels; 0 is the background.

    Returns:
        None where there is no info, where it names no folder of multi-resolution meshes, and for the background.

    Raises:
        SourceError: An info cannot be read.
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
