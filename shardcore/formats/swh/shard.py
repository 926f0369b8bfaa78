"""A Read Shard, or a folder of them, as a `Shard`: detection and opening."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, LimitExceeded, NotAShard, SourceError, Truncated, says_absent
from shardcore.formats.swh import hash_section, layout
from shardcore.formats.swh.file import SwhFile
from shardcore.formats.swh.lookup import Candidates, SwhLookup
from shardcore.formats.swh.objects import KEY_FORM, SwhObjects, checked_key
from shardcore.formats.swh.tree import SwhTree, cut_nodes, header_node
from shardcore.model.number_text import grouped_digits, plural
from shardcore.model.parallel import in_order
from shardcore.model.section import laid_out
from shardcore.shards.dataset import DataSet, Member
from shardcore.shards.file_shard import FileShard
from shardcore.shards.format import Certainty, Verdict
from shardcore.shards.open_context import Draft, OpenContext
from shardcore.sources.base import SMALL_HEAD, Entry, Folder, Source
from shardcore.sources.prefetched_source import PrefetchedSource

if TYPE_CHECKING:
    from shardcore.model.objects import ObjectRef
    from shardcore.model.record import Value
    from shardcore.shards.trace import LookupRecorder

LAST_SLOTS = 200
"""Slots before the hash function that are fetched with it: their keys show whether it fits."""

SECTION_GUESS = (60 << 10) - LAST_SLOTS * layout.SLOT.size
"""Bytes of the hash function read at opening; sufficient for about 170,000 objects."""

SUFFIX = ".shard"
"""Usual suffix; also that of neuroglancer, so a folder is detected by the magic of its files."""

LOOKED_AT = 4
"""Maximum number of files read to detect a folder."""

MOST_ASKED = 64
"""Maximum number of files whose magic is read to open a local folder; for a remote one `LOOKED_AT`. Further files are
recognised by their suffix."""


class SwhShard(FileShard):
    file: SwhFile
    format = "swh"
    version = "1"
    key_form = KEY_FORM

    def __init__(self, file: SwhFile) -> None:
        super().__init__(file, SwhObjects(file), SwhTree(file), SwhLookup(file))
        self.damage = file.damage

    @property
    def fields(self) -> dict[str, Value]:
        fields = {f"header.{name}": value for name, value in self.file.header.items()}
        if (hashing := self.file.hash_layout) is not None:
            fields.update({f"hash_function.{name}": value for name, value in hashing.values.items()})
            fields["hash_function.end"] = hashing.stop
        return fields

    @property
    def write_options(self) -> dict[str, Any]:
        """Return the seed, the first one that is tried for a shard like this one."""
        return {"seed": self.file.hash_layout.seed} if self.file.hash_layout is not None else {}

    @property
    def declared_objects(self) -> int:
        return self.file.layout.declared

    def _find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        found: NDArray[np.int64] = self._lookup.find_many(keys)
        return found

    def _stream(self, ref: ObjectRef) -> Iterator[bytes]:
        return self.file.pieces(self._objects.content_of(ref))

    def _read_range(self, ref: ObjectRef, start: int, stop: int, limit: int) -> bytes:
        content = self._objects.content_of(ref)
        first, last = min(content.start + start, content.stop), min(content.start + stop, content.stop)
        if last - first > limit:
            raise LimitExceeded(f"the range has {plural(last - first, 'byte')}; the limit is {grouped_digits(limit)}")
        return self.file.source.read(first, last)


def detect(source: PrefetchedSource) -> Verdict | None:
    head = source.head(layout.HEADER.size)
    if head.startswith(layout.WHOLE_MAGIC):
        return Verdict(Certainty.MAGIC, "magic SWHShard")
    if head.startswith(layout.MAGIC):
        return Verdict(Certainty.PARTLY, "magic SWHShard without the zero after it")
    return None


def open_shard(source: PrefetchedSource, context: OpenContext) -> SwhShard:
    """Open a Read Shard with two reads: the start of the file, and the start of the hash function."""
    draft = context.draft
    head = source.head(layout.HEADER.size)
    if draft.kept and (context.forced or head.startswith(layout.WHOLE_MAGIC)):
        _note_header(head, draft)
    header = layout.read_header(head)
    draft.declared = header["objects_count"]
    try:
        layout.check_reach(header, source.size)
    except Truncated:
        for section, node in cut_nodes(header, source.size):
            draft.add(section, node)
        raise
    start, slots = header["hash_position"], header["index_size"] // layout.SLOT.size
    lead = layout.SLOT.size * min(slots, LAST_SLOTS)
    window = source.read(start - lead, min(start + SECTION_GUESS, source.size))
    last_slots, window = window[:lead], window[lead:]
    hashing: hash_section.HashLayout | None = None
    damage: FormatError | None = None
    try:
        hashing = hash_section.read_hash_layout(window, start, slots, source.size)
        if (size := hashing.stop - start) <= len(window):
            hash_section.read_hash_tail(window[size - layout.HASH_TAIL.size : size], hashing)
    except FormatError as error:
        # Index and objects may be intact, so a partial shard is usable without the hash function.
        if not context.partial:
            raise
        hashing, damage = None, error
    return SwhShard(SwhFile(source.base, header, window, hashing, damage, last_slots))


def _note_header(head: bytes, draft: Draft) -> None:
    whole = layout.HEADER.read_one(head.ljust(layout.HEADER.size, b"\0"))
    values = {name: value for name, value in whole.items() if layout.HEADER.span(name).stop <= len(head)}
    if values:
        draft.version = str(values.get("version", ""))
        section = laid_out(layout.PARTS[:1], (0, len(head)))[0]
        draft.add(section, header_node(values, size=len(head)), values)


# --- a folder ---------------------------------------------------------------------------------------------------


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
        """Return the rows of many keys; each shard is searched once for all keys not found yet. Loads the index."""
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
        if not says_absent(error):
            raise
        return False
