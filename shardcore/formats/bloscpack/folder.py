"""Detecting and opening folders: a bcolz column or table, or a folder of Bloscpack files with one object per file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import replace
from shardcore.errors import KeyAbsent, NotAShard, ShardError, raise_if_lost
from shardcore.formats.bloscpack.bcolz import ROOTDIRS, SIZES, STORAGE, is_column, is_table
from shardcore.formats.bloscpack.bcolz_dataset import BcolzColumnFolder, BcolzTable
from shardcore.formats.bloscpack.layout import SUFFIX
from shardcore.formats.bloscpack.lookup import ALL, ContentFile
from shardcore.formats.bloscpack.metadata import names_array
from shardcore.formats.bloscpack.shard import HEAD, BloscpackShard, open_shard
from shardcore.model.content_layout import ArrayLayout
from shardcore.model.finding import Depth, Report
from shardcore.model.objects import ObjectColumns, ObjectRef, Objects, State
from shardcore.model.span import SourceName, Span
from shardcore.model.text import short
from shardcore.progress import Progress
from shardcore.shards.dataset import DataSet, Member
from shardcore.shards.format import Certainty, Verdict
from shardcore.shards.open_context import OpenContext
from shardcore.shards.shard import Shard
from shardcore.shards.trace import LookupRecorder
from shardcore.sources.base import Entry, Folder, Source
from shardcore.sources.local import LocalFolder
from shardcore.sources.prefetched_source import PrefetchedSource
from shardcore.writing.temporary_names import has_journal, is_left_over

DEEPEST = 32
"""Deepest level of subfolders that is searched."""
LOOKED_THROUGH = 16
"""Maximum number of folders listed to detect a folder without `.blp` files of its own."""


def detect_folder(folder: Folder) -> Verdict | None:
    """Detect a table by `__rootdirs__`, a column by `data`, `meta/sizes` and `meta/storage`, else `.blp` files."""
    if is_table(folder):
        return Verdict(Certainty.BESIDE, f"bcolz table, {ROOTDIRS}")
    if is_column(folder):
        return Verdict(Certainty.BESIDE, f"bcolz column, {STORAGE}")
    return Verdict(Certainty.BESIDE, "Bloscpack files") if is_files(folder) else None


def open_folder(folder: Folder, context: OpenContext) -> DataSet:
    """Open a column, a table or a folder of files; the files are opened when needed."""
    if is_table(folder):
        return BcolzTable(folder, context)
    if is_column(folder):
        return BcolzColumnFolder(folder, context)
    files = BloscpackFiles(folder, context)
    if files.members:
        return files
    raise NotAShard(
        f"{folder.uri}: neither a bcolz column (data, {SIZES}, {STORAGE}) nor a table ({ROOTDIRS}), and no .blp file"
    )


class BloscpackFiles(DataSet):
    """Data set with one object per file; its key is the path of the file in the folder, without `.blp`."""

    joins = False
    files_are_objects = True
    lookup_all = Shard.lookup_all
    read_part = Shard.read_part
    file_names = Shard.file_names

    def __init__(self, folder: Folder, context: OpenContext) -> None:
        super().__init__("bloscpack", folder, members_of(folder))
        self._context = context.member()
        self._files = FilesObjects(self)
        self._rows = {member.name: row for row, member in enumerate(self.members)}
        self.sizes: dict[int, int] = {}

    def open_member(self, name: str, source: Source) -> BloscpackShard:
        return open_shard(PrefetchedSource(source), self._context)

    @property
    def objects(self) -> FilesObjects:
        return self._files

    @property
    def declared_objects(self) -> int:
        return len(self.members)

    def lookup(self, key: str, recorder: LookupRecorder) -> ObjectRef:
        names = self.route(key, recorder)
        if not names:
            raise KeyAbsent(key, f"there is no file {short(key + SUFFIX)} in this folder")
        ref = self._files.ref(self._rows[names[0]])
        if ref.error:
            self.member(names[0])  # raises the error of the file
        return ref

    def route(self, key: str, recorder: LookupRecorder) -> Sequence[str]:
        name = key + SUFFIX
        row = self._rows.get(name)
        span = None if row is None else Span(str(SourceName(name)), 0, self.members[row].size)
        recorder.record(ContentFile(name, span, len(self.members)), self.format)
        return () if row is None else (name,)

    def _stream(self, ref: ObjectRef) -> Iterator[bytes]:
        shard = self._shard_of(ref)
        return shard.stream(shard.find(ALL))

    def reads_ranges(self, ref: ObjectRef) -> bool:
        return True

    def _read_range(self, ref: ObjectRef, start: int, stop: int, limit: int) -> bytes:
        shard = self._shard_of(ref)
        return shard.read_range(shard.find(ALL), start, stop, limit=limit)

    def file_head(self, ref: ObjectRef, name: str) -> bytes:
        if not names_array(name):
            return b""
        shard = self._shard_of(ref)
        return shard.file_head(shard.find(ALL), name)

    def array_layout(self, ref: ObjectRef) -> ArrayLayout | None:
        return self._shard_of(ref).whole_layout

    def facts(self, ref: ObjectRef) -> dict[str, Any]:
        shard = self._shard_of(ref)
        return shard.facts(shard.find(ALL))

    @property
    def checksum(self) -> str:
        return str(self.settings.get("checksum", "")).removeprefix("None")

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        if not self.first_member:
            return {}
        with self.borrowed(self.first_member) as first:
            return first.settings

    def verify_member(self, member: Shard, depth: Depth, progress: Progress) -> Report:
        report = super().verify_member(member, depth, progress)
        return replace(
            report, objects=1, checked=int(not report.unverified), without_checksum=int(report.without_checksum > 0)
        )

    def report_unopened(self, name: str, depth: Depth) -> Report | None:
        member = self.members[self._rows[name]]
        small = 0 <= member.size <= HEAD
        if self._context.values.get("isolated") or not isinstance(self.folder, LocalFolder) or not small:
            return None
        from shardcore.formats.bloscpack.verify import intact_report

        with self.folder.open(member.name) as source:
            if has_journal(source):
                return None
            return intact_report(source.read(0, source.size), depth)

    def row_of_member(self, name: str) -> int | None:
        return self._rows.get(name)

    def _shard_of(self, ref: ObjectRef) -> BloscpackShard:
        shard = self.member(self.members[ref.row].name)
        assert isinstance(shard, BloscpackShard)
        return shard


class FilesObjects(Objects):
    kinds = ("content",)
    codecs = ("blosc",)

    def __init__(self, files: BloscpackFiles) -> None:
        self._files = files

    def __len__(self) -> int:
        return len(self._files.members)

    @property
    def shards(self) -> Sequence[str]:
        return [member.name for member in self._files.members]

    def columns(self, rows: NDArray[np.int64], *, sizes: bool = False) -> ObjectColumns:
        members, cached = self._files.members, self._files.sizes
        stored = [members[row].size for row in rows.tolist()]
        if sizes:
            refs = list(map(self.ref, rows.tolist()))
            size, state = [ref.size for ref in refs], [ref.state for ref in refs]
        else:
            unreadable = self._files.unreadable
            damaged = [members[row].name in unreadable for row in rows.tolist()]
            size = [-1 if bad else cached.get(row, -1) for row, bad in zip(rows.tolist(), damaged, strict=True)]
            state = [State.DAMAGED if bad else State.LIVE for bad in damaged]
        shard = rows.astype(np.int32)
        return ObjectColumns.of(rows, 0, stored, size, stored_size=stored, state=state, shard=shard)

    def key_texts(self, rows: NDArray[np.int64]) -> list[str | None]:
        return [self._files.members[row].name.removesuffix(SUFFIX) for row in rows.tolist()]

    def _ref(self, row: int) -> ObjectRef:
        """Return the object of a file; opens the file briefly if its uncompressed size is not cached."""
        files, member = self._files, self._files.members[row]
        key, span = member.name.removesuffix(SUFFIX), Span(str(SourceName(member.name)), 0, member.size)
        ref = ObjectRef(key, row, (span,), -1, member.size, codec="blosc", kind="content")
        if row not in files.sizes:
            try:
                with files.borrowed(member.name) as shard:
                    files.sizes[row] = shard.find(ALL).size
            except ShardError as error:
                raise_if_lost(error)
                return replace(ref, state=State.DAMAGED, error=str(error))
        return replace(ref, size=files.sizes[row])


def members_of(folder: Folder, prefix: str = "", depth: int = 0) -> list[Member]:
    """Return the Bloscpack files in a folder and its subfolders, sorted by name, without temporary files."""
    found: list[Member] = []
    for entry in folder.list(prefix):
        if is_left_over(_last(entry)):
            continue
        if entry.is_folder and depth < DEEPEST:
            found += members_of(folder, entry.name, depth + 1)
        elif not entry.is_folder and entry.name.endswith(SUFFIX):
            found.append(Member(entry.name, entry.size))
    return sorted(found, key=lambda member: member.name)


def is_files(folder: Folder) -> bool:
    """Return True if a folder has Bloscpack files, and besides them only `manifest.json` and hidden files.

    If it has no Bloscpack file itself, its subfolders are listed, at most `LOOKED_THROUGH` folders in all.
    """
    waiting, found = [""], False
    for listed in range(LOOKED_THROUGH):
        if not waiting:
            break
        here = [entry for entry in folder.list(waiting.pop()) if not is_left_over(_last(entry))]
        files = [_last(entry) for entry in here if not entry.is_folder]
        if not listed and "manifest.json" in files:
            files.remove("manifest.json")
        if not all(name.endswith(SUFFIX) or name.startswith(".") for name in files):
            return False
        if any(name.endswith(SUFFIX) for name in files):
            found = True
            if not listed:
                break
        waiting += [entry.name for entry in here if entry.is_folder]
    return found


def _last(entry: Entry) -> str:
    return entry.name.rpartition("/")[2]
