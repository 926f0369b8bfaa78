"""A Xet shard cache as one data set: keys over all its shards."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from shardcore.errors import NotAShard, ShardError, SourceError, says_absent
from shardcore.formats.mdb.file import MdbFile
from shardcore.formats.mdb.lookup import KEY_FORM, MdbKey, MdbLookup
from shardcore.formats.mdb.shard import MdbShard, detect, open_shard, sketches_of
from shardcore.formats.mdb.step_values import MEANINGS
from shardcore.formats.mdb.xorbs import Xorbs
from shardcore.model.source_name import SourceName
from shardcore.shards.dataset import DataSet, Members, members_in, some_members
from shardcore.shards.format import Certainty, Verdict
from shardcore.shards.member_work import member_settings
from shardcore.shards.open_context import OpenContext
from shardcore.shards.shard import Shard, SourcePart
from shardcore.shards.trace import Look, Trace
from shardcore.sources.base import SMALL_HEAD, Folder, Source
from shardcore.sources.opening import PrefetchedSource

if TYPE_CHECKING:
    from shardcore.model.drawing import Sketch

SUFFIX = ".mdb"

PLACES = ("", "shard-cache", "shards", "xet/shard-cache", "xet/xorbs/shards")
"""Subfolders in which shards are searched; the first that has any is the data set."""


class MdbDataSet(DataSet):
    """The shards of one folder. A shard states no range of keys, so every one of them may hold a key.

    Args:
        folder: The folder.
        members: Its shards.
        context: What the caller of `open` said.
        beside: The folder in which the shards lie: the folder itself, or a sub-folder.
    """

    routes = False
    key_form = KEY_FORM
    meanings = MEANINGS
    member_head = SMALL_HEAD

    def __init__(self, folder: Folder, members: Members, context: OpenContext, beside: Folder) -> None:
        super().__init__("mdb", folder, members)
        self._context = context
        self._xorbs = Xorbs(context.values.get("xorbs"), beside, context.opener)

    def parse_key(self, text: str) -> MdbKey:
        """Return a file hash, `xorb:` and a hash, or `chunk:` and a hash; see `Shard.parse_key`."""
        return MdbLookup.parse(text)

    def route(self, key: MdbKey, look: Look) -> Sequence[str]:
        """Return all members: only their lookup tables tell."""
        names = [member.name for member in self.members]
        look.step(
            "Ask every shard",
            f"Any of the {len(names)} shards of the folder may list a {key.kind}; each is searched in turn.",
            why="A hash does not show which shard lists it; the short tables make it cheap to search all of them.",
            shards=len(names),
        )
        return names

    def open_member(self, name: str, source: Source) -> MdbShard:
        """Open a shard; all shards of the folder share the xorbs within reach.

        Raises:
            NotAShard: It has no tag of a shard.
            FormatError: It is damaged.
            SourceError: The bytes cannot be read.
        """
        probe = PrefetchedSource(source)
        if detect(probe) is None:
            raise NotAShard("not an MDB shard: it does not begin with the tag HFRepoMetaData")
        shard = open_shard(probe, self._context.member(), self._xorbs)
        shard.shares_xorbs = True
        return shard

    def sketches(self, trace: Trace | None = None) -> tuple[Sketch, ...]:
        """Return those of the shard that a lookup ended in; without one, of the first shard."""
        from shardcore.formats.mdb.sketch_scene import MdbScene

        if trace is None:
            first = self.first_member
            return self.placed_sketches(sketches_of(MdbScene(lambda: self._file(first), None)), first) if first else ()
        return super().sketches(trace)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Fields of the footers that a new shard lacks: each shard has an expiry and an HMAC key of its own."""
        lost: dict[str, Any] = {}
        with closing(self.each_member(member_settings)) as found:
            for _, settings in found:
                if not isinstance(settings, ShardError):
                    lost |= settings.get("footer", {})
                    lost |= {"shard_key_expiry": settings["expiry"]} if "expiry" in settings else {}
        return {"footer": lost} if lost else {}

    def _file(self, name: str) -> MdbFile:
        return cast(MdbShard, self.member(name)).file

    def close(self) -> None:
        """Close all members, and the xorbs."""
        super().close()
        self._xorbs.close()

    def _part(self, name: SourceName) -> SourcePart:
        """By `xorb:<hash>` a xorb within reach, by `xorb:<hash>@start-stop` a chunk of it unpacked."""
        return self._xorbs.part(name) or super()._part(name)


def _shards_in(folder: Folder) -> tuple[str, str]:
    """Return the place of the shards, the folder or the first of its usual sub-folders that has any; and their count.

    The count is in words; it is empty where there are none.
    """
    for place in PLACES:
        try:
            found, count = some_members(folder, SUFFIX, place)
        except SourceError as error:
            if not says_absent(error):
                raise
            continue
        if found:
            return place, count
    return "", ""


def detect_folder(folder: Folder) -> Verdict | None:
    """Recognise a folder by the shards in it."""
    _, count = _shards_in(folder)
    return Verdict(Certainty.BESIDE, f"{count} *{SUFFIX}") if count else None


def open_folder(folder: Folder, context: OpenContext) -> Shard:
    """Open the shards of a folder as one data set; each is opened when it is needed.

    Raises:
        NotAShard: There is no shard in it.
        SourceError: The folder cannot be listed.
    """
    place, count = _shards_in(folder)
    if not count:
        raise NotAShard(f"{folder.uri}: no *{SUFFIX} in it")
    members = members_in(folder, SUFFIX, place)
    return MdbDataSet(folder, members, context, folder.folder(place) if place else folder)
