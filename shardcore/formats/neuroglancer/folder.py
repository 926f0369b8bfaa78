"""Folders of a data set: one key space, or several in subfolders of the folder of an info."""

from __future__ import annotations

from collections.abc import Container, Sequence
from contextlib import closing
from contextvars import ContextVar
from functools import cached_property, partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass, replace
from shardcore.errors import (
    Forbidden,
    FormatError,
    NoSuchObject,
    NotAShard,
    Remedy,
    RemoteError,
    ShardError,
    SourceError,
    SpaceUnchosen,
    StoreUntrusted,
    UsageError,
    raise_if_lost,
    raise_unless_absent,
)
from shardcore.formats.neuroglancer.file import NeuroglancerFile
from shardcore.formats.neuroglancer.info import BESIDE, KeySpace
from shardcore.formats.neuroglancer.lookup import KeyRouted, ShardMissing
from shardcore.formats.neuroglancer.objects import NeuroglancerObjects
from shardcore.formats.neuroglancer.origin import (
    INFO_NAME,
    FoundInfo,
    Origin,
    choices_text,
    find_info,
    given_origin,
    info_in,
    reasons_text,
    useless_info,
)
from shardcore.formats.neuroglancer.shard import (
    KeySpaceFolder,
    NeuroglancerShard,
    OriginDetails,
    VolumeFolder,
    folder_of_key,
    open_member,
    root_of,
)
from shardcore.formats.neuroglancer.sharding import KeyLocation, parse_key, shard_number
from shardcore.formats.neuroglancer.tree import info_part, spec_node
from shardcore.model.chunk_grid import ChunkGrid
from shardcore.model.computed_children import Deferred
from shardcore.model.finding import Depth, Finding, Report, Severity
from shardcore.model.keys import NUMBERS
from shardcore.model.node import Node
from shardcore.model.objects import NoObjects, Objects
from shardcore.model.record import Value
from shardcore.model.span import SourceName, Span
from shardcore.model.text import plural, visible
from shardcore.progress import Progress, context_value
from shardcore.shards.dataset import DataSet, Member
from shardcore.shards.format import Certainty, Verdict
from shardcore.shards.open_context import OpenContext
from shardcore.shards.shard import Shard, SourcePart
from shardcore.shards.trace import LookupRecorder
from shardcore.sources.base import Folder, Source

MOST_TRIED = 1024
"""Maximum number of shards whose names are tried in a folder that cannot be listed."""
MOST_UNASKED = 64
"""Maximum number of possible shard names that are tried even if the user did not request a list of shards."""
NOT_LISTED = "the folder cannot be listed; shards are opened by key"

_wanted: ContextVar[int | None] = ContextVar("wanted minishard", default=None)
"""Number of the minishard to read next, set only while a shard is opened to look up a key."""


# --- key spaces -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FolderSpace:
    space: KeySpace
    folder: str
    found: FoundInfo

    @property
    def origin(self) -> Origin:
        return self.found.origin(self.space)


@dataclass(frozen=True, slots=True)
class FolderSpaces:
    """The usable key spaces in a folder and its subfolders; `others` has one sentence per unusable one."""

    spaces: tuple[FolderSpace, ...]
    others: tuple[str, ...]

    def unchosen(self, folder: Folder) -> UsageError:
        text = choices_text(folder.uri, [(each.folder, each.space.title) for each in self.spaces], self.others)
        address = f"{folder.uri.rstrip('/')}/{self.spaces[0].folder}" if self.spaces else ""
        return SpaceUnchosen(text, address=address)


def spaces_below(folder: Folder, found: FoundInfo) -> FolderSpaces:
    """Return the key spaces of an info, and of the mesh and skeleton folders in it (one request each)."""
    spaces = [FolderSpace(space, space.folder, found) for space in found.info.key_spaces]
    others = list(found.info.others)
    for name in found.info.folders:
        reasons: Sequence[str] = ("no info",)
        try:
            if (beside := info_in(folder.folder(name))) is not None:
                below = beside.info.key_spaces
                spaces += [FolderSpace(space, f"{name}/{space.folder}".rstrip("/"), beside) for space in below]
                reasons = beside.info.others
        except (FormatError, SourceError) as error:
            raise_if_lost(error)
            reasons = (error.message,)
        others += [f"{name}: {reason}" for reason in reasons]
    return FolderSpaces(tuple(spaces), tuple(others))


# --- shards of one key space ------------------------------------------------------------------------------------


