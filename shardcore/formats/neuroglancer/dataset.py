"""A folder of shards that share a key space, opened by its info."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from shardcore.dataset import DataSet, Member
from shardcore.errors import FormatError, SourceError, UsageError
from shardcore.finding import Depth, Finding, Report, Severity
from shardcore.format import Certainty, OpenContext, Verdict
from shardcore.formats.neuroglancer.lookup import route
from shardcore.formats.neuroglancer.objects import parse_key
from shardcore.formats.neuroglancer.opening import open_member
from shardcore.formats.neuroglancer.origin import (
    INFO_NAME,
    Origin,
    choice_text,
    find_info,
    given_origin,
    origin_from,
)
from shardcore.formats.neuroglancer.reader import VERSION
from shardcore.formats.neuroglancer.sharding import shard_number
from shardcore.formats.neuroglancer.tree import spec_node
from shardcore.nodes.node import Node
from shardcore.nodes.runs import Runs
from shardcore.nodes.sections import Section, SectionRole
from shardcore.progress import Progress, no_progress
from shardcore.record import FieldRole, Value
from shardcore.shard import Shard
from shardcore.sources.base import Folder, Source
from shardcore.sources.memory import BytesSource
from shardcore.span import Span
from shardcore.trace import Look


class NeuroglancerDataSet(DataSet):
    """All shards of one key space.

    Attributes:
        origin: The key space and how it became known.
        strays: Names of shard files that no key of this key space leads to.

    Args:
        uri: Where the folder with the shards is.
        origin: See above.
        members: The shards.
        strays: See above.
    """

    version = VERSION

    def __init__(self, uri: str, origin: Origin, members: Sequence[Member], strays: Sequence[str]) -> None:
        super().__init__("neuroglancer", uri, members)
        self.origin = origin
        self.strays = tuple(strays)
        self._names = {number[0]: m.name for m in members if (number := shard_number(m.name)) is not None}

    @property
    def fields(self) -> dict[str, Value]:
        """The specification, where it comes from, and how many shards there are."""
        return self.origin.fields | super().fields

    @property
    def parameters(self) -> str:
        """The specification in use, as JSON text."""
        return self.origin.parameters

    @property
    def tree(self) -> Node:
        """The specification, then one node for each shard."""
        root = super().tree
        return replace(root, children=(spec_node(self.origin), *root.children))

    @property
    def declared_objects(self) -> int | None:
        """How many keys all minishard indices list; opens all shards and reads them."""
        if not self.loaded:
            self.load_index()
        return super().declared_objects

    def route(self, key: str, look: Look) -> Sequence[str]:
        """The one shard where a key may lie; none where its file is missing, which means that it has no keys."""
        place = route(key, self.origin, look)
        name = self._names.get(place.shard)
        if name is None:
            missing = self.origin.spec.shard_name(place.shard)
            look.step("No such shard", f"There is no {missing}: no key of it was written.", file=missing)
            return ()
        return (name,)

    def find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        """The rows of many keys, `(len(keys),)`; -1 where a key is absent. Loads the index."""
        self.load_index()
        wanted = np.array([parse_key(key) for key in keys], np.uint64)
        _, shards = self.origin.spec.place_many(wanted)
        rows = np.full(len(wanted), -1, np.int64)
        for shard in np.unique(shards).tolist():
            name = self._names.get(shard)
            first = self._first_row(name) if name is not None else None
            if name is None or first is None:
                continue
            places = np.flatnonzero(shards == np.uint64(shard))
            found = self.member(name).find_many([keys[place] for place in places.tolist()])
            rows[places] = np.where(found >= 0, found + first, -1)
        return rows

    def verify(self, depth: Depth | str = Depth.CONTENT, progress: Progress = no_progress) -> Report:
        """Verifies every shard, and names files that are shards of no key."""
        report = super().verify(depth, progress)
        spec = self.origin.spec
        text = f"no key leads here: shards are called {spec.shard_name(0)} to {spec.shard_name(spec.shards - 1)}"
        more = tuple(
            Finding(Severity.WARNING, "neuroglancer.file-name", None, f"{name}: {text}") for name in self.strays
        )
        return replace(report, findings=(*report.findings, *more))

    def bytes_of(self, name: str) -> Source:
        """The info, a member's bytes by its name, or a source of a member by `member@…`."""
        if name == INFO_NAME and self.origin.text:
            return BytesSource(self.origin.text, INFO_NAME)
        return super().bytes_of(name)

    def sections_of(self, name: str) -> tuple[Section, ...]:
        """The info as one section; or the sections of a member, or of a decoded source of one."""
        if name == INFO_NAME and self.origin.text:
            return (Section(INFO_NAME, SectionRole.METADATA, 0, len(self.origin.text), "Describes the data set."),)
        return super().sections_of(name)

    def explain(self, offset: int, source: str = "") -> tuple[Node, ...]:
        """The path to a byte of the info or of a member."""
        if source == INFO_NAME and self.origin.text:
            return Shard.explain(self, offset, source)
        return super().explain(offset, source)

    def runs(self, start: int, stop: int, source: str = "") -> Runs:
        """What owns bytes of the info or of a member."""
        if source == INFO_NAME and self.origin.text:
            return Shard.runs(self, start, stop, source)
        return super().runs(start, stop, source)

    def tree_of(self, name: str) -> Node:
        """The tree of the data set, of the info, or of a member."""
        if name == INFO_NAME and self.origin.text:
            span = Span(INFO_NAME, 0, len(self.origin.text))
            return Node(INFO_NAME, span, role=FieldRole.TEXT, children=(spec_node(self.origin),))
        return super().tree_of(name)


