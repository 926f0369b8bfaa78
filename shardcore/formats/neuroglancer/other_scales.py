"""Scales of a volume beside the one that is open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardcore.errors import UsageError
from shardcore.formats.neuroglancer.info import parse_info
from shardcore.model.text import short
from shardcore.shards.cache import OnceEach
from shardcore.shards.format import lazily

if TYPE_CHECKING:
    from shardcore.model.chunk_grid import ChunkGrid
    from shardcore.shards.dataset import DataSet
    from shardcore.sources.base import Folder

# Both kinds of scales read others.
_open_scale = lazily("shardcore.formats.neuroglancer.folder:open_scale")


class OtherScales:
    """Scales of a volume that are read beside the open one: opened once, closed with it."""

    def __init__(self) -> None:
        self._opened: OnceEach[str, DataSet] = OnceEach()

    def grid(self, name: str, beside: DataSet, root: Folder | None, text: bytes) -> ChunkGrid:
        """Return the chunks of a scale.

        Args:
            name: The name of the scale.
            beside: The open data set.
            root: The folder of the info.
            text: The info.

        Raises:
            UsageError: There is no such scale.
            ShardError: It cannot be opened.
        """
        info = parse_info(text) if text else None
        space = next((one for one in info.scales if one.name == name), None) if info is not None else None
        if info is None or space is None or root is None:
            raise UsageError(f"the volume has no {short(name)}")
        found = self._opened.get(name, lambda: _open_scale(root.folder(space.folder), space, info, text))
        found.jobs = beside.jobs
        if beside.isolated is not None:
            found.isolate(beside.isolated)
        grid = found.chunk_grid()
        assert grid is not None
        return grid

    def close(self) -> None:
        """Close the scales."""
        for opened in self._opened.clear():
            opened.close()


def root_of(folder: Folder, below: str) -> Folder | None:
    """Return the folder that has `folder` at the relative name `below`."""
    found: Folder | None = folder
    for _ in range(below.count("/") + 1 if below else 0):
        found = found.parent() if found is not None else None
    return found
