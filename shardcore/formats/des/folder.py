"""A folder of shards as one data set (des-architecture, Read path and Backends and routing)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.dataset import DataSet, Member
from shardcore.errors import ExternalMissing, KeyAbsent, LimitExceeded, NotAShard, ShardError, SourceError, UsageError
from shardcore.format import Certainty, OpenContext, Verdict
from shardcore.formats.des.content import read_chunks
from shardcore.formats.des.layout import BIGFILES, RETENTION, is_hash
from shardcore.formats.des.reader import open_shard
from shardcore.formats.des.retention import Copy, Retention
from shardcore.formats.des.routing import Route, ShardName, infer_n_bits
from shardcore.formats.des.sidecar import SUFFIX
from shardcore.formats.des.zones import MAX_TEXT, Zones
from shardcore.nodes.node import Node
from shardcore.nodes.runs import Runs
from shardcore.nodes.sections import Section, SectionRole
from shardcore.objects import ObjectRef, State
from shardcore.record import FieldRole, Value
from shardcore.shard import DEFAULT_LIMIT, Shard
from shardcore.sources.base import Folder, Source
from shardcore.sources.local import LocalFolder
from shardcore.sources.opening import PrefetchedSource
from shardcore.sources.wrapped import OnDemandSource
from shardcore.span import Span
from shardcore.trace import Look

ZONES_NAMES = ("zones.json", "zones.yaml", "zones.yml")

MOST_ASKED = 64
"""So many members are opened to infer the number of bits; `load_index` asks all."""


def detect_folder(folder: Folder) -> Verdict | None:
    """A folder with files that are named as packers name shards, or at least end with `.des`."""
    names = _shard_names(folder)
    packed = sum(ShardName.parse(name) is not None for name in names)
    if packed:
        return Verdict(Certainty.BESIDE, f"{packed} files named <date>_<hex>_<part>.des")
    return Verdict(Certainty.INFERRED, f"{len(names)} files named *.des") if names else None


def open_folder(folder: Folder, context: OpenContext) -> DesFolder:
    """Opens a folder of shards; the shards are opened when they are needed.

    Raises:
        NotAShard: There is no shard in it.
        SourceError: The folder cannot be listed.
    """
    entries = [entry for entry in folder.list() if _is_shard(entry.name) and not entry.is_folder]
    members = [Member(e.name, e.size, partial(_open_member, folder, e.name, context)) for e in entries]
    if not members:
        raise NotAShard(f"{folder.uri}: no file is named *.des")
    return DesFolder(folder, members)


def _open_member(folder: Folder, name: str, context: OpenContext) -> Shard:
    # Opening a local file costs nothing, and a folder may have more shards than a process may have files.
    source = OnDemandSource(folder, name) if isinstance(folder, LocalFolder) else folder.open(name)
    inner = OpenContext(context.options, context.opener, partial=context.partial)
    try:
        return open_shard(PrefetchedSource(source), inner)
    except BaseException:
        source.close()
        raise


class DesFolder(DataSet):
    """The shards of one folder, which share their BigFiles.

    Args:
        folder: The folder.
        members: Its shards.
    """

    def __init__(self, folder: Folder, members: Sequence[Member]) -> None:
        super().__init__("des", folder.uri, members)
        self.folder = folder

    @cached_property
    def zones(self) -> Zones | None:
        """The zones file of the folder, if it has one that can be read."""
        for name in ZONES_NAMES:
            try:
                with self.folder.open(name) as source:
                    return Zones.parse(source.read(0, min(source.size, MAX_TEXT + 1)))
            except ShardError:
                continue
        return None

    @cached_property
    def retention(self) -> Retention:
        """Copies for extended retention."""
        return Retention(self.folder)

    @cached_property
    def n_bits(self) -> int | None:
        """Bits of the shard numbers: those of the zones file, else inferred from uids and names; None if unknown."""
        if self.zones is not None:
            return self.zones.n_bits
        uids: dict[str, list[str]] = {}
        step = max(len(self.members) // MOST_ASKED, 1)
        for member in self.members[::step]:
            name = ShardName.parse(member.name)
            if name is None:
                continue
            try:
                objects = self.member(member.name).objects
            except ShardError:
                continue
            rows = np.arange(len(objects), dtype=np.int64)
            uids.setdefault(name.hex, []).extend(uid for uid in objects.key_texts(rows) if uid is not None)
        return infer_n_bits(uids)

    @cached_property
    def _by_hex(self) -> dict[str, list[str]]:
        """Members by the shard number in their name, in the order in which they are searched; `""` for other names."""
        found: dict[str, list[str]] = {}
        for name in sorted(member.name for member in self.members):
            parsed = ShardName.parse(name)
            found.setdefault(parsed.hex if parsed else "", []).append(name)
        return found

    def _candidates(self, key: str) -> tuple[Route | None, list[str]]:
        """The route of a uid (None when the number of bits is not known) and the members that may hold it."""
        if self.n_bits is None:
            return None, [member.name for member in self.members]
        route = Route.of(key, self.n_bits)
        return route, [*self._by_hex.get(route.hex, []), *self._by_hex.get("", [])]

    def route(self, key: str, look: Look) -> Sequence[str]:
        """The parts in which a uid may lie: those of its shard number, of all dates; then files with other names."""
        route, found = self._candidates(key)
        if route is None:
            text = f"The number of bits of the shard numbers is not known: all {len(found)} files may hold the uid."
            look.step("Route", text, n_bits=None, candidates=found[:100])
            return found
        why = "read as a number" if route.rule == "digits" else "by its CRC-32"
        zone = self.zones.zone_of(route.number) if self.zones else None
        text = f"The uid, {why}, modulo 2^{route.n_bits} gives shard number {route.number}, printed {route.hex}"
        text += f", of zone {zone.name}" if zone else ""
        text += f": {len(found)} of {len(self.members)} files may hold it."
        values: dict[str, Any] = {"n_bits": route.n_bits, "rule": route.rule, "number": route.number, "hex": route.hex}
        look.step("Route", text, **values, candidates=found[:100])
        return found

    def find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        """The rows of many uids, member by member; -1 where a uid is in none (or only kept as a retention copy).

        Raises:
            FormatError: A uid is in no member that can be read, and one that cannot may hold it.
        """
        self.load_index()
        rows = np.full(len(keys), -1, np.int64)
        wanted: dict[str, list[int]] = {}
        for number, key in enumerate(keys):
            for name in self._candidates(key)[1]:
                wanted.setdefault(name, []).append(number)
        for name in [
            name for names in sorted(self._by_hex.items(), reverse=True) for name in names[1] if name in wanted
        ]:
            left = np.array([number for number in wanted[name] if rows[number] < 0], np.int64)
            first = self._first_row(name)
            if first is not None and len(left):
                found = self.member(name).find_many([keys[number] for number in left.tolist()])
                rows[left] = np.where(found < 0, -1, found + first)
        for name, error in self.unreadable.items():
            if any(rows[number] < 0 for number in wanted.get(name, ())):
                raise error
        return rows

    def lookup(self, key: str, look: Look) -> ObjectRef:
        """Routes the uid and looks in the parts; what is only kept as a retention copy is found there."""
        copies = self.retention.of(key)
        try:
            ref = super().lookup(key, look)
        except KeyAbsent:
            if not copies:
                raise
            ref = _copy_ref(copies[0])
        if copies:
            names = [copy.name for copy in copies]
            text = f"{len(copies)} copies are kept for extended retention; readers of that project prefer them."
            look.step("Retention", text, *(Span(copy.name, 0, copy.size) for copy in copies), copies=names)
            ref.extras["copies"] = names
        return ref

    def find_all(self, key: str) -> tuple[ObjectRef, ...]:
        """All entries with this uid in all parts, then its retention copies."""
        copies = self.retention.of(key)
        found = (*super().find_all(key), *map(_copy_ref, copies))
        for ref in found if copies else ():
            ref.extras["copies"] = [copy.name for copy in copies]
        return found

    def stream(self, ref: ObjectRef) -> Iterator[bytes]:
        """The plain content, from the member it lies in, or of a retention copy."""
        return self._stream_copy(ref) if ref.kind == "copy" else super().stream(ref)

    def read_range(self, ref: ObjectRef, start: int, stop: int, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """A range of the plain content."""
        if ref.kind != "copy":
            return super().read_range(ref, start, stop, limit=limit)
        if not 0 <= start <= stop:
            raise UsageError(f"not a half-open range: {start}..{stop}")
        with self._open_copy(ref) as source:
            last = min(stop, source.size)
            if last - start > limit:
                raise LimitExceeded(f"a range of {last - start} bytes; the limit is {limit}")
            return source.read(start, last) if last > start else b""

    @property
    def fields(self) -> dict[str, Value]:
        """Members, and the number of bits once it is known."""
        known = self.__dict__.get("n_bits")
        return super().fields | ({"dataset.n_bits": known} if known is not None else {})

    @property
    def tree(self) -> Node:
        """One node for each member, and one for each retention copy."""
        root = super().tree
        kids = tuple(
            Node(
                c.name,
                Span(c.name, 0, c.size),
                text=f"{c.size} bytes",
                role=FieldRole.DATA,
                doc="A copy that is kept longer.",
            )
            for c in self.retention.copies
        )
        if not kids:
            return root
        copies = Node(RETENTION, Span("", 0, 0), text=f"{len(kids)} copies", children=kids)
        return Node(root.name, root.span, children=(*root.children, copies))

    def bytes_of(self, name: str) -> Source:
        """A member, a source of a member, a BigFile, a sidecar, or a retention copy."""
        if not self._lies_beside(name):
            return super().bytes_of(name)
        if name.startswith(f"{RETENTION}/") and self.retention.root is not None:
            return self.retention.root.open(name)
        return self.folder.open(name)

    def tree_of(self, name: str) -> Node:
        """The tree of the data set, of a member, or of what lies beside."""
        if not self._lies_beside(name):
            return super().tree_of(name)
        with self.bytes_of(name) as source:
            span = Span(name, 0, source.size)
        return Node(name, span, children=(Node("content", span, role=FieldRole.DATA, doc="The whole file."),))

    def sections_of(self, name: str) -> tuple[Section, ...]:
        """The sections of a member or of a source of one; what lies beside is one section."""
        if not self._lies_beside(name):
            return super().sections_of(name)
        with self.bytes_of(name) as source:
            return (Section("content", SectionRole.DATA, 0, source.size, "The whole file."),)

    def explain(self, offset: int, source: str = "") -> tuple[Node, ...]:
        """The path to a byte of a member, or of what lies beside."""
        return Shard.explain(self, offset, source) if self._lies_beside(source) else super().explain(offset, source)

    def runs(self, start: int, stop: int, source: str = "") -> Runs:
        """What owns bytes of a member, or of what lies beside."""
        lies_beside = self._lies_beside(source)
        return Shard.runs(self, start, stop, source) if lies_beside else super().runs(start, stop, source)

    def _lies_beside(self, name: str) -> bool:
        """Whether a name is that of a BigFile, a retention copy or a sidecar of a member."""
        prefix, _, rest = name.partition("/")
        if prefix == BIGFILES:
            return is_hash(rest.encode("utf-8", "replace"))
        if prefix == RETENTION:
            return self.retention.named(name) is not None
        return name.endswith(SUFFIX) and name.removesuffix(SUFFIX) + ".des" in self._by_name

    def _open_copy(self, ref: ObjectRef) -> Source:
        name = ref.spans[0].source
        if self.retention.root is None or self.retention.named(name) is None:
            raise UsageError(f"no copy is called {name!r}")
        try:
            return self.retention.root.open(name)
        except SourceError as error:
            raise ExternalMissing(f"{name} cannot be opened: {error.message}") from error

    def _stream_copy(self, ref: ObjectRef) -> Iterator[bytes]:
        with self._open_copy(ref) as source:
            yield from read_chunks(source, 0, source.size)


def _copy_ref(copy: Copy) -> ObjectRef:
    return ObjectRef(
        copy.uid,
        -1,
        (Span(copy.name, 0, copy.size),),
        copy.size,
        copy.size,
        state=State.EXTERNAL,
        kind="copy",
        extras={"created_at": copy.created_at},
    )


def _is_shard(name: str) -> bool:
    return name.endswith(".des")


def _shard_names(folder: Folder) -> list[str]:
    return [entry.name for entry in folder.list() if _is_shard(entry.name) and not entry.is_folder]