class NeuroglancerDataSet(OriginDetails, KeySpaceFolder):
    """All shards of one key space; `root` is the folder of the info if the shards are not below it.

    If listing the folder is expensive, shards are opened by computed names, and the folder is listed only on demand.
    """

    key_form = NUMBERS

    def __init__(self, folder: Folder, origin: Origin, root: Folder | None = None) -> None:
        listed = _members(folder, origin) if folder.lists_cheaply else lambda: _members(folder, origin, self.jobs)
        super().__init__(folder, origin, listed, open_space, root)

    @property
    def lists_unasked(self) -> bool:
        """True if listing is cheap: the folder can be listed, or there are few possible shard names to request."""
        return self.folder.listable or self.origin.spec.shards <= MOST_UNASKED

    def own_grid(self) -> ChunkGrid:
        from shardcore.formats.neuroglancer.chunks import ShardedGrid

        return ShardedGrid(self, self.space, self.origin.text, self._member_of)

    def _member_of(self, number: int, minishard: int) -> tuple[str, NeuroglancerFile, NeuroglancerObjects] | None:
        name = self._names.get(number) if self.listed else self._open_by_name(number, minishard)
        if name is None:
            return None
        member = cast(NeuroglancerShard, self.member(name))
        return name, member.file, member.objects

    @property
    def unrouted_files(self) -> tuple[str, ...]:
        """Names of shard files that readers never open, because no key belongs in a shard of that name."""
        if not self.folder.listable:
            return ()
        entries = {entry.name: None for entry in self.folder.list() if not entry.is_folder}
        return tuple(name for name in entries if _is_shard(name, entries) and not self.may_hold(name))

    @cached_property
    def _names(self) -> dict[int, str]:
        return {number[0]: m.name for m in self.members if (number := shard_number(m.name)) is not None}

    def may_hold(self, name: str) -> bool:
        return self.origin.spec.shard_of(name) is not None

    def open_member(self, name: str, source: Source) -> NeuroglancerShard:
        return open_member(name, source, self.origin, _wanted.get())

    @property
    def fields(self) -> dict[str, Value]:
        # The number of shards is unknown if the folder cannot be listed.
        return self.origin.fields | (super().fields if self.lists else {})

    @property
    def ticket_options(self) -> dict[str, Any]:
        """Options for opening the data set again; they contain the info, so that it is not requested again."""
        # An info of meshes, skeletons or annotations also defines the keys; that of a volume has a spec per scale.
        alone = self.origin.space.scale is not None or not self.origin.text
        return {"spec": self.origin.written_with if alone else self.origin.text.decode("utf-8-sig")}

    def _tree(self) -> Node:
        if not self.lists:
            return Node(self.uri, Span("", 0, 0), children=(spec_node(self.origin),), error=NOT_LISTED)
        root = super()._tree()
        return replace(root, children=(spec_node(self.origin), *root.children))

    def parse_key(self, text: str) -> KeyLocation:
        return self.origin.spec.place(parse_key(text), routed=True)

    def route(self, key: KeyLocation, recorder: LookupRecorder) -> Sequence[str]:
        """Return the name of the only shard that may have the key; an empty sequence if this file does not exist."""
        recorder.record(KeyRouted(key, self.origin), self.format)
        name = self._names.get(key.shard) if self.listed else self._open_by_name(key.shard, key.minishard)
        if name is None:
            recorder.record(ShardMissing(key, self.origin, self.file_numbers), self.format)
            return ()
        return (name,)

    @property
    def file_numbers(self) -> tuple[int, ...]:
        """Numbers of the existing shards, ascending; empty before the folder is listed."""
        return tuple(sorted(self._names)) if self.listed else ()

    def file_of(self, name: str) -> NeuroglancerFile:
        return cast(NeuroglancerShard, self.member(name)).file

    def _open_by_name(self, number: int, minishard: int) -> str | None:
        """Open a shard by its computed name (or that of its split form); return the name, or None if neither exists."""
        name = self.origin.spec.shard_name(number)
        for candidate in (name, f"{name.rpartition('.')[0]}.index"):
            try:
                with context_value(_wanted, minishard):
                    self.member(candidate)
            except (NoSuchObject, Forbidden):
                continue
            except ShardError:
                pass  # it exists; reading it reports the error
            return candidate
        return None

    def _find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        wanted = np.array([parse_key(key) for key in keys], np.uint64)
        self.load_index()
        _, shards = self.origin.spec.place_many(wanted)
        rows = np.full(len(wanted), -1, np.int64)
        for shard in np.unique(shards).tolist():
            name = self._names.get(shard)
            first = self.first_row_of(name) if name is not None else None
            if name is None or first is None:
                continue
            places = np.flatnonzero(shards == np.uint64(shard))
            found = cast(NeuroglancerShard, self.member(name)).lookup_many(wanted[places])
            rows[places] = np.where(found >= 0, found + first, -1)
        return rows

    def _verify(self, depth: Depth, progress: Progress) -> Report:
        report = super()._verify(depth, progress)
        spec = self.origin.spec
        text = f"no key is routed here; shards are named {spec.shard_name(0)} to {spec.shard_name(spec.shards - 1)}"
        more = tuple(
            Finding(Severity.WARNING, "neuroglancer.file-name", None, f"{name}: {text}") for name in self.unrouted_files
        )
        return replace(report, findings=(*report.findings, *more))

    def _part(self, name: SourceName) -> SourcePart:
        if name == SourceName(INFO_NAME) and self.origin.text:
            return info_part(self.origin)
        return super()._part(name)


