"""A folder of MDB shards (a Xet shard cache) as one data set."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import cached_property
from typing import Any

from shardcore.errors import NotAShard, ShardError, SourceError, raise_unless_absent
from shardcore.formats.mdb.lookup import KEY_FORM, AnyShard, MdbKey, MdbLookup
from shardcore.formats.mdb.shard import MdbShard, detect, open_shard
from shardcore.formats.mdb.xorbs import Xorbs
from shardcore.model.span import SourceName
from shardcore.shards.dataset import DataSet, Members, members_in, some_members
from shardcore.shards.format import Certainty, Verdict
from shardcore.shards.open_context import OpenContext
from shardcore.shards.shard import Shard, SourcePart
from shardcore.shards.shard_tasks import member_settings
from shardcore.shards.trace import LookupRecorder
from shardcore.sources.base import SMALL_HEAD, Folder, Source
from shardcore.sources.prefetched_source import PrefetchedSource

SUFFIX = ".mdb"

PLACES = ("", "shard-cache", "shards", "xet/shard-cache", "xet/xorbs/shards")
"""Subfolders searched for shards; the first one that contains shards is used."""


class MdbDataSet(DataSet):
    """Data set of the shards of one folder. Shards declare no key range, so a lookup searches all of them."""

    routes = False
    key_form = KEY_FORM
    member_head = SMALL_HEAD

    def __init__(self, folder: Folder, members: Members, context: OpenContext, beside: Folder) -> None:
        super().__init__("mdb", folder, members)
        self._context = context
        self._xorbs = Xorbs(context.values.get("xorbs"), beside, context.opener)

    def parse_key(self, text: str) -> MdbKey:
        return MdbLookup.parse(text)

    def route(self, key: MdbKey, recorder: LookupRecorder) -> Sequence[str]:
        names = [member.name for member in self.members]
        recorder.record(AnyShard(key.kind, len(names)), self.format)
        return names

    def open_member(self, name: str, source: Source) -> MdbShard:
        probe = PrefetchedSource(source)
        if detect(probe) is None:
            raise NotAShard("not an MDB shard: it does not begin with the tag HFRepoMetaData")
        shard = open_shard(probe, self._context.member(), self._xorbs)
        shard.shares_xorbs = True
        return shard

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Settings that a rewrite would lose, as `footer`: HMAC key and expiry, which differ from shard to shard."""
        lost: dict[str, Any] = {}
        with closing(self.each_member(member_settings)) as found:
            for _, settings in found:
                if not isinstance(settings, ShardError):
                    lost |= settings.get("footer", {})
                    lost |= {"shard_key_expiry": settings["expiry"]} if "expiry" in settings else {}
        return {"footer": lost} if lost else {}

    def _close(self) -> None:
        super()._close()
        self._xorbs.close()

    def _part(self, name: SourceName) -> SourcePart:
        return self._xorbs.part(name) or super()._part(name)


def _shards_in(folder: Folder) -> tuple[str, str]:
    """Return the first of `PLACES` that has shards, and their count as text; empty strings if none has."""
    for place in PLACES:
        try:
            found, count = some_members(folder, SUFFIX, place)
        except SourceError as error:
            raise_unless_absent(error)
            continue
        if found:
            return place, count
    return "", ""


def detect_folder(folder: Folder) -> Verdict | None:
    _, count = _shards_in(folder)
    return Verdict(Certainty.BESIDE, f"{count} *{SUFFIX}") if count else None


def open_folder(folder: Folder, context: OpenContext) -> Shard:
    """Open a folder of shards as one data set; raise NotAShard if it has none. Each shard is opened when needed."""
    place, count = _shards_in(folder)
    if not count:
        raise NotAShard(f"{folder.uri}: no *{SUFFIX} files")
    members = members_in(folder, SUFFIX, place)
    return MdbDataSet(folder, members, context, folder.folder(place) if place else folder)
