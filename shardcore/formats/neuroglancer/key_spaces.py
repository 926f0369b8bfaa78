"""The sharded key spaces below a folder: those of its info, and of a volume its meshes and skeletons."""

from __future__ import annotations

from dataclasses import dataclass

from shardcore.errors import FormatError, SourceError
from shardcore.formats.neuroglancer.info import KeySpace, parse_info
from shardcore.formats.neuroglancer.spec_origin import FoundInfo, Origin, choices_text, origin_from, read_info
from shardcore.sources.base import Folder


@dataclass(frozen=True, slots=True)
class FolderSpace:
    """One key space below a folder.

    Attributes:
        space: The key space.
        folder: Where its shards lie, relative to the folder that was asked; empty for the folder itself.
        found: The info that states it.
    """

    space: KeySpace
    folder: str
    found: FoundInfo

    @property
    def origin(self) -> Origin:
        """The key space and how it became known."""
        return origin_from(self.space, self.found.info, self.found.text, f"{self.found.where}, {self.space.name}")


@dataclass(frozen=True, slots=True)
class FolderSpaces:
    """All key spaces below a folder.

    Attributes:
        spaces: Those that are sharded and can be read.
        others: Why others cannot, one sentence each.
    """

    spaces: tuple[FolderSpace, ...]
    others: tuple[str, ...]

    def choice_text(self, what: str) -> str:
        """A sentence that lists them, for a user who must choose one."""
        return choices_text(what, [(each.folder, each.space.name) for each in self.spaces], self.others)


def spaces_below(folder: Folder, found: FoundInfo) -> FolderSpaces:
    """The key spaces that can be reached from a folder with an info.

    The info of a volume names the folders of its meshes and skeletons, which have infos of their own; these are read.

    Args:
        folder: The folder.
        found: Its info.
    """
    spaces = [FolderSpace(space, space.folder, found) for space in found.info.spaces]
    others = list(found.info.others)
    for name in found.info.folders:
        try:
            text = read_info(folder.folder(name))
            info = parse_info(text) if text is not None else None
        except (FormatError, SourceError) as error:
            others.append(f"{name}: {error.message}")
            continue
        if text is None or info is None:
            others.append(f"{name}: has no info")
            continue
        beside = FoundInfo(info, text, "")
        spaces += [FolderSpace(space, _joined(name, space.folder), beside) for space in info.spaces]
        others += [f"{name}: {other}" for other in info.others]
    return FolderSpaces(tuple(spaces), tuple(others))


def _joined(folder: str, inner: str) -> str:
    return f"{folder}/{inner}" if inner else folder
