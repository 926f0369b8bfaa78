"""A folder of shards as one data set (des-architecture, Read path and Backends and routing), and retention copies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain, takewhile
from typing import Any

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
    raise_if_lost,
    raise_unless_absent,
)
from shardcore.formats.des import routing
from shardcore.formats.des.layout import RETENTION, SUFFIX
from shardcore.formats.des.lookup import Copied, Copy, Routed
from shardcore.formats.des.routing import Route, ShardName, Uid, Zones
from shardcore.formats.des.shard import DesShard, open_shard
from shardcore.formats.des.sidecar import shard_of_sidecar
from shardcore.formats.des.tree import content_part, digest_in
from shardcore.model.computed_children import Deferred
from shardcore.model.node import Node
from shardcore.model.objects import ObjectRef
from shardcore.model.record import FieldRole, Value
from shardcore.model.span import SourceName, Span
from shardcore.model.text import plural
from shardcore.model.usage import LoadSource
from shardcore.shards.cache import Once
from shardcore.shards.dataset import DataSet, Member, Members
from shardcore.shards.open_context import OpenContext
from shardcore.shards.shard import SourcePart, read_content_range
from shardcore.shards.trace import LookupRecorder
from shardcore.sources.base import SMALL_HEAD, WHOLE_HEAD, Entry, Folder, Source, read_pieces
from shardcore.sources.prefetched_source import PrefetchedSource

ZONES_NAMES = ("zones.json", "zones.yaml", "zones.yml")

MOST_ASKED = 64
MOST_PROBED = 3
"""Maximum number of remote shards opened to check n_bits against their uids; for local ones: `MOST_ASKED`."""

MOST_PARTS = 10_000
"""Maximum number of parts per date and shard number whose names are tried."""

_COPY_NAME = re.compile(r"(?P<uid>.*)_(?P<stamp>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.\-]+Z)\.dat", re.DOTALL)


# --- extended retention ---------------------------------------------------------------------------------------------


class Retention:
    """Copies of objects that are kept when their shards are deleted; listed on first access.

    A copy is the uncompressed content at `_ext_retention/<date>/<uid>_<time>.dat`, with `created_at` in UTC as date and
    time. `_ext_retention` is at the root of the bucket: in the folder of the shards, or above it.
    """

    def __init__(self, folder: Folder, *, at_root: bool = False) -> None:
        self._folder, self._at_root = folder, at_root
        self._listing: Once[tuple[Folder | None, dict[str, Copy]]] = Once()

    @cached_property
    def _roots(self) -> list[tuple[Folder, list[str]]]:
        folder = self._folder
        roots = _possible_roots(folder)
        if self._at_root:
            roots = roots[-1:]
        elif folder.listable and not folder.lists_cheaply and all(entry.name != RETENTION for entry in folder.list()):
            roots = roots[1:]
        found = ((root, [day.name for day in _entries_in(root, RETENTION) if day.is_folder]) for root in roots)
        return [(root, days) for root, days in found if days]

    @property
    def days(self) -> bool:
        return bool(self._roots)

    def _listed(self) -> tuple[Folder | None, dict[str, Copy]]:
        for root, days in self._roots:
            if found := {copy.name: copy for copy in _copies(root, days)}:
                return root, found
        return None, {}

    @property
    def all(self) -> tuple[Copy, ...]:
        return tuple(self._listing.get(self._listed)[1].values())

    @cached_property
    def _by_uid(self) -> dict[str, list[Copy]]:
        found: dict[str, list[Copy]] = {}
        for copy in self.all:
            found.setdefault(copy.uid, []).append(copy)
        return found

    def of(self, uid: str) -> tuple[Copy, ...]:
        """Return the copies of a uid; their names are relative to the folder that contains `_ext_retention`."""
        return tuple(self._by_uid.get(uid, ()))

    def open(self, name: str, *, on_demand: bool = False) -> Source | None:
        """Open the copy with this name; return None if it is not in the listing."""
        root, copies = self._listing.get(self._listed)
        if root is None or name not in copies:
            return None
        return root.open_on_demand(name) if on_demand else root.open(name)


def _possible_roots(folder: Folder) -> list[Folder]:
    """Return the folders that may have copies: the folder of the shards, its parent, and the root of its bucket."""
    found = [folder]
    while (len(found) < 2 or not folder.lists_cheaply) and (above := found[-1].parent()) is not None:
        found.append(above)
    return [*found[:2], *found[2:][-1:]]


def _copies(root: Folder, days: Iterable[str]) -> Iterator[Copy]:
    for day in days:
        for entry in _entries_in(root, day):
            match = _COPY_NAME.fullmatch(entry.name.rpartition("/")[2])
            if match and not entry.is_folder:
                yield Copy(match["uid"], match["stamp"], entry.name, entry.size)


def _entries_in(root: Folder, name: str) -> list[Entry]:
    try:
        return root.list(name)
    except SourceError as error:
        raise_unless_absent(error)
        return []


def zones_files(folder: Folder) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the files of a folder that are named as a zones file and can be read."""
    there = {entry.name for entry in folder.list() if not entry.is_folder} if folder.listable else ZONES_NAMES
    for name in filter(there.__contains__, ZONES_NAMES):
        try:
            yield name, folder.read(name, routing.MAX_ZONES)
        except ShardError as error:
            raise_if_lost(error)


