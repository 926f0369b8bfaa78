"""Extended retention: copies of objects that are kept longer than their shards (des_core, extended retention).

A copy is the plain content under `_ext_retention/<date>/<uid>_<time>.dat`, where date and time are `created_at` in
UTC. It lies at the root of a bucket, which is the folder of the shards or one above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from shardcore.errors import SourceError
from shardcore.formats.des.layout import RETENTION
from shardcore.sources.base import Folder

_NAME = re.compile(r"(?P<uid>.*)_(?P<stamp>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.\-]+Z)\.dat", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy.

    Attributes:
        uid: The uid that its name states.
        created_at: The time that its name states.
        name: Its name from the root on.
        size: Bytes.
    """

    uid: str
    created_at: str
    name: str
    size: int


class Retention:
    """All copies that can be seen from a folder of shards.

    Attributes:
        root: The folder in which `_ext_retention` lies; None when there is none.
        copies: The copies, sorted by name.
    """

    def __init__(self, folder: Folder) -> None:
        self.root: Folder | None = None
        self.copies: tuple[Copy, ...] = ()
        self._by_uid: dict[str, tuple[Copy, ...]] = {}
        for root in (folder, folder.parent()):
            copies = tuple(_copies(root)) if root is not None else ()
            if copies:
                self.root, self.copies = root, copies
                break
        for copy in self.copies:
            self._by_uid[copy.uid] = (*self._by_uid.get(copy.uid, ()), copy)

    def of(self, uid: str) -> tuple[Copy, ...]:
        """The copies of a uid."""
        return self._by_uid.get(uid, ())

    def named(self, name: str) -> Copy | None:
        """The copy of that name."""
        return next((copy for copy in self.copies if copy.name == name), None)


def _copies(root: Folder) -> Iterable[Copy]:
    try:
        days = [entry for entry in root.list(RETENTION) if entry.is_folder]
    except SourceError:
        return
    for day in days:
        try:
            files = root.list(day.name)
        except SourceError:
            continue
        for entry in files:
            match = _NAME.fullmatch(entry.name.rpartition("/")[2])
            if match and not entry.is_folder:
                yield Copy(match["uid"], match["stamp"], entry.name, entry.size)
