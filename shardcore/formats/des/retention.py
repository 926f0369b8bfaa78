"""Extended retention: copies of objects that are kept when their shards are deleted (des_core, extended retention).

A copy is the uncompressed content at `_ext_retention/<date>/<uid>_<time>.dat`, with `created_at` in UTC as date and
time. `_ext_retention` is at the root of the bucket: in the folder of the shards, or above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from shardcore.errors import SourceError, says_absent
from shardcore.formats.des.layout import RETENTION
from shardcore.model.source_name import SourceName
from shardcore.model.span import Span
from shardcore.shards.cache import Once
from shardcore.sources.base import Folder, Source

_NAME = re.compile(r"(?P<uid>.*)_(?P<stamp>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.\-]+Z)\.dat", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Copy:
    """Retention copy; uid and `created_at` are parsed from its name, which is relative to the root."""

    uid: str
    created_at: str
    name: str
    size: int

    @property
    def span(self) -> Span:
        return Span(str(SourceName(self.name)), 0, self.size)


@dataclass(frozen=True, slots=True)
class Copies:
    root: Folder | None
    all: tuple[Copy, ...]
    by_uid: dict[str, tuple[Copy, ...]]
    by_name: dict[str, Copy]


class RetentionCopies(Protocol):
    """Retention copies of a folder or of several zones."""

    @property
    def days(self) -> bool:
        """Return True if there is a folder of retention copies."""

    @property
    def all(self) -> tuple[Copy, ...]:
        """All copies, sorted by name."""

    def of(self, uid: str) -> tuple[Copy, ...]:
        """Return the copies of a uid; names are relative to the root."""

    def open(self, name: str, *, on_demand: bool = False) -> Source | None:
        """Open the copy with this name; None if there is none."""


class Retention:
    """Retention copies of a folder of shards, listed on first access."""

    def __init__(self, folder: Folder, *, at_root: bool = False) -> None:
        self._folder, self._at_root = folder, at_root
        self._copies: Once[Copies] = Once()
        if folder.lists_cheaply:
            _ = self._roots

    @property
    def _lists_none(self) -> bool:
        listed = self._folder.listable and not self._folder.lists_cheaply
        return listed and all(entry.name != RETENTION for entry in self._folder.list())

    @cached_property
    def _roots(self) -> list[tuple[Folder, list[str]]]:
        roots = _possible_roots(self._folder)
        if self._at_root:
            roots = roots[-1:]
        elif self._lists_none:
            roots = roots[1:]
        return [(root, days) for root in roots if (days := _days(root))]

    @property
    def days(self) -> bool:
        return bool(self._roots)

    @property
    def copies(self) -> Copies:
        return self._copies.get(self._listed)

    @property
    def all(self) -> tuple[Copy, ...]:
        return self.copies.all

    def of(self, uid: str) -> tuple[Copy, ...]:
        return self.copies.by_uid.get(uid, ()) if self.days else ()

    def open(self, name: str, *, on_demand: bool = False) -> Source | None:
        root = self.copies.root if self.days else None
        if root is None or name not in self.copies.by_name:
            return None
        return root.open_on_demand(name) if on_demand else root.open(name)

    def _listed(self) -> Copies:
        for root, days in self._roots:
            found = tuple(_copies(root, days))
            if found:
                by_uid: dict[str, list[Copy]] = {}
                for copy in found:
                    by_uid.setdefault(copy.uid, []).append(copy)
                of_uid = {uid: tuple(copies) for uid, copies in by_uid.items()}
                return Copies(root, found, of_uid, {copy.name: copy for copy in found})
        return Copies(None, (), {}, {})


def _possible_roots(folder: Folder) -> list[Folder]:
    """Return the folders that may have copies: the folder of the shards, its parent, and the root of its bucket."""
    above = folder.parent()
    found = [folder] if above is None else [folder, above]
    while not folder.lists_cheaply and above is not None:
        root, above = above, above.parent()
        if above is None and root is not found[-1]:
            found.append(root)
    return found


def _days(root: Folder) -> list[str]:
    try:
        return [entry.name for entry in root.list(RETENTION) if entry.is_folder]
    except SourceError as error:
        if not says_absent(error):
            raise
        return []


def _copies(root: Folder, days: Iterable[str]) -> Iterable[Copy]:
    for day in days:
        try:
            files = root.list(day)
        except SourceError as error:
            if not says_absent(error):
                raise
            continue
        for entry in files:
            match = _NAME.fullmatch(entry.name.rpartition("/")[2])
            if match and not entry.is_folder:
                yield Copy(match["uid"], match["stamp"], entry.name, entry.size)
