"""Conversion of a shard to another format: contents are streamed, and keys follow a rule that the user chooses."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass, replace
from shardcore.errors import LimitExceeded, Remedy, ShardError, UsageError
from shardcore.model.budget import Budget, budgeted, taking_operation
from shardcore.model.data_set_nodes import placed_error, relocating
from shardcore.model.finding import Depth
from shardcore.model.objects import ObjectRef, State
from shardcore.model.options import OptionPurpose
from shardcore.model.span import SourceName, Span
from shardcore.model.text import plural, short, visible
from shardcore.operations.convert_worker import (
    NPY,
    HeldObjects,
    ObjectRecord,
    ObjectsRequest,
    check_keys,
    first_unfit_key,
    held_file,
    held_objects,
    record_of,
    rows_to_convert,
    unfit_key_of,
    whole_of,
    whole_record,
)
from shardcore.operations.description import ANY_SIZE, KeyChoice
from shardcore.operations.extraction import extract as extract_opened
from shardcore.operations.extraction.files import SmallObjects
from shardcore.operations.extraction.selection import small_runs
from shardcore.operations.pack import Packed, write_items
from shardcore.progress import Progress, no_progress
from shardcore.shards.dataset import DataSet
from shardcore.shards.format import Format
from shardcore.shards.opening import means_folder, opening
from shardcore.shards.prefetch import fetched_ahead
from shardcore.shards.registry import format_of, writes_of
from shardcore.shards.shard import Shard, Work
from shardcore.sources.local import FileSource, LocalFolder
from shardcore.writing.declaration import KeyRule, Writes
from shardcore.writing.inputs import SMALL_FILE, Content, InputBatch, InputItem, LeftOut, opened, overwrite_error
from shardcore.writing.manifest import KNOWN, Loss, LossKind, ManifestReader, SourceRecord
from shardcore.writing.temporary import STREAM_PIECE
from shardcore.writing.temporary_names import inode_of
from shardcore.writing.writer import Data, SameKeys, Sized, pieces_of

MOST_KEPT = 512
"""Maximum number of shards of a data set that all stay open after their keys were checked; otherwise none does."""

MOST_KEPT_BYTES = 256 << 20
"""Maximum total size of these shards, in bytes."""


@dataclass(frozen=True, slots=True)
class SourceObject:
    record: ObjectRecord
    content: Callable[[str], Content]


class ConvertSource(ABC):
    """Source of the objects to convert: a shard, or a data set of shards or of files that are objects.

    Attributes:
        total: Number of objects; None if unknown.
        left: Number of objects left out per reason; complete when all objects were yielded.
        batched: Whether `objects` may yield several objects as one batch; requires keys that stay unchanged.
        checksum: Checksum of the contents of batches; see `Shard.checksum`.
    """

    def __init__(self, request: ObjectsRequest) -> None:
        self.total: int | None = None
        self.batched = False
        self.checksum = ""
        self.left = Counter[str]()
        self._request = request

    @abstractmethod
    def unfit_key(self, format: str, progress: Progress) -> str:
        """Return the reason why a key is invalid in a format; empty if all keys are valid."""

    @abstractmethod
    def objects(self) -> Generator[SourceObject | InputBatch]:
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

    def objects(self) -> Generator[SourceObject | InputBatch]:
        if self._rows is None:
            whole = self._shard.find(self._shard.views[0])
            yield _read_later(self._shard, whole, self._request, self._shard.checksum)
            return
        self.checksum = self._shard.checksum
        each = _batched if self.batched and not self._request.unread else _in_turn
        yield from each(self._shard, self._rows, self._request)

    def expected(self, done: int) -> int:
        return self.total or 0


class FromMembers(ConvertSource):
    """Objects of a data set, read shard by shard; only a few shards are open at the same time."""

    _first: Work[HeldObjects] = staticmethod(held_objects)
    """Function run for each shard, which returns the first objects with their contents."""

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
                objects, why = keys
                if why:
                    return why
                count += objects
        self.total = count
        return ""

    def objects(self) -> Generator[SourceObject]:
        keep = self._request.unread and self._keep
        with closing(self._shard.each_member(self._first, self._request, keep)) as results:
            for number, (member, result) in enumerate(results):
                if isinstance(result, ShardError):
                    raise lost(result, member.name)
                self.left.update(result.left)
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


def _batched(shard: Shard, rows: NDArray[np.int64], request: ObjectsRequest) -> Iterator[SourceObject | InputBatch]:
    """Yield objects one by one, but small ones without metadata and parts in batches."""
    for run in small_runs(shard, rows, SMALL_FILE):
        if not isinstance(run, SmallObjects):
            yield from _in_turn(shard, run, request)
            continue
        found = list(shard.contents_of(run.columns))
        contents = [data for data in found if isinstance(data, bytes)]
        if len(contents) < len(found):
            raise next(error for error in found if isinstance(error, ShardError))
        yield InputBatch(run.keys, contents)


def _read_later(shard: Shard, ref: ObjectRef, request: ObjectsRequest, checksum: str) -> SourceObject:

    def content(part: str) -> Content:
        if part:
            return lambda: shard.read_part(ref, part, limit=ANY_SIZE)
        if request.unread and ref.size >= 0:
            return Sized(ref.size)
        return lambda: shard.stream(ref)

    return SourceObject(replace(record_of(shard, ref), checksum=checksum), content)


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


CHECKSUMS = ("", "adler32", "crc32", "md5", "sha1", "sha224", "blake3", "sha256", "sha384", "sha512")
"""Checksums and digests of all formats, weakest first."""

MOST_NAMED = 8
"""Maximum number of names in the message about a setting that cannot be stored."""

LONGEST_NAME = 40

NOTHING: tuple[Any, ...] = (None, "", "none", {}, [])
"""Metadata values that mean the same as a missing value."""


extract = opening(extract_opened)
"""Public `shardcore.extract`, which also accepts a path."""


@opening
@taking_operation
def convert(
    shard: Shard,
    format: str,
    out: str | Path,
    *,
    keys: KeyChoice | str = KeyChoice.USUAL,
    manifest: str | Path | None = None,
    deleted: bool = False,
    options: Mapping[str, Any] | None = None,
    force: bool = False,
    plan: bool = False,
    unread: bool = False,
    verify: Depth = Depth.CONTENT,
    jobs: int | None = None,
    limit: int | None = None,
    progress: Progress = no_progress,
    verifying: Progress | None = None,
    checking: Progress | None = None,
) -> Packed:
    """Write all objects of a shard or data set into a new one of another format, and verify it.

    At most `Shard.jobs` shards of a data set are open at the same time; each is closed when it is done.

    Not converted: deleted objects, and kinds that are parts of others (xorbs and chunks of mdb). Parts (fragments of a
    mesh) stay with their object, or become objects named as their files. Metadata and settings of the source (an info,
    checksums) are stored if the target format can; the result manifest has the others, and lists every loss.

    Args:
        shard: The opened shard, or an argument of `open`: a path, an address, bytes.
        format: Name of the format to write.
        out: As in `pack`.
        keys: Rule for the keys of the new shard; see `KeyChoice`.
        manifest: Result manifest of an earlier conversion that wrote `shard`: restores its keys, metadata and
            settings.
        deleted: Whether tombstoned objects are included, if the shard was opened to return them.
        options: Options that the format declares for writing.
        force: As in `pack`.
        plan: As in `pack`.
        unread: As in `pack`.
        verify: As in `pack`.
        jobs: As in `pack`.
        limit: Maximum bytes of all contents together; 0 for no limit. Default: 1 GiB plus 256 times the stored size.
        progress: Called after every object. If the number of objects is unknown, the total is an estimate from the
            number of finished shards.
        verifying: As in `pack`.
        checking: Called while keys are checked against the rules of the target format.

    Returns:
        The result, with its losses; the notes have one line per loss.

    Raises:
        UsageError: A key or an option is invalid in the target format, or the manifest belongs to another shard.
        FormatError: An object is corrupt.
        LimitExceeded: The contents have more bytes than `limit`.
        NotAShard: A file of a data set is not a shard.
        SourceError: Bytes cannot be read or written.
    """
    try:
        choice = KeyChoice(keys)
    except ValueError:
        known = ", ".join(one.value for one in KeyChoice if one.value)
        raise UsageError(f"unknown key rule {short(keys)} (supported: {known})") from None
    found = format_of(format)
    _check_apart(shard, Path(out))
    earlier = None
    if manifest is not None:
        if choice is not KeyChoice.USUAL:
            raise UsageError("the manifest contains the keys: omit --key")
        earlier = EarlierConversion(manifest, shard)
    objects = convert_source(shard, ObjectsRequest(deleted, plan and unread, shard.jobs))
    source = _Source(objects, found, earlier, joined=not means_folder(out))
    source.decide(choice, checking or no_progress)
    settings = dict(shard.settings)
    values = source.options(shard.format, settings, dict(options or {}), folder=means_folder(out))
    given, check_count = format_of(shard.format).writes, found.writes and found.writes.check_count
    # The number of objects is known in advance only if the source keys are content digests: no duplicates.
    if check_count and given and given.keys is KeyRule.CONTENT and not means_folder(out):
        check_count(objects.total or 0, values)
    header = {"source": shard.format} | settings
    with budgeted(taking=True) as budget, closing(_limited(source.items(), budget, limit)) as items:
        try:
            done = write_items(
                found,
                out,
                items,
                values,
                force=force,
                plan=plan,
                left_out=LeftOut(remedy=Remedy.KEYS),
                verify=verify,
                jobs=jobs,
                progress=lambda number, total: progress(number, max(total, objects.expected(number))),
                verifying=verifying or progress,
                source=SourceRecord(header, source.losses),
            )
        except SameKeys as error:
            error.remedy = Remedy.KEYS
            raise
    planned = replace(done.plan, exact=done.plan.exact and not source.guessed) if done.plan is not None else None
    losses = tuple(source.losses())
    return replace(done, plan=planned, losses=losses, notes=(*(loss.text for loss in losses), *done.notes))


def _check_apart(shard: Shard, out: Path) -> None:
    """Refuse a target that is the source itself, or is or contains the folder of the source."""
    target = inode_of(out, follow=out.is_dir())
    if target is None:
        return
    if isinstance(shard.source, FileSource) and inode_of(shard.source.path) == target:
        raise overwrite_error(out)
    if isinstance(shard, DataSet) and isinstance(shard.folder, LocalFolder):
        folder = inode_of(shard.folder.path)
        if folder == target or (not out.is_dir() and folder in map(inode_of, out.absolute().parents)):
            raise overwrite_error(out)


class EarlierConversion:
    """Result manifest of an earlier conversion: original keys, metadata and settings.

    Attributes:
        header: Format and settings of the source of that conversion.
        lines: Manifest lines of the original objects, by the key of the object that stores them now.
        joined: Manifest lines of the original objects whose contents are now joined to one object, in order.
    """

    def __init__(self, where: str | Path, shard: Shard) -> None:
        self._shard = shard
        self._where = where
        self.lines: dict[str, list[dict[str, Any]]] = {}
        self.joined: list[dict[str, Any]] = []
        self._parts: dict[str, dict[str, str]] = {}
        self._mains: set[str] = set()
        read = ManifestReader(where)
        with closing(read):
            self.header = read.header
            for number, line in read.lines():
                self._note(number, line)
        self._left = set(self.lines)

    def _note(self, number: int, line: dict[str, Any]) -> None:
        key, stored, size = line.get("key"), line.get("stored"), line.get("size")
        if not isinstance(key, str | None) or not isinstance(stored, str | None):
            raise UsageError(f"{self._where}, line {number}: key and stored must be strings")
        if stored is not None:
            self.lines.setdefault(stored, []).append(line)
            if key is not None and isinstance(part := line.get("part"), str):
                self._parts.setdefault(key, {})[part] = stored
            elif key is not None:
                self._mains.add(key)
        elif isinstance(size, int) and not isinstance(size, bool) and size >= 0:
            self.joined.append(line)
        elif line.get("row") != 0:
            raise UsageError(f"{self._where}, line {number}: neither `stored` nor `size` is given")

    def of(self, source: SourceObject) -> Iterator[tuple[SourceObject, dict[str, Any], dict[str, Content]]]:
        """Yield the original objects that one object now stores: content, manifest line and parts of each."""
        if len(self.joined) > 1:
            yield from self._cut(source)
            return
        key = source.record.ref.key or ""
        self._left.discard(key)
        for line in self.lines.get(key) or self.joined or [{"key": key}]:
            old = line.get("key") or key
            if line.get("part") and old in self._mains:
                continue
            parts: dict[str, Content] = {
                part: partial(self._stream, stored) for part, stored in self._parts.get(old, {}).items()
            }
            yield source, line, parts if not line.get("part") else {}

    def check(self) -> None:
        """Raise UsageError if the manifest lists objects that the shard does not contain."""
        gone = sorted(self._left)
        if gone:
            raise UsageError(f"{self._where} is not the manifest of this shard, which does not have {short(gone[0])}")

    def _cut(self, source: SourceObject) -> list[tuple[SourceObject, dict[str, Any], dict[str, Content]]]:
        ref, start = source.record.ref, 0
        if sum(line["size"] for line in self.joined) != ref.size:
            raise UsageError(f"{self._where} is not the manifest of this shard: the sizes of the contents differ")
        found: list[tuple[SourceObject, dict[str, Any], dict[str, Content]]] = []
        for line in self.joined:
            stop = start + line["size"]
            content = partial(self._range, ref, start, stop)
            if line.get("part") and found:
                found[-1][2][str(line["part"])] = content
            else:
                found.append((SourceObject(source.record, _always(content)), line, {}))
            start = stop
        return found

    def _stream(self, stored: str) -> Iterator[bytes]:
        return self._shard.stream(self._shard.find(stored))

    def _range(self, ref: ObjectRef, start: int, stop: int) -> Iterator[bytes]:
        for at in range(start, stop, STREAM_PIECE):
            yield self._shard.read_range(ref, at, min(at + STREAM_PIECE, stop))


class _Source:
    """Source of a conversion: yields the objects of a shard as inputs for the writer, and counts losses.

    Attributes:
        guessed: Whether some keys are placeholders: they depend on contents, which are not read for a plan.
    """

    def __init__(
        self, objects: ConvertSource, found: Format, earlier: EarlierConversion | None = None, *, joined: bool = False
    ) -> None:
        self._objects = objects
        self.guessed = False
        self._writes: Writes = writes_of(found)
        self._format = found.name
        self._options = {option.name: option for option in found.options_for(OptionPurpose.WRITE)}
        self._facts = {option.name: option for option in found.options_for(OptionPurpose.FACT)}
        self._earlier = earlier
        self._between = earlier is not None and earlier.header.get("source") != earlier.header.get("format")
        self._joined = joined and self._writes.keys is KeyRule.NONE
        self._choice = KeyChoice.AS_IS
        self._checksum = ""
        self._dropped, self._weaker = Counter[str](), Counter[str]()
        self._settings: list[Loss] = []
        self._merged = self._renamed = self._revived = 0

    def decide(self, choice: KeyChoice, progress: Progress = no_progress) -> None:
        """Choose the rule for keys. Default: `as-is` if all keys are valid in the target format, else its own rule."""
        self._choice = choice or KeyChoice.AS_IS
        # The manifest of an earlier conversion has the keys; in a format without keys, the rule applies to file names.
        if self._choice is not KeyChoice.AS_IS or self._earlier is not None or self._writes.keys is KeyRule.NONE:
            return
        why = self._objects.unfit_key(self._format, progress)
        if why and (choice is KeyChoice.AS_IS or not self._writes.converted):
            raise UsageError(why, remedy=Remedy.KEYS)
        if why:
            self._choice = KeyChoice(self._writes.converted)

    def options(self, format: str, settings: dict[str, Any], given: dict[str, Any], *, folder: bool) -> dict[str, Any]:
        """Return the options for writing: those `given`, and others derived from the settings of the source."""
        kept = settings if format == self._format else {}
        if self._earlier is not None:
            kept = kept | self._earlier.header
        inherited = {name: kept[name] for name in self._writes.settings if name in kept and name not in given}
        if self._writes.inherited is not None:
            inherited |= self._writes.inherited(kept, given, folder, self._choice is not KeyChoice.AS_IS)
        stated = settings if self._earlier is None else self._earlier.header
        named = {*inherited, *given, *(["spec"] if "template" in inherited else [])}
        self._settings = [
            self._setting_lost(name, value)
            for name, value in stated.items()
            if name not in named and (isinstance(value, Mapping) or name == "expiry")
        ]
        values = dict(inherited) | given
        typed = {name: self._options[name].value_of(value) for name, value in values.items() if name in self._options}
        self._checksum = self._writes.checksum(typed) if self._writes.checksum is not None else ""
        if self._writes.keys is KeyRule.CONTENT and self._choice is KeyChoice.SHA256:
            # The key itself is the digest, which verification compares with the content.
            self._checksum = KeyChoice.SHA256.value
        return values

    def items(self) -> Generator[InputItem | InputBatch]:
        known: set[bytes] = set()
        number = 0
        as_is = self._choice is KeyChoice.AS_IS and self._writes.keys is not KeyRule.NONE
        self._objects.batched = as_is and self._earlier is None
        with closing(self._objects.objects()) as objects:
            for source in objects:
                if isinstance(source, InputBatch):
                    self._compare_checksum(self._objects.checksum, len(source.keys))
                    yield source
                    number += len(source.keys)
                    continue
                self._revived += source.record.ref.state is State.TOMBSTONED
                self._compare_checksum(source.record.checksum)
                if self._earlier is not None:
                    for one, line, parts in self._earlier.of(source):
                        yield self._restored(one, line, parts)
                    continue
                for part, name in source.record.names.items():
                    if not part or part not in self._writes.parts:
                        yield self._item(source, part, name, number, known)
                        number += 1
        if self._earlier is not None:
            self._earlier.check()

    def losses(self) -> list[Loss]:
        """Return the losses; complete only after all items were consumed."""
        found = [
            Loss(LossKind.OBJECTS, what, count, f"left out: {plural(count, what)}")
            for what, count in self._objects.left.items()
        ]
        found += self._settings
        found += [
            Loss(LossKind.FACT, name, count, f"{self._format} cannot store {name} ({plural(count, 'object')})")
            for name, count in self._dropped.items()
        ]
        merged = f"{plural(self._merged, 'object')} merged with another of the same content"
        renamed = f"{plural(self._renamed, 'key')} replaced by the {self._choice.value} of the object"
        revived = f"{plural(self._revived, 'tombstoned object')} written without tombstone: readers return them again"
        counted = [
            Loss(LossKind.KEYS, self._choice.value, self._renamed, renamed),
            Loss(LossKind.KEYS, "merged", self._merged, merged),
            Loss(LossKind.STATE, "tombstoned", self._revived, revived),
        ]
        found += [loss for loss in counted if loss.objects]
        after = f"with {self._checksum}" if self._checksum else "without a checksum"
        found += [
            Loss(LossKind.CHECKSUM, name, count, f"{plural(count, 'content')} stored {after} (before: {name})")
            for name, count in self._weaker.items()
        ]
        return found

    def _setting_lost(self, name: str, value: Any) -> Loss:
        if not isinstance(value, Mapping):
            shown = visible(str(value))[:LONGEST_NAME]
            return Loss(LossKind.SETTING, name, 0, f"{self._format} cannot store {name} ({shown})")
        members = [visible(str(member))[:LONGEST_NAME] for member in islice(value, MOST_NAMED)]
        listed = ", ".join([*members, *(["…"] if len(value) > MOST_NAMED else [])])
        text = f"{self._format} cannot store {visible(name)} ({listed})"
        if name == "footer":
            text = f"left out: fields of the footer ({listed})"
        if name == "key_spaces":
            text = f"left out: {plural(len(value), 'other key space')} of the info ({listed})"
        return Loss(LossKind.SETTING, name, 0, text)

    def _compare_checksum(self, checksum: str, objects: int = 1) -> None:
        if self._earlier is None and strength(checksum) > strength(self._checksum):
            self._weaker[checksum] += objects

    def _restored(self, source: SourceObject, line: dict[str, Any], parts: dict[str, Content]) -> InputItem:
        record, key = source.record, line.get("key")
        before = {name: value for name, value in line.items() if name not in (*KNOWN, "stored", "row", "rows")}
        # Metadata that only the present format added does not belong to the original object.
        name = key if key is not None else record.names.get("", "")
        content, given = self._array_file(record, name, source.content(""))
        facts, rest = self._sorted_facts(before if self._between else given | before)
        mine = {part: content for part, content in parts.items() if part in self._writes.parts}
        mine |= self._own_parts(source)
        content, sized = self._sized(content)
        if self._writes.keys is KeyRule.NONE:
            sized |= rest
            return InputItem(None, content, name, name, mine, facts, was=key, recorded=sized)
        return InputItem(key, content, name, name, mine, facts, recorded=rest)

    def _item(self, source: SourceObject, part: str, name: str, number: int, known: set[bytes]) -> InputItem:
        ref, content = source.record.ref, source.content(part)
        old = ref.key if ref.key is not None else name
        label = f"{old} ({part})" if part else old
        if not part:
            content, given = self._array_file(source.record, old, content)
        facts, rest = self._sorted_facts(given) if not part else ({}, {})
        recorded = rest | ({"part": part} if part else {})
        parts = self._own_parts(source) if not part else {}
        # Parts that the format cannot store are separate objects.
        apart = any(one and one not in self._writes.parts for one in source.record.names)
        key: str | None = name if part or apart else old
        if self._writes.keys is KeyRule.NONE:
            if self._choice is KeyChoice.NUMBER:
                name = str(number)
            elif self._choice is KeyChoice.SHA256 and not isinstance(content, Sized):
                digest, content = _digested(content)
                name = digest.hex()
            content, sized = self._sized(content)
            sized |= recorded
            return InputItem(None, content, label, name, parts, facts, was=old, recorded=sized)
        if self._choice is KeyChoice.NUMBER:
            key = str(number)
        elif self._choice is KeyChoice.NAME:
            key = name
        elif self._choice is KeyChoice.SHA256 and isinstance(content, Sized):
            self.guessed = True
            key = hashlib.sha256(b"%d" % number).hexdigest()
        elif self._choice is KeyChoice.SHA256:
            digest, content = _digested(content)
            key = digest.hex()
            if digest in known:
                self._merged += 1
                return InputItem(key, b"", label, name, was=old, recorded=recorded, known=key)
            known.add(digest)
        self._renamed += key != old and self._choice is not KeyChoice.AS_IS
        return InputItem(key, content, label, name, parts, facts, was=old, recorded=recorded)

    def _sized(self, content: Content) -> tuple[Content, dict[str, Any]]:
        """Return a content to write, and manifest metadata: its size, set when it is read, if contents are joined."""
        if not self._joined:
            return content, {}
        sized: dict[str, Any] = {"size": 0}

        def counted() -> Iterator[bytes]:
            with opened(content) as data:
                for piece in pieces_of(data):
                    sized["size"] += len(piece)
                    yield bytes(piece)

        if isinstance(content, Sized):
            return content, {"size": content.size}
        return counted, sized

    def _own_parts(self, source: SourceObject) -> dict[str, Content]:
        return {part: source.content(part) for part in source.record.names if part and part in self._writes.parts}

    def _array_file(self, record: ObjectRecord, name: str, content: Content) -> tuple[Content, dict[str, Any]]:
        """Return content and metadata; an array named `*.npy` becomes a .npy file if the target has no arrays."""
        head = record.head
        if not head or not name.lower().endswith(NPY) or "dtype" in self._facts:
            return content, record.facts
        rest = {name: value for name, value in record.facts.items() if name not in ("dtype", "shape", "order")}
        if isinstance(content, Sized):
            return Sized(len(head) + content.size), rest

        def headed() -> Iterator[bytes]:
            yield head
            with opened(content) as data:
                yield from map(bytes, pieces_of(data))

        return headed, rest

    def _sorted_facts(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        mine: dict[str, Any] = {}
        rest: dict[str, Any] = {}
        for name, value in given.items():
            if value in NOTHING:
                continue
            try:
                fits = name in self._facts and self._facts[name].value_of(value) is not None
            except UsageError:
                fits = False
            (mine if fits else rest)[name] = value
        self._dropped.update(rest.keys())
        return mine, rest


def _always(content: Content) -> Callable[[str], Content]:
    return lambda _: content


def strength(checksum: str) -> int:
    return CHECKSUMS.index(checksum) if checksum in CHECKSUMS else 0


def _limited(
    items: Generator[InputItem | InputBatch], budget: Budget, limit: int | None
) -> Generator[InputItem | InputBatch]:
    """Limit the total uncompressed bytes, since a few stored bytes can expand to any number."""
    total = 0

    def count(size: int) -> None:
        nonlocal total
        total += size
        most = budget.most if limit is None else limit
        # Duplicate contents are read for their digests, so they count as well.
        if most and max(total, (budget.read + budget.expanded) // 3) > most:
            stored = f", the limit for {plural(budget.stored, 'stored byte')}" if limit is None else ""
            raise LimitExceeded(f"the contents exceed {plural(most, 'byte')} in total{stored}")

    def pieces(data: Data) -> Iterator[bytes]:
        for piece in pieces_of(data):
            count(len(piece))
            yield bytes(piece)

    def begun(content: Callable[[], Data]) -> Data:
        data = content()
        if not isinstance(data, bytes):
            return pieces(data)
        count(len(data))
        return data

    def counted(content: Content) -> Content:
        return partial(begun, content) if callable(content) else content

    with closing(items):
        for item in items:
            if isinstance(item, InputBatch):
                count(sum(map(len, item.contents)))
                yield item
                continue
            count(len(item.content) if isinstance(item.content, bytes) else 0)
            parts = {part: counted(content) for part, content in item.parts.items()}
            yield replace(item, content=counted(item.content), parts=parts)


def _digested(content: Content) -> tuple[bytes, Content]:
    """Return the sha256 of a content, and the content to write: its bytes if small, else itself, to be read again."""
    digest, held, size = hashlib.sha256(), [], 0
    with opened(content) as data:
        for piece in pieces_of(data):
            digest.update(piece)
            size += len(piece)
            if size <= STREAM_PIECE:
                held.append(bytes(piece))
    return digest.digest(), b"".join(held) if size <= STREAM_PIECE else content
