"""Opening DES files; shards of all zones as one data set (des-architecture, Backends and routing)."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from shardcore.dataclasses import replace
from shardcore.errors import (
    FormatError,
    NotAShard,
    SourceError,
    StoreUntrusted,
    raise_unless_absent,
    source_lost,
)
from shardcore.formats.des import shard
from shardcore.formats.des.detection import is_zones, looks_like_zones
from shardcore.formats.des.folder import DesDataSet, Retention, zones_files
from shardcore.formats.des.layout import SUFFIX
from shardcore.formats.des.lookup import Copy
from shardcore.formats.des.routing import MAX_ZONES, Route, ShardName, Uid, Zone, Zones
from shardcore.formats.des.sidecar import shard_of_sidecar
from shardcore.model.finding import Depth, Findings, Report
from shardcore.model.record import Value
from shardcore.model.span import SourceName, Span
from shardcore.model.text import plural
from shardcore.progress import Progress
from shardcore.shards.cache import OnceEach
from shardcore.shards.dataset import Member, Members, members_in, some_members
from shardcore.shards.format import Certainty, Verdict
from shardcore.shards.open_context import OpenContext
from shardcore.sources.base import Entry, Folder, Source, on_failure
from shardcore.sources.local import FileSource, LocalFolder
from shardcore.sources.prefetched_source import PrefetchedSource
from shardcore.system import is_link


class ZonesFolder(Folder):
    """The folders of all zones as one folder; names begin with the label of the zone."""

    def __init__(
        self,
        source: Source,
        zones: Zones,
        context: OpenContext,
        around: Folder | None = None,
        *,
        trusted: bool = False,
    ) -> None:
        self.name, self.uri = source.name, source.uri
        self.zones, self.n_bits = zones.labels, zones.n_bits
        self._source, self._around = source, around
        self._folders: dict[str, Folder] = {}
        refused: list[StoreUntrusted] = []
        with on_failure(source.close):
            for label, zone in self.zones.items():
                try:
                    self._folders[label] = _folder_of(zone, source, context, trusted=trusted)
                except StoreUntrusted as error:
                    refused.append(error)
            if refused:
                # One error names all untrusted stores.
                stores = dict.fromkeys(store for error in refused for store in error.stores)
                raise StoreUntrusted(file=self.name, stores=tuple(stores), who=max(error.who for error in refused))
        self.lists_cheaply = all(folder.lists_cheaply for folder in self._folders.values())

    def label_of(self, number: int) -> str | None:
        return next((label for label, zone in self.zones.items() if zone.holds(number)), None)

    def of_zone(self, label: str) -> Folder:
        if label not in self._folders:
            raise SourceError(f"{self.uri} has no zone named {label!r}")
        return self._folders[label]

    def locate(self, name: str) -> tuple[Folder, str]:
        """Return the folder of a file, and its name in it; a name without a zone is searched in all zones."""
        label, _, rest = name.partition("/")
        if rest and label in self._folders:
            return self._folders[label], rest
        # BigFiles are named by their hash, so the file of any zone can be used.
        for folder in self._folders.values():
            if folder.has(name):
                return folder, name
        raise SourceError(f"no zone of {self.uri} contains {name}")

    def list(self, prefix: str = "") -> builtins.list[Entry]:
        if not prefix:
            return [Entry(label, -1, True) for label in sorted(self.zones)]
        label, _, rest = prefix.partition("/")
        return [replace(entry, name=f"{label}/{entry.name}") for entry in self.of_zone(label).list(rest)]

    def open(self, name: str) -> Source:
        folder, rest = self.locate(name)
        return folder.open(rest)

    def open_on_demand(self, name: str) -> Source:
        folder, rest = self.locate(name)
        return folder.open_on_demand(rest)

    def open_at(self, name: str, start: int, stop: int) -> Source:
        folder, rest = self.locate(name)
        return folder.open_at(rest, start, stop)

    def folder(self, name: str) -> Folder:
        label, _, rest = name.partition("/")
        found = self.of_zone(label)
        return found.folder(rest) if rest else found

    def parent(self) -> Folder | None:
        return None

    def close(self) -> None:
        for folder in self._folders.values():
            folder.close()
        self._source.close()
        if self._around is not None:
            self._around.close()


def _folder_of(zone: Zone, source: Source, context: OpenContext, *, trusted: bool) -> Folder:
    place = dict(zone.s3)
    if place.get("bucket"):
        if any(letter in place["bucket"] for letter in "/@?#:"):
            raise FormatError(f"zones: {place['bucket']!r} is not a valid bucket name")
        endpoint, region = place.get("endpoint_url"), place.get("region_name")
        return context.reach(zone.uri, endpoint_url=endpoint, region=region, trusted=trusted)
    if not zone.path:
        raise FormatError(f"zones: {zone.name!r} has neither a bucket nor a folder")
    beside = source.folder
    if isinstance(beside, LocalFolder):
        inside = Path(zone.path)
        way = [beside.path.joinpath(*inside.parts[: count + 1]) for count in range(len(inside.parts))]
        if trusted or not (inside.is_absolute() or ".." in inside.parts or any(map(is_link, way))):
            return LocalFolder(beside.path / zone.path)
        return context.reach(str(beside.path / zone.path))
    if beside is None or Path(zone.path).is_absolute():
        raise SourceError(f"refused to open {zone.path}: only a local zones file may refer to local folders")
    return beside.folder(zone.path.rstrip("/"))


class ZonedRetention(Retention):
    """Retention copies in the buckets of all zones; a uid is searched only in the zone of its shard number."""

    def __init__(self, folder: ZonesFolder) -> None:
        super().__init__(folder)
        self._where = folder
        self._each: OnceEach[str, Retention] = OnceEach()

    def _of_zone(self, label: str) -> Retention:
        folder = self._where.of_zone(label)
        return self._each.get(label, lambda: Retention(folder, at_root=not folder.lists_cheaply))

    @property
    def days(self) -> bool:
        return any(self._of_zone(label).days for label in self._where.zones)

    @property
    def all(self) -> tuple[Copy, ...]:
        return tuple(_labelled(copy, label) for label in sorted(self._where.zones) for copy in self._of_zone(label).all)

    def of(self, uid: str) -> tuple[Copy, ...]:
        label = self._where.label_of(Route.of(uid, self._where.n_bits).number)
        return () if label is None else tuple(_labelled(copy, label) for copy in self._of_zone(label).of(uid))

    def open(self, name: str, *, on_demand: bool = False) -> Source | None:
        label, _, rest = name.partition("/")
        return self._of_zone(label).open(rest, on_demand=on_demand) if label in self._where.zones else None


def _labelled(copy: Copy, label: str) -> Copy:
    return replace(copy, name=f"{label}/{copy.name}")


class DesZones(DesDataSet):
    """Shards of all zones; a uid is searched only in the zone of its shard number."""

    knows_sidecars = False

    def __init__(self, folder: ZonesFolder, zones: Zones, context: OpenContext) -> None:
        super().__init__(folder, self._list_all, context)
        self._where = folder
        self._zones.put(zones)
        self.version = "zones"
        self.retention = ZonedRetention(folder)
        self._in_zone: OnceEach[str, tuple[Member, ...]] = OnceEach()
        self._by_zone: OnceEach[str, dict[str, list[str]]] = OnceEach()

    def _list_all(self) -> Sequence[Member]:
        from shardcore.model.parallel import in_order

        with closing(in_order(self._members_in, sorted(self._where.zones), self.jobs)) as found:
            return [member for members in found for member in members]

    def _members_in(self, label: str) -> tuple[Member, ...]:
        def ask() -> tuple[Member, ...]:
            try:
                found = members_in(self._where.of_zone(label), SUFFIX)
                members = found() if callable(found) else found
                return tuple(replace(member, name=f"{label}/{member.name}") for member in members)
            except SourceError as error:
                # A prefix without objects does not exist.
                raise_unless_absent(error)
                return ()

        return self._in_zone.get(label, ask)

    @property
    def fields(self) -> dict[str, Value]:
        fields: dict[str, Value] = {"zones.n_bits": self._where.n_bits}
        for label, zone in self._where.zones.items():
            shards = plural(len(self._members_in(label)), "shard")
            fields[f"zones.{label}"] = f"{zone.start}..{zone.end} in {self._where.of_zone(label).uri}, {shards}"
        return fields | {"dataset.members": len(self.members)}

    def may_hold(self, name: str) -> bool:
        label, _, rest = name.partition("/")
        return label in self._where.zones and rest.endswith(SUFFIX)

    def folder_of_member(self, name: str) -> tuple[Folder, str]:
        return self._where.locate(name)

    def candidates(self, key: Uid) -> tuple[Route | None, Sequence[str]]:
        route = key.route(self._where.n_bits)
        if (label := self._where.label_of(route.number)) is None:
            return route, []
        if self.date and not self.listed and not self._where.of_zone(label).lists_cheaply:
            return route, self.existing_parts(route, f"{label}/")
        by_hex = self._by_zone.get(label, lambda: self.grouped(self._members_in(label)))
        return route, [*by_hex.get(route.hex, []), *by_hex.get("", [])]

    def _verify(self, depth: Depth, progress: Progress) -> Report:
        report, findings = super()._verify(depth, progress), Findings()
        for member in self.members:
            label, _, rest = member.name.partition("/")
            parsed, zone = ShardName.parse(rest), self._where.zones[label]
            if parsed is not None and not zone.holds(parsed.number):
                message = f"{member.name} has shard number {parsed.number}; its zone has {zone.start} to {zone.end}"
                findings.error("des.other-zone", Span(str(SourceName(member.name)), 0, member.size), message)
        return replace(report, findings=(*report.findings, *findings.all()))

    def path_beside(self, path: str) -> str:
        found, wanted = super().path_beside(path), shard_of_sidecar(path)
        if found or not wanted or "/" in path:
            return found
        label = next((m.name.partition("/")[0] for m in self.members if m.name.partition("/")[2] == wanted), "")
        return f"{label}/{path}" if label else ""


# --- detection and opening ------------------------------------------------------------------------------------------


def open_shard(probe: PrefetchedSource, context: OpenContext) -> shard.DesShard | DesZones:
    return open_zones(probe, context) if is_zones(probe) else shard.open_shard(probe, context)


def open_zones(source: Source, context: OpenContext, around: Folder | None = None) -> DesZones:
    """Open the shards of a zones file as a data set. Option `zones` names another file to use; its stores are trusted.

    No zone is accessed yet. `around`, the folder that contains the file, is closed with the data set.
    """
    given = context.values.get("zones")
    if given:
        source.close()
        source = FileSource(given, follow_links=False)
    zones = Zones.parse(source.read_first(MAX_ZONES + 1))
    folder = ZonesFolder(getattr(source, "base", source), zones, context, around, trusted=bool(given))
    return DesZones(folder, zones, context)


def detect_folder(folder: Folder) -> Verdict | None:
    """Detect a folder by file names as packers write them, else by `*.des`, or else by a zones file."""
    found, count = some_members(folder, SUFFIX)
    if packed := sum(ShardName.parse(member.name) is not None for member in found):
        count = count if packed == len(found) else plural(packed, "file")
        return Verdict(Certainty.BESIDE, f"{count} named <date>_<hex>_<part>.des")
    if found:
        return Verdict(Certainty.INFERRED, f"{count} named *.des")
    name = _zones_in(folder)
    return Verdict(Certainty.BESIDE, f"zones file {name}, no shards") if name is not None else None


def open_folder(folder: Folder, context: OpenContext) -> DesDataSet:
    """Open a folder as a data set: its shards, which are opened when needed, or else the zones file in it."""
    members, computed = _members(folder, context)
    if members:
        found = DesDataSet(folder, members, context)
        found.computed = computed
        if folder.lists_cheaply:
            _ = found.retention.days
        return found
    if (name := _zones_in(folder)) is None:
        raise NotAShard(f"{folder.uri}: no *{SUFFIX} files")
    return open_zones(folder.open(name), context, folder)


def _members(folder: Folder, context: OpenContext) -> tuple[Members, bool]:
    """Return the shards of a folder, and True if it cannot be listed but date and n_bits give the file names."""
    try:
        return members_in(folder, SUFFIX), False
    except SourceError as error:
        if source_lost(error) or not all(context.values.get(name) for name in ("date", "n_bits")):
            raise
        refused = error

    def listed() -> Iterator[Member]:
        raise refused

    return listed, True


def _zones_in(folder: Folder) -> str | None:
    return next((name for name, text in zones_files(folder) if looks_like_zones(text)), None)