def judge_folder(folder: Folder) -> Verdict | None:
    """Whether a folder is a data set, or the folder of one of its key spaces."""
    found = find_info(folder, any_space=True)
    if found is None:
        return None
    space = found.info.space_of(found.folder)
    what = space.name if space is not None else found.info.kind
    return Verdict(Certainty.BESIDE, f"{found.where}, {what}")


def open_folder(folder: Folder, context: OpenContext) -> Shard:
    """Opens the key space whose shards lie in a folder, or the only one below it.

    Raises:
        UsageError: The folder has several key spaces, which are listed, or none that is sharded.
        FormatError: There is no info.
    """
    origin, shards = _origin_of(folder, context)
    members, strays = _members(shards, origin)
    found = NeuroglancerDataSet(shards.uri, origin, members, strays)
    found.why = origin.why
    return found


def _origin_of(folder: Folder, context: OpenContext) -> tuple[Origin, Folder]:
    if context.options.spec is not None:
        return given_origin(context.options.spec, folder.name), folder
    found = find_info(folder, any_space=True)
    if found is None:
        raise FormatError(f"{folder.uri}: there is no info of a data set in the folder or above it")
    space = found.info.space_of(found.folder)
    if space is not None:
        return origin_from(space, found.info, found.text, f"{found.where}, {space.name}"), folder
    if len(found.info.spaces) != 1:
        raise UsageError(choice_text(folder.uri, found.info))
    space = found.info.spaces[0]
    return origin_from(space, found.info, found.text, f"{found.where}, {space.name}"), folder.folder(space.folder)


def _members(folder: Folder, origin: Origin) -> tuple[list[Member], list[str]]:
    """The shards in a folder, and the names of files that look like shards but are none of this key space."""
    try:
        files = {entry.name: entry.size for entry in folder.list() if not entry.is_folder}
    except SourceError as error:
        raise SourceError(f"{folder.uri} cannot be listed: {error.message}") from error
    members, strays = [], []
    for name, size in sorted(files.items()):
        named = shard_number(name)
        stem, _, suffix = name.rpartition(".")
        if named is None or suffix == "data" or (suffix == "index" and f"{stem}.shard" in files):
            continue
        if named[1] != origin.spec.name_digits or named[0] >= origin.spec.shards:
            strays.append(name)
            continue
        if suffix == "index":
            size += files.get(f"{stem}.data", 0)
        members.append(Member(name, size, partial(open_member, folder, name, origin)))
    return members, strays
