"""A folder of shards as one data set (des-architecture, Read path and Backends and routing)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import (
    ExternalMissing,
    FormatError,
    KeyAbsent,
    NotAShard,
    ShardError,
    SourceError,
    UsageError,
    says_absent,
    source_lost,
)
from shardcore.formats.des.content import cut
from shardcore.formats.des.file import DesFile
from shardcore.formats.des.layout import BIGFILES, RETENTION, SUFFIX, is_hash
from shardcore.formats.des.lookup import Copied, Routed
from shardcore.formats.des.retention import Copy, Retention, RetentionCopies
from shardcore.formats.des.routing import Route, ShardName, Uid, bits_of_names, check_bits, routed_to, shard_date
from shardcore.formats.des.shard import DesShard, open_shard
from shardcore.formats.des.sidecar import shard_of_sidecar
from shardcore.formats.des.tree import content_part
from shardcore.formats.des.zones_file import MAX_TEXT, Zones
from shardcore.model.computed_children import Deferred
from shardcore.model.node import Node
from shardcore.model.number_text import plural
from shardcore.model.objects import ObjectRef, State
from shardcore.model.record import FieldRole, Value
from shardcore.model.slot_usage import Load, LoadSource
from shardcore.model.source_name import SourceName
from shardcore.model.span import Span
from shardcore.progress import Progress
from shardcore.shards.cache import Once
from shardcore.shards.dataset import DataSet, Member, Members, members_in, some_members
from shardcore.shards.format import Certainty, Verdict
from shardcore.shards.open_context import OpenContext
from shardcore.shards.shard import SourcePart
from shardcore.shards.trace import LookupRecorder
from shardcore.sources.base import SMALL_HEAD, WHOLE_HEAD, Folder, Source, read_pieces
from shardcore.sources.prefetched_source import PrefetchedSource

if TYPE_CHECKING:
    pass

ZONES_NAMES = ("zones.json", "zones.yaml", "zones.yml")

MOST_ASKED = 64
MOST_PROBED = 3
"""Maximum number of remote shards opened to check n_bits against their uids; of local shards `MOST_ASKED`."""

MOST_PARTS = 10_000
"""Maximum number of parts per date and shard number whose names are tried."""


def detect_folder(folder: Folder) -> Verdict | None:
    """Detect a folder by file names as packers write them, or at least `*.des`."""
    found, count = some_members(folder, SUFFIX)
    if packed := sum(ShardName.parse(member.name) is not None for member in found):
        count = count if packed == len(found) else plural(packed, "file")
        return Verdict(Certainty.BESIDE, f"{count} named <date>_<hex>_<part>.des")
    return Verdict(Certainty.INFERRED, f"{count} named *.des") if found else None


def open_folder(folder: Folder, context: OpenContext) -> DesDataSet:
    """Open a folder of shards; the shards are opened when needed."""
    members, computed = _members(folder, context)
    if not members:
        raise NotAShard(f"{folder.uri}: no *{SUFFIX} files")
    found = DesDataSet(folder, members, context)
    found.computed = computed
    found.retention = Retention(folder)
    return found


def _members(folder: Folder, context: OpenContext) -> tuple[Members, bool]:
    try:
        return members_in(folder, SUFFIX), False
    except SourceError as error:
        if source_lost(error) or not all(context.values.get(name) for name in ("date", "n_bits")):
            raise
        refused = error

    def listed() -> Iterator[Member]:
        raise refused

    return listed, True


class DesDataSet(DataSet):
    """Data set of the shards of one folder, which share their BigFiles."""

    member_head = SMALL_HEAD

    retention: RetentionCopies

    def __init__(self, folder: Folder, members: Members, context: OpenContext) -> None:
        super().__init__("des", folder, members)
        self._context = context
        self._zones: Once[Zones | None] = Once()
        self._named: Once[int | None] = Once()
        self._agree: Once[bool] = Once()
        self._parts: Once[dict[str, list[str]]] = Once()
        bits = context.values.get("n_bits")
        self._given_bits = None if bits is None else check_bits(bits)
        given = str(context.values.get("date") or "")
        self.date = shard_date(given) if given else ""
        self.computed = False

    def open_member(self, name: str, source: Source) -> DesShard:
        guess = WHOLE_HEAD if self.whole_member else 2 * SMALL_HEAD
        shard = open_shard(PrefetchedSource(source, guess), self._context.member())
        if self._sidecars is not None:
            shard.file.has_sidecar = shard.file.sidecar_name in self._sidecars
        return shard

    @property
    def _sidecars(self) -> frozenset[str] | None:
        known = self.listed and self.folder.listable and not self.folder.lists_cheaply
        return self._sidecar_names if known else None

    @cached_property
    def _sidecar_names(self) -> frozenset[str]:
        return frozenset(entry.name for entry in self.folder.list() if shard_of_sidecar(entry.name))

    @property
    def _by_hex(self) -> dict[str, list[str]]:
        def arranged() -> dict[str, list[str]]:
            found: dict[str, list[str]] = {}
            for name in sorted(member.name for member in self.members):
                parsed = ShardName.parse(name.rpartition("/")[2])
                if parsed is None or self.on_date(parsed):
                    found.setdefault(parsed.hex if parsed else "", []).append(name)
            return found

        return self._parts.get(arranged)

    def on_date(self, name: ShardName) -> bool:
        return not self.date or name.date == self.date

    @property
    def zones(self) -> Zones | None:
        return self._zones.get(self._read_zones)

    def _read_zones(self) -> Zones | None:
        there = {entry.name for entry in self.folder.list() if not entry.is_folder} if self.folder.listable else None
        for name in ZONES_NAMES if there is None else filter(there.__contains__, ZONES_NAMES):
            try:
                return Zones.parse(self.folder.read(name, MAX_TEXT))
            except ShardError as error:
                if source_lost(error):
                    raise
        return None

    @property
    def n_bits(self) -> int | None:
        """Bits of the shard number: given, from the zones file, or inferred from all file names; None if unknown."""
        return self._named_bits if self._agree.get(self._uids_agree) else None

    @property
    def _named_bits(self) -> int | None:
        return self._named.get(self._read_bits)

    def _read_bits(self) -> int | None:
        if self._given_bits is not None:
            return self._given_bits
        if self.zones is not None:
            return self.zones.n_bits
        names = (ShardName.parse(member.name) for member in self.members)
        return bits_of_names(name for name in names if name is not None)

    @property
    def _routing_bits(self) -> int | None:
        """Bits of the shard number for the first attempt of a lookup; remote shards are not opened to check it."""
        if self.folder.lists_cheaply:
            return self.n_bits
        return None if self._agree.value is False else self._named_bits

    def _uids_agree(self) -> bool:
        n_bits = self._named_bits
        if n_bits is None or self._given_bits is not None or self.zones is not None:
            return True
        most = MOST_ASKED if self.folder.lists_cheaply else MOST_PROBED
        spread = self.members[:: max(len(self.members) // most, 1)]
        opened = [member for member in self.members if self.is_open(member.name)]
        for name in list(dict.fromkeys(member.name for member in (*opened, *spread)))[:most]:
            parsed = ShardName.parse(name)
            if parsed is None:
                continue
            try:
                uids = [uid for uid in self.member(name).objects.keys[:] if uid is not None]
            except (FormatError, NotAShard):
                continue
            if not routed_to(uids, parsed.hex, n_bits):
                return False
        return True

    @property
    def settings(self) -> dict[str, Any]:
        if not self.first_member:
            return {}
        with self.borrowed(self.first_member) as first:
            return dict(first.settings)

    @property
    def loads(self) -> tuple[LoadSource, ...]:
        files = super().loads
        return (*files, LoadSource("numbers", "Objects per shard number", files[0].reads, self._number_load))

    def _number_load(self, progress: Progress) -> Load:
        self.load_index(progress)
        if self.n_bits is None:
            raise UsageError("n_bits is unknown: it follows neither from the file names nor from a zones file")
        counts = [(member.name, self.objects_in(member.name) or 0) for member in self.members]
        load: Load = self._teaching().numbers(counts, self.n_bits)
        return load

    def parse_key(self, text: str) -> Uid:
        return Uid.parse(text)

    def candidates(self, key: Uid) -> tuple[Route | None, Sequence[str]]:
        """Return the route of a uid (None if n_bits is unknown) and the shards that may contain it."""
        n_bits = self._routing_bits
        if n_bits is None:
            names = [(ShardName.parse(member.name), member.name) for member in self.members]
            return None, [name for parsed, name in names if parsed is None or self.on_date(parsed)]
        route = key.route(n_bits)
        if self.computed:
            return route, self._existing_parts(route)
        return route, [*self._by_hex.get(route.hex, []), *self._by_hex.get("", [])]

    def may_hold(self, name: str) -> bool:
        return self.computed and name.endswith(SUFFIX)

    def _existing_parts(self, route: Route, place: str = "") -> list[str]:
        """Return the parts of a date and shard number; opens computed names up to the first that is missing."""
        found: list[str] = []
        for part in range(MOST_PARTS):
            name = f"{place}{ShardName(self.date, route.hex, part)}"
            if not self.is_open(name):
                try:
                    self.folder.open(name).close()
                except SourceError as error:
                    if not says_absent(error):
                        raise
                    break
            found.append(name)
        return found

    def route(self, key: Uid, recorder: LookupRecorder) -> Sequence[str]:
        route, found = self.candidates(key)
        if recorder.recording:
            zone = self.zones.zone_of(route.number) if route is not None and self.zones is not None else None
            origin = "the zones file has" if self.zones is not None else "the names of the files show"
            routed = Routed(
                key,
                route,
                list(found),
                origin if self._given_bits is None else "it was given",
                None if self.zones is None else zone.name if zone else "",
                self.date,
                len(self.members) if self.listed else None,
            )
            recorder.record(routed, self.format)
        return found

    @property
    def known_bits(self) -> int | None:
        """Bits of the shard number, if they are known without a read."""
        return None if self._agree.value is False else self._named.value

    def known_names(self) -> Sequence[str]:
        return [member.name for member in self.members] if self.listed else ()

    def may_draw(self, member: str) -> bool:
        return self.is_open(member) or (self.listed and member in self._by_name)

    def file_of(self, member: str) -> DesFile | None:
        shard = self.member(member) if member else None
        return shard.file if isinstance(shard, DesShard) else None

    def _find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        """Return the rows of many uids; -1 for a uid without an entry, even if it has a retention copy."""
        wanted = [self.parse_key(key) for key in keys]
        self.load_index()
        self._agree.get(self._uids_agree)
        rows = np.full(len(keys), -1, np.int64)
        by_member: dict[str, list[int]] = {}
        for number, uid in enumerate(wanted):
            for name in self.candidates(uid)[1]:
                by_member.setdefault(name, []).append(number)
        # Files with other names are searched last.
        for name in (name for _, names in sorted(self._by_hex.items(), reverse=True) for name in names):
            left = np.array([number for number in by_member.get(name, ()) if rows[number] < 0], np.int64)
            first = self.first_row_of(name)
            if first is not None and len(left):
                member = self.member(name)
                assert isinstance(member, DesShard)
                found = member.lookup_many([wanted[number] for number in left.tolist()])
                rows[left] = np.where(found < 0, -1, found + first)
        for name, error in self.unreadable.items():
            if any(rows[number] < 0 for number in by_member.get(name, ())):
                raise error
        return rows

    def lookup(self, key: Uid, recorder: LookupRecorder) -> ObjectRef:
        copies = self.retention.of(key.text)
        try:
            try:
                ref = super().lookup(key, recorder)
            except KeyAbsent:
                if self._routing_bits == self.n_bits:
                    raise
                ref = super().lookup(key, recorder)  # n_bits inferred from the names was wrong: search all files
        except KeyAbsent:
            if not copies:
                raise
            ref = _copy_ref(copies[0])
        if copies:
            recorder.record(Copied(copies), self.format)
            ref.extras["copies"] = [copy.name for copy in copies]
        return ref

    def lookup_all(self, key: Uid) -> Sequence[ObjectRef]:
        copies = self.retention.of(key.text)
        listed = super().lookup_all(key)
        if not listed and self._routing_bits != self.n_bits:
            listed = super().lookup_all(key)
        if not copies:
            return listed
        found = (*listed, *map(_copy_ref, copies))
        for ref in found:
            ref.extras["copies"] = [copy.name for copy in copies]
        return found

    def _stream(self, ref: ObjectRef) -> Iterator[bytes]:
        return self._stream_copy(ref) if ref.kind == "copy" else super()._stream(ref)

    def _read_range(self, ref: ObjectRef, start: int, stop: int, limit: int) -> bytes:
        if ref.kind != "copy":
            return super()._read_range(ref, start, stop, limit)
        with self._open_copy(ref) as source:
            return cut(source, 0, source.size, start, stop, limit)

    @property
    def fields(self) -> dict[str, Value]:
        known = self.known_bits
        return super().fields | ({"dataset.n_bits": known} if known is not None else {})

    def _tree(self) -> Node:
        root = super()._tree()
        if not self.retention.days:
            return root
        doc = "Copies of objects, kept even when their shards are deleted."
        copies = Node(RETENTION, Span("", 0, 0), doc=doc, children=Deferred(self._copy_nodes))
        return Node(root.name, root.span, children=(*root.children, copies))

    def _copy_nodes(self) -> list[Node]:
        doc = "A copy of an object, kept even when its shard is deleted."
        return [
            Node(copy.name, copy.span, text=plural(copy.size, "byte"), role=FieldRole.DATA, doc=doc)
            for copy in self.retention.all
        ]

    def _part(self, name: SourceName) -> SourcePart:
        prefix, _, rest = name.path.partition("/")
        if name.stretches:
            return super()._part(name)
        if prefix == BIGFILES and is_hash(rest.encode("utf-8", "replace")):
            return self.beside(name.path, name)
        if RETENTION in name.path.split("/") and (copy := self.retention.open(name.path, on_demand=True)) is not None:
            return content_part(copy, name)
        if shard_of_sidecar(name.path) in self._by_name:
            return self.beside(name.path, name)
        return super()._part(name)

    def beside(self, path: str, name: SourceName) -> SourcePart:
        role = FieldRole.TEXT if shard_of_sidecar(path) else FieldRole.DATA
        return content_part(self.folder.open_on_demand(path), name, role)

    def _open_copy(self, ref: ObjectRef) -> Source:
        name = SourceName.parse(ref.spans[0].source).path
        try:
            copy = self.retention.open(name)
        except SourceError as error:
            if not says_absent(error):
                raise
            raise ExternalMissing(f"{name} cannot be opened: {error.message}") from error
        if copy is None:
            raise UsageError(f"no retention copy is named {name!r}")
        return copy

    def _stream_copy(self, ref: ObjectRef) -> Iterator[bytes]:
        with self._open_copy(ref) as source:
            yield from read_pieces(source, 0, source.size)


def _copy_ref(copy: Copy) -> ObjectRef:
    return ObjectRef(
        copy.uid,
        -1,
        (copy.span,),
        copy.size,
        copy.size,
        state=State.EXTERNAL,
        kind="copy",
        extras={"created_at": copy.created_at},
    )