# --- several key spaces -----------------------------------------------------------------------------------------


class NeuroglancerKeySpaces(VolumeFolder):
    """A folder with several key spaces, shown as a tree; lookups and verification require choosing one."""

    key_form = NUMBERS
    joins = False

    def __init__(self, folder: Folder, spaces: FolderSpaces, info: FoundInfo) -> None:
        super().__init__(folder, (), open_space)
        self.spaces = spaces.spaces
        self.title = f"Neuroglancer {self.spaces[0].space.content}"
        self._info = info
        self._unchosen, self._unusable = spaces.unchosen, spaces.others

    @property
    def key_spaces(self) -> dict[str, str]:
        """Title of each key space by its relative folder, such as `scale 4_4_40` by `4_4_40`."""
        return {each.folder or ".": each.space.title for each in self.spaces}

    def chunk_grid(self, scale: str = "") -> ChunkGrid | None:
        scales = self._info.info.scales
        if not scales or self._info.folder:
            return None
        return self.scale_grid(scale or scales[0].name, self.folder, self._info.text)

    @property
    def fields(self) -> dict[str, Value]:
        named: dict[str, Value] = {f"key_spaces.{folder}": name for folder, name in self.key_spaces.items()}
        named |= {"dataset.unusable": reasons_text(self._unusable)} if self._unusable else {}
        return named | {"dataset.key_spaces": len(self.spaces)}

    def _tree(self) -> Node:
        # Specifications are nodes created on access, because there may be ten thousand key spaces.
        kids = tuple(
            Node(
                each.folder or ".",
                Span("", 0, 0),
                text=each.space.title,
                doc=each.space.details,
                children=Deferred(partial(_spec_of, each)),
            )
            for each in self.spaces
        )
        return Node(self.uri, Span("", 0, 0), children=kids)

    @property
    def loaded(self) -> bool:
        return True

    @property
    def objects(self) -> Objects:
        return NoObjects(self._unchosen(self.folder))

    @property
    def declared_objects(self) -> int | None:
        return None

    def _load_index(self, progress: Progress) -> None:
        """Do nothing: there is no index before a key space is chosen."""

    def open_member(self, name: str, source: Source) -> Shard:
        raise self._unchosen(self.folder)

    def route(self, key: object, recorder: LookupRecorder) -> Sequence[str]:
        raise self._unchosen(self.folder)

    def _verify(self, depth: Depth, progress: Progress) -> Report:
        raise self._unchosen(self.folder)


def open_space(folder: Folder, origin: Origin, root: Folder | None = None) -> DataSet:
    """Open a key space, sharded or not; `root` is the folder of the info if `folder` is not below it."""
    if origin.space.sharded:
        return NeuroglancerDataSet(folder, origin, root)
    from shardcore.formats.neuroglancer.object_files import ObjectFiles

    return ObjectFiles(folder, origin, open_space, root)


def _spec_of(each: FolderSpace) -> tuple[Node, ...]:
    return (spec_node(each.origin),) if each.space.sharded else ()


# --- detection and opening --------------------------------------------------------------------------------------


def detect_folder(folder: Folder) -> Verdict | None:
    found = find_info(folder, any_space=True)
    if found is None:
        reasons = reasons_text(useless_info(folder)) or "no `info`"
        return Verdict(Certainty.PARTLY, f"shards, but {reasons}") if _has_shards(folder) else None
    what = found.space.name if found.space is not None else found.info.kind
    return Verdict(Certainty.BESIDE, f"{found.where}, {what}")


