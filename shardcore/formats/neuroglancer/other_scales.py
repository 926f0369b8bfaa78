"""Other scales of the open volume."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardcore.errors import SourceError, UsageError
from shardcore.formats.neuroglancer.find_spec import origin_from
from shardcore.formats.neuroglancer.info import BESIDE, parse_info
from shardcore.model.safe_text import short
from shardcore.shards.cache import OnceEach
from shardcore.shards.format import lazily

if TYPE_CHECKING:
    from shardcore.model.chunk_grid import ChunkGrid
    from shardcore.shards.dataset import DataSet
    from shardcore.sources.base import Folder

# Imported here, because `folder` imports this module.
_open_space = lazily("shardcore.formats.neuroglancer.folder:open_space")


class OtherScales:
    """Opens other scales of a volume on demand, and closes them when the volume is closed.

    `root` is the folder of the info, if the user agreed to open folders next to it.
    """

    def __init__(self, root: Folder | None = None) -> None:
        self._root = root
        self._opened: OnceEach[str, DataSet] = OnceEach()

    def grid(self, name: str, beside: DataSet, root: Folder | None, text: bytes) -> ChunkGrid:
        """Return the chunk grid of a scale; `root` is the folder of the info `text` if it is above the open scale."""
        info = parse_info(text) if text else None
        space = next((one for one in info.scales if one.name == name), None) if info is not None else None
        above = self._root or root
        if info is None or space is None or above is None:
            raise UsageError(f"the volume has no {short(name)}")
        place = folder_of_key(above, space.folder) if above is self._root else above.folder(space.folder)
        origin = origin_from(space, info, text, space.name)
        found = self._opened.get(name, lambda: _open_space(place, origin, self._root))
        found.jobs = beside.jobs
        if beside.isolated is not None:
            found.isolate(beside.isolated)
        grid = found.chunk_grid()
        assert grid is not None
        return grid

    def close(self) -> None:
        for opened in self._opened.clear():
            opened.close()


def folder_of_key(root: Folder, key: str) -> Folder:
    """Return the folder named by a key of an info, below the info's folder or next to it."""
    if not key.startswith(BESIDE):
        return root.folder(key)
    around = root.parent()
    if around is None:
        raise SourceError(f"cannot open {key!r}: {root.uri} has no parent folder")
    return around.folder(key.removeprefix(BESIDE))


def root_of(folder: Folder, below: str) -> Folder | None:
    """Return the parent folder relative to which `folder` has the name `below`."""
    found: Folder | None = folder
    for _ in range(below.count("/") + 1 if below else 0):
        found = found.parent() if found is not None else None
    return found
