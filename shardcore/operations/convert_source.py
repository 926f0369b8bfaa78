"""Objects of a shard or data set for conversion, in row order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import ShardError
from shardcore.model.data_set_nodes import placed_error, relocating
from shardcore.model.objects import ObjectRef
from shardcore.model.source_name import SourceName
from shardcore.model.span import Span
from shardcore.operations.convert_worker import (
    HeldObjects,
    ObjectRecord,
    ObjectsRequest,
    check_keys,
    first_unfit_key,
    held_file,
    held_objects,
    rows_to_convert,
    unfit_key_of,
    whole_of,
    whole_record,
)
from shardcore.operations.extraction import ANY_SIZE
from shardcore.progress import Progress
from shardcore.shards.dataset import DataSet
from shardcore.shards.prefetch import fetched_ahead
from shardcore.shards.shard import Shard, Work
from shardcore.writing.input_items import Content
from shardcore.writing.writer import Data, Sized

MOST_KEPT = 512
"""Maximum number of shards that stay open between checking keys and reading contents, and between plans."""

MOST_KEPT_BYTES = 256 << 20
"""Maximum bytes of all shards that are kept open."""


@dataclass(frozen=True, slots=True)
class SourceObject:
    record: ObjectRecord
    content: Callable[[str], Content]


class ConvertSource(ABC):
    """Objects to convert. `total` is None if unknown; `left` (number left out per reason) is complete at the end."""

    def __init__(self, request: ObjectsRequest) -> None:
        self.total: int | None = None
        self.left: dict[str, int] = {}
        self._request = request

    @abstractmethod
    def unfit_key(self, format: str, progress: Progress) -> str:
        """Return the reason why a key is invalid in a format; empty if all keys are valid."""

    @abstractmethod
    def objects(self) -> Generator[SourceObject]:
        """Yield the objects; each must be read before the next one is requested."""

    @abstractmethod
    def expected(self, done: int) -> int:
        """Return the estimated total number of objects when `done` objects were converted."""


def convert_source(shard: Shard, request: ObjectsRequest) -> ConvertSource:
    if isinstance(shard, DataSet) and shard.joins:
        return FromMembers(shard, request)
    if isinstance(shard, DataSet) and shard.files_are_objects:
        return FromFiles(shard, request)
    return FromShard(shard, request)


class FromShard(ConvertSource):
    def __init__(self, shard: Shard, request: ObjectsRequest) -> None:
        super().__init__(request)
        self._shard = shard
        self._rows: NDArray[np.int64] | None = None
        if not shard.views:
            self._rows, self.left = rows_to_convert(shard, deleted=request.deleted)
        self.total = len(self._rows) if self._rows is not None else 1

    def unfit_key(self, format: str, progress: Progress) -> str:
        if self._rows is None:
            return unfit_key_of(self._shard.views[:1], format)
        return first_unfit_key(self._shard, self._rows, format)

    def objects(self) -> Generator[SourceObject]:
        if self._rows is None:
            whole = self._shard.find(self._shard.views[0])
            yield _read_later(self._shard, whole, self._request, self._shard.checksum)
            return
        yield from _in_turn(self._shard, self._rows, self._request)

    def expected(self, done: int) -> int:
        return self.total or 0


class FromMembers(ConvertSource):
    """Objects of a data set, read shard by shard; only a few shards are open at the same time."""

    _first: Work[HeldObjects] = staticmethod(held_objects)
    """Reads the objects of a shard that are held in memory."""

    def __init__(self, shard: DataSet, request: ObjectsRequest) -> None:
        super().__init__(request)
        self._shard = shard
        self._share = 0.0
        self._keep = len(shard.members) <= MOST_KEPT and sum(member.size for member in shard.members) <= MOST_KEPT_BYTES

    def unfit_key(self, format: str, progress: Progress) -> str:
        """Return the reason why a key is invalid in a format; sets `total` if all keys are valid."""
        count = 0
        seen = self._shard.each_member(check_keys, format, self._request.deleted, self._keep, progress=progress)
        with closing(seen) as found:
            for member, keys in found:
                if isinstance(keys, ShardError):
                    raise lost(keys, member.name)
                if keys.reason:
                    return keys.reason
                count += keys.count
        self.total = count
        return ""

    def objects(self) -> Generator[SourceObject]:
        keep = self._request.unread and self._keep
        with closing(self._shard.each_member(self._first, self._request, keep)) as results:
            for number, (member, result) in enumerate(results):
                if isinstance(result, ShardError):
                    raise lost(result, member.name)
                for what, count in result.left.items():
                    self.left[what] = self.left.get(what, 0) + count
                for place, one in enumerate(self._of(number, member.name, result)):
                    self._share = (number + place / result.count) / len(self._shard.members)
                    yield one

    def expected(self, done: int) -> int:
        if self.total is not None:
            return self.total
        return max(round(done / self._share) if self._share else 0, done + 1)

    def _rest(self, number: int, member: Shard, given: int) -> Iterator[SourceObject]:
        member.jobs = self._shard.jobs
        rows, _ = rows_to_convert(member, deleted=self._request.deleted)
        yield from _in_turn(member, rows[given:], self._request)

    def _of(self, number: int, name: str, result: HeldObjects) -> Iterator[SourceObject]:
        yield from map(_held, result.first)
        given = len(result.first)
        if given == result.count:
            return
        with self._shard.borrowed(name) as member, relocating(name):
            for source in self._rest(number, member, given):
                yield SourceObject(source.record, _placed_content(source, name))


class FromFiles(FromMembers):
    """Objects of a data set in which each file is one object; its file name is the key."""

    _first = staticmethod(held_file)

    def __init__(self, shard: DataSet, request: ObjectsRequest) -> None:
        super().__init__(shard, request)
        self._keys = shard.objects.keys[:]
        self.total = len(self._keys)

    def unfit_key(self, format: str, progress: Progress) -> str:
        return unfit_key_of(self._keys, format)

    def _rest(self, number: int, member: Shard, given: int) -> Iterator[SourceObject]:
        whole = _read_later(member, whole_of(member), self._request, member.checksum)
        yield SourceObject(whole_record(member, self._keys[number]), whole.content)


def lost(error: ShardError, member: str) -> ShardError:
    placed = placed_error(error, member)
    placed.span = placed.span or Span(str(SourceName(member)), 0, 0)
    return placed


def _in_turn(shard: Shard, rows: NDArray[np.int64], request: ObjectsRequest) -> Iterator[SourceObject]:
    refs = map(shard.objects.ref, rows.tolist())
    for ref in refs if request.unread else fetched_ahead(shard, refs, lambda ref: ref):
        member = shard.member(ref.shard) if isinstance(shard, DataSet) and ref.shard else shard
        yield _read_later(shard, ref, request, member.checksum)


def _read_later(shard: Shard, ref: ObjectRef, request: ObjectsRequest, checksum: str) -> SourceObject:

    def content(part: str) -> Content:
        if part:
            return lambda: shard.read_part(ref, part, limit=ANY_SIZE)
        if request.unread and ref.size >= 0:
            return Sized(ref.size)
        return lambda: shard.stream(ref)

    return SourceObject(ObjectRecord(ref, shard.file_names(ref), shard.facts(ref), checksum), content)


def _held(record: ObjectRecord) -> SourceObject:
    def content(part: str) -> Content:
        pieces = record.held.get(part)
        if pieces is None:
            return Sized(record.ref.size)
        return (lambda: pieces[0]) if part else (lambda: iter(pieces))

    return SourceObject(record, content)


def _placed_content(source: SourceObject, member: str) -> Callable[[str], Content]:
    def content(part: str) -> Content:
        found = source.content(part)
        if not callable(found):
            return found

        def begun() -> Data:
            with relocating(member):
                data = found()
            return data if isinstance(data, bytes) else _placed_pieces(data, member)

        return begun

    return content


def _placed_pieces(data: Any, member: str) -> Iterator[bytes]:
    with relocating(member):
        yield from data