# --- the data set ---------------------------------------------------------------------------------------------------


class DesDataSet(DataSet):
    """Data set of the shards of one folder, which share their BigFiles."""

    member_head = SMALL_HEAD
    computed = False
    """True if the folder cannot be listed, so that the names of shards are computed from date and n_bits."""

    def __init__(self, folder: Folder, members: Members, context: OpenContext) -> None:
        super().__init__("des", folder, members)
        self._context = context
        self.retention = Retention(folder)
        self._zones: Once[Zones | None] = Once()
        self._named: Once[int | None] = Once()
        self._agree: Once[bool] = Once()
        bits = context.values.get("n_bits")
        self._given_bits = None if bits is None else routing.check_bits(bits)
        given = str(context.values.get("date") or "")
        self.date = routing.shard_date(given) if given else ""

    def open_member(self, name: str, source: Source) -> DesShard:
        guess = WHOLE_HEAD if self.whole_member else 2 * SMALL_HEAD
        shard = open_shard(PrefetchedSource(source, guess), self._context.member())
        if self.knows_sidecars:
            shard.file.has_sidecar = shard.file.sidecar_name in self._sidecars
        return shard

    @property
    def knows_sidecars(self) -> bool:
        """True if a remote folder was listed: the listing shows which shards have a sidecar, without a request each."""
        return self.listed and self.folder.listable and not self.folder.lists_cheaply

    @cached_property
    def _sidecars(self) -> frozenset[str]:
        return frozenset(entry.name for entry in self.folder.list() if shard_of_sidecar(entry.name))

    @property
    def settings(self) -> dict[str, Any]:
        if not self.first_member:
            return {}
        with self.borrowed(self.first_member) as first:
            return dict(first.settings)

    def may_hold(self, name: str) -> bool:
        return self.computed and name.endswith(SUFFIX)

    # --- n_bits ---------------------------------------------------------------------------------------------------

    @property
    def zones(self) -> Zones | None:
        return self._zones.get(self._read_zones)

    def _read_zones(self) -> Zones | None:
        for _, text in zones_files(self.folder):
            with suppress(FormatError):
                return Zones.parse(text)
        return None

    @property
    def n_bits(self) -> int | None:
        """Number of uid bits that select the shard, from the options, the zones file or the file names; or None."""
        return self._named_bits if self._agree.get(self._uids_agree) else None

    @property
    def known_bits(self) -> int | None:
        """Number of uid bits that select the shard, if it was determined before; None otherwise."""
        return None if self._agree.value is False else self._named.value

    @property
    def _routing_bits(self) -> int | None:
        """Number of uid bits that select the shard, for the first attempt of a lookup; not checked in remote shards."""
        if self.folder.lists_cheaply:
            return self.n_bits
        return None if self._agree.value is False else self._named_bits

    @property
    def _named_bits(self) -> int | None:
        return self._named.get(self._read_bits)

    def _read_bits(self) -> int | None:
        if self._given_bits is not None:
            return self._given_bits
        if self.zones is not None:
            return self.zones.n_bits
        names = (ShardName.parse(member.name) for member in self.members)
        return routing.bits_of_names(name for name in names if name is not None)

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
            with suppress(FormatError, NotAShard):
                uids = [uid for uid in self.member(name).objects.keys[:] if uid is not None]
                if not routing.routed_to(uids, parsed.hex, n_bits):
                    return False
        return True

    @property
    def fields(self) -> dict[str, Value]:
        known = self.known_bits
        return super().fields | ({"dataset.n_bits": known} if known is not None else {})

    @property
    def loads(self) -> tuple[LoadSource, ...]:
        files = super().loads
        return (*files, self._teaching().number_load(self, files[0].reads))

    # --- from a uid to its shards ---------------------------------------------------------------------------------

    def parse_key(self, text: str) -> Uid:
        return Uid.parse(text)

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

    def candidates(self, key: Uid) -> tuple[Route | None, Sequence[str]]:
        """Return the route of a uid (None if n_bits is unknown) and the shards that may contain it."""
        n_bits = self._routing_bits
        if n_bits is None:
            return None, sorted(chain.from_iterable(self._by_hex.values()))
        route = key.route(n_bits)
        if self.computed:
            return route, self.existing_parts(route)
        return route, [*self._by_hex.get(route.hex, []), *self._by_hex.get("", [])]

    @cached_property
    def _by_hex(self) -> dict[str, list[str]]:
        return self.grouped(self.members)

    def grouped(self, members: Iterable[Member]) -> dict[str, list[str]]:
        """Return file names of shards (of the date, if given) by the hex number in them; other names are under ""."""
        found: dict[str, list[str]] = {}
        for name in sorted(member.name for member in members):
            parsed = ShardName.parse(name.rpartition("/")[2])
            if parsed is None or not self.date or parsed.date == self.date:
                found.setdefault(parsed.hex if parsed else "", []).append(name)
        return found

    def existing_parts(self, route: Route, place: str = "") -> list[str]:
        """Return the shards of a date and number that exist: part 0, 1, … are tried up to the first missing one."""
        names = (f"{place}{ShardName(self.date, route.hex, part)}" for part in range(MOST_PARTS))
        return list(takewhile(lambda name: self.is_open(name) or self.folder.has(name), names))

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
            ref = copies[0].ref()
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
        found = (*listed, *(copy.ref() for copy in copies))
        for ref in found:
            ref.extras["copies"] = [copy.name for copy in copies]
        return found

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
                found = self.member(name).find_many([keys[number] for number in left.tolist()])
                rows[left] = np.where(found < 0, -1, found + first)
        for name, error in self.unreadable.items():
            if any(rows[number] < 0 for number in by_member.get(name, ())):
                raise error
        return rows

    # --- contents, tree and files beside the shards -----------------------------------------------------------------

    def _stream(self, ref: ObjectRef) -> Iterator[bytes]:
        if ref.kind != "copy":
            yield from super()._stream(ref)
            return
        with self._open_copy(ref) as source:
            yield from read_pieces(source, 0, source.size)

    def _read_range(self, ref: ObjectRef, start: int, stop: int, limit: int) -> bytes:
        if ref.kind != "copy":
            return super()._read_range(ref, start, stop, limit)
        with self._open_copy(ref) as source:
            return read_content_range(source, ref, Span(ref.spans[0].source, 0, source.size), start, stop, limit)

    def _open_copy(self, ref: ObjectRef) -> Source:
        name = SourceName.parse(ref.spans[0].source).path
        try:
            copy = self.retention.open(name)
        except SourceError as error:
            raise_unless_absent(error)
            raise ExternalMissing(f"{name} cannot be opened: {error.message}") from error
        if copy is None:
            raise UsageError(f"no retention copy is named {name!r}")
        return copy

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
        if not name.stretches:
            if RETENTION in name.path.split("/") and (copy := self.retention.open(name.path, on_demand=True)):
                return content_part(copy, name)
            if path := self.path_beside(name.path):
                role = FieldRole.TEXT if shard_of_sidecar(path) else FieldRole.DATA
                return content_part(self.folder.open_on_demand(path), name, role)
        return super()._part(name)

    def path_beside(self, path: str) -> str:
        """Return `path` if it is that of a BigFile or of the sidecar of a shard in the folder; "" otherwise."""
        return path if digest_in(path) is not None or shard_of_sidecar(path) in self._by_name else ""
