"""A Xet shard cache as one data set: keys over all its shards."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shardcore.dataset import DataSet, Member
from shardcore.errors import ExternalMissing, NotAShard, SourceError
from shardcore.format import Certainty, OpenContext, Verdict
from shardcore.formats.mdb.lookup import MdbLookup
from shardcore.formats.mdb.shard import open_shard
from shardcore.formats.mdb.xorbs import SPAN_PREFIX
from shardcore.nodes.node import Node
from shardcore.nodes.runs import Runs
from shardcore.nodes.sections import Section
from shardcore.shard import Shard
from shardcore.sources.base import Entry, Folder, Source
from shardcore.sources.opening import PrefetchedSource
from shardcore.trace import Look

SUFFIX = ".mdb"

PLACES = ("", "shard-cache", "shards")
"""Where in a folder shards are looked for; the first that has any is the data set."""


class MdbDataSet(DataSet):
    """The shards of one folder. A shard states no range of keys, so every one of them may hold a key."""

    def route(self, key: str, look: Look) -> Sequence[str]:
        """All members: only their lookup tables tell."""
        kind = MdbLookup.parse(key).kind
        names = [member.name for member in self.members]
        look.step(
            "Go through the shards",
            f"Any of the {len(names)} shards of the folder may list a {kind}; each is asked in turn.",
            shards=len(names),
        )
        return names

    def bytes_of(self, name: str) -> Source:
        """A member's bytes, or by `xorb:<hash>` a xorb within reach of any member."""
        return self._reaching(name).bytes_of(name) if _is_xorb(name) else super().bytes_of(name)

    def sections_of(self, name: str) -> tuple[Section, ...]:
        """The sections of a member, or of a xorb."""
        return self._reaching(name).sections_of(name) if _is_xorb(name) else super().sections_of(name)

    def tree_of(self, name: str) -> Node:
        """The tree of a member, or of a xorb."""
        return self._reaching(name).tree_of(name) if _is_xorb(name) else super().tree_of(name)

    def explain(self, offset: int, source: str = "") -> tuple[Node, ...]:
        """The path to a byte of a member, or of a xorb."""
        return self._reaching(source).explain(offset, source) if _is_xorb(source) else super().explain(offset, source)

    def runs(self, start: int, stop: int, source: str = "") -> Runs:
        """What owns the bytes of a member, or of a xorb."""
        return (
            self._reaching(source).runs(start, stop, source) if _is_xorb(source) else super().runs(start, stop, source)
        )

    def _reaching(self, name: str) -> Shard:
        """The first member that can open a xorb."""
        missing = ExternalMissing(f"missing xorb: {name.removeprefix(SPAN_PREFIX)}")
        for member in self.members:
            try:
                shard = self.member(member.name)
                shard.bytes_of(name)
            except ExternalMissing as error:
                missing = error
                continue
            return shard
        raise missing


def _is_xorb(name: str) -> bool:
    return name.startswith(SPAN_PREFIX)


def _shards_in(folder: Folder) -> list[Entry]:
    """The shards of a folder, or of the first of its usual sub-folders that has any."""
    for place in PLACES:
        try:
            found = [e for e in folder.list(place) if not e.is_folder and e.name.endswith(SUFFIX)]
        except SourceError:
            continue
        if found:
            return found
    return []


def detect_folder(folder: Folder) -> Verdict | None:
    """Recognises a folder by the shards in it."""
    found = _shards_in(folder)
    return Verdict(Certainty.BESIDE, f"{len(found)} files *{SUFFIX}") if found else None


def open_folder(folder: Folder, context: OpenContext) -> Shard:
    """Opens the shards of a folder as one data set; each is opened when it is needed.

    Raises:
        NotAShard: There is no shard in it.
        SourceError: The folder cannot be listed.
    """
    found = _shards_in(folder)
    if not found:
        raise NotAShard(f"{folder.uri}: no *{SUFFIX} in it")

    def opener(entry: Entry) -> Callable[[], Shard]:
        return lambda: open_shard(PrefetchedSource(folder.open(entry.name)), context)

    return MdbDataSet("mdb", folder.uri, [Member(entry.name, entry.size, opener(entry)) for entry in found])