def open_folder(folder: Folder, context: OpenContext) -> DataSet:
    """Open the key space whose shards are in a folder, or the only key space in its subfolders.

    Raises:
        UsageError: There are several key spaces (listed in the message), or none is usable.
        NotAShard: There is no info.
    """
    if context.values.get("spec") is not None:
        return NeuroglancerDataSet(folder, given_origin(context.values.get("spec"), folder.name))
    found = find_info(folder, any_space=True)
    if found is None:
        raise NotAShard(f"{folder.uri}: no `info` of a data set in this folder or above it", remedy=Remedy.SPEC)
    space = found.space
    spaces = FolderSpaces((FolderSpace(space, "", found),), ()) if space is not None else spaces_below(folder, found)
    if len(spaces.spaces) == 1:
        only = spaces.spaces[0]
        if only.space.folder.startswith(BESIDE) and only.folder in ("", only.space.folder):
            root = root_of(folder, found.folder)
            return open_space(_trusted_folder(root, only, context), only.origin, root)
        return open_space(folder.folder(only.folder) if only.folder else folder, only.origin)
    if spaces.spaces and context.partial:
        return NeuroglancerKeySpaces(folder, spaces, found)
    raise spaces.unchosen(folder)


def _trusted_folder(root: Folder | None, wanted: FolderSpace, context: OpenContext) -> Folder:
    """Return a folder next to that of the info (`../name`); raise StoreUntrusted until the user agrees to open it."""
    if root is None:
        raise UsageError(f"{wanted.space.name} is outside the folder of its info; open its folder directly")
    keys = (space.folder for space in wanted.found.info.key_spaces if space.folder.startswith(BESIDE))
    places = tuple(visible(folder_of_key(root, key).uri) for key in keys)
    if not context.trusts(places):
        raise StoreUntrusted(file=f"{root.uri.rstrip('/')}/{INFO_NAME}", stores=places)
    return folder_of_key(root, wanted.space.folder)


def _has_shards(folder: Folder) -> bool:
    try:
        first = next(folder.pages(), [])
        return any(not entry.is_folder and shard_number(entry.name) is not None for entry in first)
    except SourceError as error:
        raise_unless_absent(error)
        return False


def _members(folder: Folder, origin: Origin, jobs: int = 1) -> Sequence[Member]:
    try:
        entries = folder.list() if folder.listable else None
    except Forbidden:
        entries = None
    except RemoteError:
        raise
    except SourceError as error:
        raise SourceError(f"{folder.uri} cannot be listed: {error.message}") from error
    if entries is None:
        return _probe_members(folder, origin, jobs)
    files = {entry.name: entry.size for entry in entries if not entry.is_folder}
    members = []
    for name, size in sorted(files.items()):
        if origin.spec.shard_of(name) is None or not _is_shard(name, files):
            continue
        stem, _, suffix = name.rpartition(".")
        members.append(Member(name, size + (files.get(f"{stem}.data", 0) if suffix == "index" else 0)))
    return members


def _probe_members(folder: Folder, origin: Origin, jobs: int) -> Sequence[Member]:
    """Return the existing shards of a folder that cannot be listed; one request per possible name."""
    from shardcore.model.parallel import in_order

    spec = origin.spec
    if spec.shards > MOST_TRIED:
        text = f"{folder.uri} cannot be listed, and may have {plural(spec.shards, 'shard')}: look up single keys"
        raise SourceError(f"{text}, or open it in its store (s3://, gs://)")
    names = map(spec.shard_name, range(spec.shards))
    with closing(in_order(lambda name: _probe_member(folder, name), names, jobs)) as found:
        tried = list(found)
    members = [one for one in tried if isinstance(one, Member)]
    refused = [one for one in tried if isinstance(one, Forbidden)]
    if refused and not members:
        # A 403 may mean a missing file, but not for all files.
        raise refused[0]
    return members


def _probe_member(folder: Folder, name: str) -> Member | Forbidden | None:
    refused: Forbidden | None = None
    stem = name.rpartition(".")[0]
    for parts in ((name,), (f"{stem}.index", f"{stem}.data")):
        try:
            return Member(parts[0], sum(folder.open(part).size for part in parts))
        except NoSuchObject:
            continue
        except Forbidden as error:
            refused = error
    return refused


def _is_shard(name: str, beside: Container[str]) -> bool:
    stem, _, suffix = name.rpartition(".")
    if shard_number(name) is None or suffix == "data":
        return False
    return not (suffix == "index" and f"{stem}.shard" in beside)
