"""The shards of all zones of a zones file as one data set (des-architecture, Backends and routing: Multi-S3)."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from shardcore.errors import FormatError, SourceError, StoreUntrusted, says_absent
from shardcore.formats.des.folder import DesDataSet
from shardcore.formats.des.layout import BIGFILES, SUFFIX, is_hash
from shardcore.formats.des.retention import Copy, Retention
from shardcore.formats.des.routing import Route, ShardName, Uid
from shardcore.formats.des.sidecar import shard_of_sidecar
from shardcore.formats.des.zones_file import MAX_TEXT, Zone, Zones
from shardcore.model.finding import Depth, Findings, Report
from shardcore.model.number_text import plural
from shardcore.model.parallel import in_order
from shardcore.model.record import Value
from shardcore.model.source_name import SourceName
from shardcore.model.span import Span
from shardcore.progress import Progress
from shardcore.shards.cache import OnceEach
from shardcore.shards.dataset import Member, members_in
from shardcore.shards.open_context import OpenContext
from shardcore.shards.shard import SourcePart
from shardcore.sources.base import Entry, Folder, Source
from shardcore.sources.local import FileSource, LocalFolder
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
        self.zones = zones.labels
        self._source, self._around = source, around
        try:
            self._folders = self._opened(context, trusted=trusted)
        except BaseException:
            source.close()
            raise
        self.lists_cheaply = all(folder.lists_cheaply for folder in self._folders.values())

    def _opened(self, context: OpenContext, *, trusted: bool) -> dict[str, Folder]:
        """Open the folders of all zones; one error names all untrusted stores."""
        found: dict[str, Folder] = {}
        refused: list[StoreUntrusted] = []
        for label, zone in self.zones.items():
            try:
                found[label] = _folder_of(zone, self._source, context, trusted=trusted)
            except StoreUntrusted as error:
                refused.append(error)
        if refused:
            stores = dict.fromkeys(store for error in refused for store in error.stores)
            raise StoreUntrusted(file=self.name, stores=tuple(stores), who=max(error.who for error in refused))
        return found

    def of_zone(self, label: str) -> Folder:
        return self._folders[label]

    def list(self, prefix: str = "") -> builtins.list[Entry]:
        if not prefix:
            return [Entry(label, -1, True) for label in sorted(self.zones)]
        label, _, rest = prefix.partition("/")
        return [replace(entry, name=f"{label}/{entry.name}") for entry in self._zone_folder(label).list(rest)]

    def open(self, name: str) -> Source:
        """Open a file of a zone; a name without a zone is searched in all zones."""
        folder, rest = self._place(name)
        return folder.open(rest)

    def open_on_demand(self, name: str) -> Source:
        folder, rest = self._place(name)
        return folder.open_on_demand(rest)

    def open_at(self, name: str, start: int, stop: int) -> Source:
        folder, rest = self._place(name)
        return folder.open_at(rest, start, stop)

    def folder(self, name: str) -> Folder:
        label, _, rest = name.partition("/")
        found = self._zone_folder(label)
        return found.folder(rest) if rest else found

    def parent(self) -> Folder | None:
        return None

    def close(self) -> None:
        for folder in self._folders.values():
            folder.close()
        self._source.close()
        if self._around is not None:
            self._around.close()

    def _zone_folder(self, label: str) -> Folder:
        if label not in self._folders:
            raise SourceError(f"{self.uri} has no zone named {label!r}")
        return self._folders[label]

    def _place(self, name: str) -> tuple[Folder, str]:
        label, _, rest = name.partition("/")
        if rest and label in self._folders:
            return self._folders[label], rest
        # BigFiles are named by their hash, so the file of any zone can be used.
        for folder in self._folders.values():
            if folder.has(name):
                return folder, name
        raise SourceError(f"no zone of {self.uri} contains {name}")


class ZonedRetention:
    """Retention copies in the buckets of several zones. A uid is searched only in the zone of its shard number."""

    def __init__(self, folder: ZonesFolder, zones: Zones) -> None:
        self._folder = folder
        self._zones = zones
        self._labels = {id(zone): label for label, zone in folder.zones.items()}
        self._each: OnceEach[str, Retention] = OnceEach()

    @property
    def days(self) -> bool:
        return any(self._of_zone(label).days for label in self._folder.zones)

    @property
    def all(self) -> tuple[Copy, ...]:
        return tuple(_in_zone(copy, label) for label in sorted(self._folder.zones) for copy in self._of_zone(label).all)

    def of(self, uid: str) -> tuple[Copy, ...]:
        zone = self._zones.zone_of(Route.of(uid, self._zones.n_bits).number)
        if zone is None:
            return ()
        label = self._labels[id(zone)]
        return tuple(_in_zone(copy, label) for copy in self._of_zone(label).of(uid))

    def open(self, name: str, *, on_demand: bool = False) -> Source | None:
        label, _, rest = name.partition("/")
        return self._of_zone(label).open(rest, on_demand=on_demand) if label in self._folder.zones else None

    def _of_zone(self, label: str) -> Retention:
        folder = self._folder.of_zone(label)
        return self._each.get(label, lambda: Retention(folder, at_root=not folder.lists_cheaply))


class DesZones(DesDataSet):
    """Shards of all zones; a uid is searched only in the zone of its shard number."""

    def __init__(self, folder: ZonesFolder, zones: Zones, context: OpenContext) -> None:
        super().__init__(folder, self._list_all, context)
        self._where = folder
        self._zones.put(zones)
        self._file = zones
        self.version = "zones"
        self.retention = ZonedRetention(folder, zones)
        self._in_zone: OnceEach[str, tuple[Member, ...]] = OnceEach()

    @property
    def fields(self) -> dict[str, Value]:
        fields: dict[str, Value] = {"zones.n_bits": self._file.n_bits}
        for label, zone in self._where.zones.items():
            shards = plural(len(self._members_in(label)), "shard")
            fields[f"zones.{label}"] = f"{zone.start}..{zone.end} in {self._where.of_zone(label).uri}, {shards}"
        return fields | {"dataset.members": len(self.members)}

    _sidecars = None

    def may_hold(self, name: str) -> bool:
        label, _, rest = name.partition("/")
        return label in self._where.zones and rest.endswith(SUFFIX)

    def _verify(self, depth: Depth, progress: Progress) -> Report:
        report = super()._verify(depth, progress)
        findings = Findings()
        for finding in report.findings:
            findings.add(finding)
        for member in self.members:
            label, _, rest = member.name.partition("/")
            parsed = ShardName.parse(rest)
            zone = self._where.zones[label]
            if parsed is not None and not zone.start <= parsed.number <= zone.end:
                message = f"{member.name} has shard number {parsed.number}; its zone has {zone.start} to {zone.end}"
                findings.error("des.other-zone", Span(str(SourceName(member.name)), 0, member.size), message)
        return replace(report, findings=findings.all())

    def candidates(self, key: Uid) -> tuple[Route | None, Sequence[str]]:
        route = key.route(self._file.n_bits)
        zone = self._file.zone_of(route.number)
        label = next((label for label, one in self._where.zones.items() if one is zone), "")
        if zone is None:
            return route, []
        if self.date and not self.listed and not self._where.of_zone(label).lists_cheaply:
            return route, self._existing_parts(route, f"{label}/")
        members = self._members_in(label)
        named = [(ShardName.parse(member.name.partition("/")[2]), member.name) for member in members]
        found = [name for parsed, name in named if parsed and parsed.hex == route.hex and self.on_date(parsed)]
        return route, [*found, *(name for parsed, name in named if parsed is None)]

    def _members_in(self, label: str) -> tuple[Member, ...]:
        folder = self._where.of_zone(label)

        def ask() -> tuple[Member, ...]:
            try:
                found = members_in(folder, SUFFIX)
                members = found() if callable(found) else found
                return tuple(replace(member, name=f"{label}/{member.name}") for member in members)
            except SourceError as error:
                # A prefix without objects does not exist.
                if not says_absent(error):
                    raise
                return ()

        return self._in_zone.get(label, ask)

    def folder_of_member(self, name: str) -> tuple[Folder, str]:
        label, _, rest = name.partition("/")
        return self._where.of_zone(label), rest

    def _list_all(self) -> Sequence[Member]:
        with closing(in_order(self._members_in, sorted(self._where.zones), self.jobs)) as found:
            return [member for members in found for member in members]

    def _part(self, name: SourceName) -> SourcePart:
        if name.stretches or ("/" in name.path and not name.path.startswith(f"{BIGFILES}/")):
            return super()._part(name)
        folder, _, digest = name.path.rpartition("/")
        wanted = shard_of_sidecar(name.path)
        label = next((m.name.partition("/")[0] for m in self.members if m.name.partition("/")[2] == wanted), "")
        if (label and wanted) or (folder == BIGFILES and is_hash(digest.encode("utf-8", "replace"))):
            return self.beside(f"{label}/{name.path}" if label else name.path, name)
        return super()._part(name)


def open_zones(source: Source, context: OpenContext, around: Folder | None = None) -> DesZones:
    """Open a zones file as the shards of its zones; no zone is accessed yet.

    Args:
        source: The file; the option `zones` names another file, whose stores are trusted.
        context: Options for opening addresses.
        around: The opened folder that contains the file; closed with the shards.
    """
    given = context.values.get("zones")
    if given:
        source.close()
        source = FileSource(given, follow_links=False)
    zones = Zones.parse(source.read_first(MAX_TEXT + 1))
    folder = ZonesFolder(getattr(source, "base", source), zones, context, around, trusted=bool(given))
    return DesZones(folder, zones, context)


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


def _in_zone(copy: Copy, label: str) -> Copy:
    return replace(copy, name=f"{label}/{copy.name}")
