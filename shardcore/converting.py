"""Converting: every object of an opened shard into another format, content streamed, keys by a rule that is stated."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from shardcore.budget import CHECKED_FLOOR, CHECKED_RATIO, Budget, budgeted
from shardcore.dataset import DataSet
from shardcore.errors import LimitExceeded, Remedy, UsageError
from shardcore.finding import Depth
from shardcore.format import Format
from shardcore.member_contents import TakenAsked, Told
from shardcore.options import Purpose
from shardcore.packing import Packed, write_items
from shardcore.progress import Progress, no_progress
from shardcore.registry import format_of, writes_of
from shardcore.shard import Shard
from shardcore.sources.local import FileSource, LocalFolder
from shardcore.taken import Taken, Taking, taking
from shardcore.text import short
from shardcore.words import plural
from shardcore.writing.declared import KeyRule, Writes
from shardcore.writing.inputs import place_of, would_be_lost
from shardcore.writing.items import Content, Item, opened
from shardcore.writing.temporary import STREAM_PIECE
from shardcore.writing.writer import Data, Sized, pieces_of

NOTHING: tuple[Any, ...] = (None, "", "none", {}, [])
"""Facts that say nothing: that there is no metadata, that nothing is compressed."""


class KeyChoice(StrEnum):
    """Where the keys of the new shard come from."""

    USUAL = ""
    """As they are where all of them fit the format; else by its own rule: sha256, number."""
    AS_IS = "as-is"
    """The text of the key."""
    SHA256 = "sha256"
    """The sha256 of the content; equal contents become one object."""
    NUMBER = "number"
    """The number of the object, from 0, in the order of the rows."""
    NAME = "name"
    """The name that the object has as a file."""


def convert(
    shard: Shard,
    format: str,
    out: str | Path,
    *,
    keys: KeyChoice | str = KeyChoice.USUAL,
    deleted: bool = False,
    options: Mapping[str, Any] | None = None,
    force: bool = False,
    plan: bool = False,
    unread: bool = False,
    verify: Depth = Depth.CONTENT,
    limit: int | None = None,
    progress: Progress = no_progress,
    verifying: Progress | None = None,
    checking: Progress | None = None,
) -> Packed:
    """Writes all objects of a shard or data set into a new one of another format, and reads it back.

    Members of a data set are opened and closed one after the other, several at a time as `Shard.jobs` says.

    Kinds that are parts of others are left out (of mdb shards the xorbs and chunks); so are objects that were deleted.
    Parts (the fragments of a mesh) go with their object, or become objects of their own, under the names that they have
    as files.

    Args:
        shard: What is converted.
        format: The name of the format to write.
        out: As in `pack`.
        keys: The rule for keys.
        deleted: Whether tombstoned objects are taken, where the shard was opened to serve them.
        options: Options that the format declares for writing.
        force: As in `pack`.
        plan: As in `pack`.
        unread: As in `pack`.
        verify: As in `pack`.
        limit: Most bytes of all contents together; 0 for no limit. By default 512 MiB and 64 times what is stored.
        progress: Called after every object. How many there are is said by the share of the members that are done
            where a data set was not looked through before.
        verifying: As in `pack`.
        checking: Called while the keys of a data set are looked through, where its objects may keep them.

    Returns:
        What was written; the notes say what was left out, and which facts have no place.

    Raises:
        UsageError: A key or an option does not fit.
        FormatError: An object is damaged.
        LimitExceeded: The contents have more bytes than `limit`.
        NotAShard: A member of a data set is none.
        SourceError: Bytes cannot be had or written.
    """
    try:
        choice = KeyChoice(keys)
    except ValueError:
        known = ", ".join(one.value for one in KeyChoice if one.value)
        raise UsageError(f"keys are made by {known}, not {short(keys)}") from None
    found = format_of(format)
    _check_apart(shard, Path(out))
    objects = taking(shard, TakenAsked(deleted, plan and unread, shard.jobs))
    source = _Source(objects, found)
    source.decide(choice, checking or no_progress)
    with budgeted(taking=True) as budget, closing(_limited(source.items(), budget, limit)) as items:
        done = write_items(
            found,
            out,
            items,
            options or {},
            force=force,
            plan=plan,
            verify=verify,
            progress=lambda number, total: progress(number, max(total, objects.expected(number))),
            verifying=verifying or progress,
        )
    planned = replace(done.plan, exact=done.plan.exact and not source.guessed) if done.plan is not None else None
    return replace(done, plan=planned, notes=(*source.notes(), *done.notes))


def _check_apart(shard: Shard, out: Path) -> None:
    """Looks whether what is read would be replaced: the file itself, the folder of the data set, or a file in it.

    Raises:
        UsageError: It would.
    """
    target = place_of(out, follow=out.is_dir())
    if target is None:
        return
    if isinstance(shard.source, FileSource) and place_of(shard.source.path) == target:
        raise would_be_lost(out)
    if isinstance(shard, DataSet) and isinstance(shard.folder, LocalFolder):
        folder = place_of(shard.folder.path)
        if folder == target or (not out.is_dir() and folder in map(place_of, out.absolute().parents)):
            raise would_be_lost(out)


class _Source:
    """The objects of a shard as items for a format.

    Args:
        taking: The objects.
        found: The format.

    Attributes:
        guessed: Whether keys are made up, because contents are not read.
    """

    def __init__(self, taking: Taking, found: Format) -> None:
        self._taking = taking
        self.guessed = False
        self._writes: Writes = writes_of(found)
        self._format = found.name
        self._facts = {option.name: option for option in found.options_for(Purpose.FACT)}
        self._choice = KeyChoice.AS_IS
        self._dropped: dict[str, int] = {}
        self._merged = 0

    def decide(self, choice: KeyChoice, progress: Progress = no_progress) -> None:
        """Settles the rule for keys.

        Args:
            choice: What was chosen.
            progress: Called while keys are looked through.

        Raises:
            UsageError: Keys are to stay as they are, and one does not fit.
        """
        if self._writes.keys is KeyRule.NONE:
            self._choice = KeyChoice.AS_IS
            return
        self._choice = choice or KeyChoice.AS_IS
        if choice not in (KeyChoice.USUAL, KeyChoice.AS_IS):
            return
        why = self._taking.misfit(self._format, progress)
        if not why:
            return
        if choice is not KeyChoice.USUAL or not self._writes.converted:
            raise UsageError(why, remedy=Remedy.KEYS)
        self._choice = KeyChoice(self._writes.converted)

    def items(self) -> Generator[Item]:
        """The objects, in the order of the rows."""
        known: set[bytes] = set()
        number = 0
        with closing(self._taking.objects()) as objects:
            for taken in objects:
                for part, name in taken.told.names.items():
                    if not part or part not in self._writes.parts:
                        yield self._item(taken, part, name, number, known)
                        number += 1

    def notes(self) -> list[str]:
        """What was left out or has no place, a sentence each."""
        told = [f"left out: {plural(count, what)}" for what, count in self._taking.left.items()]
        told += [
            f"{self._format} has no place for {name} ({plural(count, 'object')})"
            for name, count in self._dropped.items()
        ]
        if self._merged:
            told.append(f"{plural(self._merged, 'object')} with the content of another one became one with it")
        return told

    def _item(self, taken: Taken, part: str, name: str, number: int, known: set[bytes]) -> Item:
        ref, content = taken.told.ref, taken.content(part)
        old = ref.key if ref.key is not None else name
        label = f"{old} ({part})" if part else old
        facts, rest = self._sorted_facts(taken.told) if not part else ({}, {})
        told = rest | ({"part": part} if part else {})
        parts = self._own_parts(taken) if not part else {}
        key: str | None = name if part or self._apart(taken.told) else old
        if self._writes.keys is KeyRule.NONE:
            return Item(None, content, label, name, parts, facts, was=old, told=told)
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
                return Item(key, b"", label, name, was=old, told=told, known=key)
            known.add(digest)
        return Item(key, content, label, name, parts, facts, was=old, told=told)

    def _apart(self, told: Told) -> bool:
        """Whether the parts of an object become objects of their own: the format has no place for them."""
        return any(part and part not in self._writes.parts for part in told.names)

    def _own_parts(self, taken: Taken) -> dict[str, Content]:
        return {part: taken.content(part) for part in taken.told.names if part and part in self._writes.parts}

    def _sorted_facts(self, told: Told) -> tuple[dict[str, Any], dict[str, Any]]:
        """The facts of an object that the format has a place for, and the others."""
        mine: dict[str, Any] = {}
        rest: dict[str, Any] = {}
        for name, value in told.facts.items():
            if value in NOTHING:
                continue
            try:
                fits = name in self._facts and self._facts[name].value_of(value) is not None
            except UsageError:
                fits = False
            (mine if fits else rest)[name] = value
        for name in rest:
            self._dropped[name] = self._dropped.get(name, 0) + 1
        return mine, rest


def _limited(items: Generator[Item], budget: Budget, limit: int | None) -> Generator[Item]:
    """Items whose contents together stay within a limit: a few stored bytes can expand to any number.

    Args:
        items: The items.
        budget: That of the operation, which counts what the files store.
        limit: See `convert`.

    Raises:
        LimitExceeded: While a content is read: they have more bytes.
    """
    total = 0

    def counted(content: Content) -> Content:
        return (lambda: _counted(content())) if callable(content) else content

    def count(size: int) -> None:
        nonlocal total
        total += size
        most = CHECKED_FLOOR + CHECKED_RATIO * budget.stored if limit is None else limit
        # Contents that are read for their digests, and found to be equal, cost as well.
        if most and max(total, (budget.read + budget.expanded) // 3) > most:
            stored = f", for {plural(budget.stored, 'stored byte')}" if limit is None else ""
            raise LimitExceeded(f"the contents have more than {plural(most, 'byte')} together{stored}")

    def _counted(data: Data) -> Data:
        if isinstance(data, Sized):
            return data
        if isinstance(data, bytes):
            count(len(data))
            return data
        return pieces(data)

    def pieces(data: Data) -> Iterator[bytes]:
        for piece in pieces_of(data):
            count(len(piece))
            yield bytes(piece)

    with closing(items):
        for item in items:
            count(len(item.content) if isinstance(item.content, bytes) else 0)
            parts = {part: counted(content) for part, content in item.parts.items()}
            yield replace(item, content=counted(item.content), parts=parts)


def _digested(content: Content) -> tuple[bytes, Content]:
    """The sha256 of a content, and the content: short ones are read once only."""
    digest, held, size = hashlib.sha256(), [], 0
    with opened(content) as data:
        for piece in pieces_of(data):
            digest.update(piece)
            size += len(piece)
            if size <= STREAM_PIECE:
                held.append(bytes(piece))
    return digest.digest(), b"".join(held) if size <= STREAM_PIECE else content
