"""A folder of Read Shards: detection, and search of a key in each."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, NotAShard, SourceError, raise_unless_absent
from shardcore.formats.swh import layout
from shardcore.formats.swh.file import KEY_FORM, checked_key
from shardcore.formats.swh.lookup import Candidates
from shardcore.formats.swh.shard import SwhShard, open_shard
from shardcore.model.parallel import in_order
from shardcore.model.text import plural
from shardcore.shards.dataset import DataSet, Member
from shardcore.shards.format import Certainty, Verdict
from shardcore.shards.open_context import OpenContext
from shardcore.shards.trace import LookupRecorder
from shardcore.sources.base import SMALL_HEAD, Entry, Folder, Source
from shardcore.sources.prefetched_source import PrefetchedSource

SUFFIX = ".shard"
"""Usual suffix of Read Shards. Neuroglancer uses it too, so a folder is detected by the magic of its files."""

LOOKED_AT = 4
"""Maximum number of files read to detect a folder."""

MOST_ASKED = 64
"""Maximum number of files whose magic is read to open a local folder; for a remote one `LOOKED_AT`. Further files are
recognised by their suffix."""


def detect_folder(folder: Folder) -> Verdict | None:
    """Detect a folder by the magic of its first files; formats with more specific evidence take precedence."""
    looked_at = _candidates(folder)[:LOOKED_AT]
    found = len(_with_magic(folder, looked_at))
    if not found:
        return None
    return Verdict(Certainty.INFERRED, f"magic SWHShard in {found} of the first {plural(len(looked_at), 'file')}")


def open_folder(folder: Folder, context: OpenContext) -> SwhDataSet:
    entries = _candidates(folder)
    most = MOST_ASKED if folder.lists_cheaply else LOOKED_AT
    asked = _with_magic(folder, entries[:most])
    endings = {PurePosixPath(entry.name).suffix for entry in asked}
    rest = [entry for entry in entries[most:] if PurePosixPath(entry.name).suffix in endings]
    members = [Member(entry.name, entry.size) for entry in sorted([*asked, *rest], key=lambda entry: entry.name)]
    if not members:
        raise NotAShard(f"{folder.uri}: no file in this folder begins with SWHShard")
    return SwhDataSet(folder, members, context)


class SwhDataSet(DataSet):
    """A folder of Read Shards. The format has no routing: a key is searched in every shard."""

    routes = False
    key_form = KEY_FORM
    member_head = SMALL_HEAD

    def __init__(self, folder: Folder, members: Sequence[Member], context: OpenContext) -> None:
        super().__init__("swh", folder, members)
        self._context = context

    def open_member(self, name: str, source: Source) -> SwhShard:
        return open_shard(PrefetchedSource(source), self._context.member())

    def parse_key(self, text: str) -> str:
        return checked_key(text)

    def route(self, key: str, recorder: LookupRecorder) -> Sequence[str]:
        names = tuple(member.name for member in self.members)
        recorder.record(Candidates(names), self.format)
        return names

    def _find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        """Return the rows of many keys, -1 if not found; searches each shard once for the rest. Loads the index."""
        self.load_index()
        rows = np.full(len(keys), -1, np.int64)
        damaged = False
        for member in self.members:
            missing = np.flatnonzero(rows < 0)
            if not len(missing):
                break
            try:
                found = self.member(member.name).find_many([keys[at] for at in missing.tolist()])
            except (FormatError, NotAShard):
                damaged = True
                continue
            first = self.first_row_of(member.name) or 0
            rows[missing] = np.where(found >= 0, found + first, -1)
        missing = np.flatnonzero(rows < 0)
        if damaged and len(missing):
            # The lookup of one key raises the error of the damaged shard.
            self.find(keys[int(missing[0])])
        return rows


def _candidates(folder: Folder) -> list[Entry]:
    entries = [entry for entry in folder.list() if not entry.is_folder and entry.size >= layout.HEADER.size]
    return sorted(entries, key=lambda entry: (not entry.name.endswith(SUFFIX), entry.name))


def _with_magic(folder: Folder, entries: Sequence[Entry]) -> list[Entry]:
    jobs = 1 if folder.lists_cheaply else LOOKED_AT
    with closing(in_order(lambda entry: _has_magic(folder, entry.name), entries, jobs)) as found:
        return [entry for entry, its in zip(entries, found, strict=True) if its]


def _has_magic(folder: Folder, name: str) -> bool:
    try:
        with folder.open(name) if folder.lists_cheaply else folder.open_at(name, 0, SMALL_HEAD) as source:
            return source.read_first(len(layout.WHOLE_MAGIC)) == layout.WHOLE_MAGIC
    except SourceError as error:
        raise_unless_absent(error)
        return False
