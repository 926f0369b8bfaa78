"""Manifests in JSON: reading lists of objects to write (file, key, metadata), and writing lists of written objects."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from shardcore.codecs.json_text import FREE, JsonLimits, parse_json
from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, SourceError, UsageError, reported_as
from shardcore.model.objects import NoObjects
from shardcore.model.options import Option
from shardcore.model.section import Section, SectionRole
from shardcore.model.text import short
from shardcore.sources.local import open_side_file
from shardcore.sources.location import local_path
from shardcore.writing.inputs import NOTHING_STATED, InputBatch, InputItem, LeftOut, Skipped, Stated
from shardcore.writing.output import Output
from shardcore.writing.plan import PlannedFile
from shardcore.writing.temporary import Draining, TemporaryFile, exists_error, is_replaceable
from shardcore.writing.temporary_names import stem_of, sweep
from shardcore.writing.writer import OddName

KNOWN = frozenset(("path", "key", "part", "size", "sha256", "state", "error", "skipped"))
"""JSON members of an object that are not metadata. `size` and `sha256` are compared with its file while it is read."""

_SHA256 = re.compile(r"[0-9a-fA-F]{64}")

WHOLE = JsonLimits(size=1 << 28, digits=FREE.digits)
"""Limits of a manifest with another layout than one object per line; it is parsed as a whole."""

RESULT = ".manifest.json"


class LossKind(StrEnum):
    OBJECTS = "objects"
    """Objects are left out."""
    KEYS = "keys"
    """Keys change, or objects are merged."""
    FACT = "fact"
    """Metadata of objects is not stored."""
    SETTING = "setting"
    """Metadata of the whole shard is not stored."""
    STATE = "state"
    """Deleted objects are no longer marked as deleted."""
    CHECKSUM = "checksum"
    """Contents have a weaker checksum, or none."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Loss of information in a conversion.

    Attributes:
        name: Name of the metadata, setting, state, checksum or kind of object.
        objects: Number of objects concerned; 0 for all.
        text: Message.
    """

    kind: LossKind
    name: str
    objects: int
    text: str

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind.value, "name": self.name, "objects": self.objects, "text": self.text}


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """Header and losses of a conversion for the result manifest; `losses` is called after all objects are written."""

    header: Mapping[str, Any]
    losses: Callable[[], Sequence[Loss]]


class ManifestReader:
    """Streaming reader of a manifest: JSON Lines, or the `manifest.json` of `extract`.

    Args:
        where: Path of the manifest; `-` for standard input, where paths are relative to the working folder.
        declared: Metadata that the target format can store.
        format: Name of the target format.
        objects: Whether the objects are parsed; otherwise only the members before and after them.

    Attributes:
        header: Members before the objects (`format`, `spec`); empty for JSON Lines.
        opening: Options for opening the shard, unchecked. It follows the objects, and is None until these are read.
        dropped: Metadata from another format that the target cannot store: name to number of objects.
    """

    def __init__(
        self, where: str | Path, declared: tuple[Option, ...] = (), format: str = "", *, objects: bool = True
    ) -> None:
        self.name = "the manifest" if str(where) == "-" else str(where)
        self._where = where = where if str(where) == "-" else local_path(where)
        self._folder = Path() if where == "-" else Path(where).parent
        self._below = "" if self._folder == Path() else str(self._folder)
        self._declared = {option.name for option in declared}
        self._format = format
        self.header: dict[str, Any] = {}
        self.opening: Any = None
        self.dropped: dict[str, int] = {}
        self._objects = objects
        self._lines = self._read()
        # Read ahead to the first object, so that the header is available at once.
        self._first = next(self._lines, None)

    def close(self) -> None:
        self._lines.close()

    @property
    def is_one(self) -> bool:
        """True if the file is a manifest: its first line is valid, or it is empty."""
        if self._first is None:
            return not self.header or "objects" in self.header or "format" in self.header
        return isinstance(self._first[1].get("path"), str)

    def lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield line numbers and objects; UsageError for an invalid line."""
        if self._first is not None:
            yield self._first
            yield from self._lines

    def paths(self) -> Iterator[str]:
        """Yield the paths of the listed files as text, since creating a `Path` is slower than a `stat`."""
        folder = str(self._folder)
        for _, members in self.lines():
            path = members.get("path")
            if isinstance(path, str) and path and members.get("state") not in ("unused", "deleted"):
                yield os.path.join(folder, path)  # noqa: PTH118

    def items(self, key_of: Callable[[str], str | None], left_out: LeftOut | None = None) -> Iterator[InputItem]:
        """Yield the objects in the order of the lines; a part is merged into the object before it.

        `key_of` returns the key for a file name if the line has none; see `Writes.key_of`.
        """
        held: InputItem | None = None
        for number, members in self.lines():
            if members.get("state") in ("unused", "deleted"):
                continue
            try:
                made = self._item(number, members, key_of)
            except OddName as error:
                (left_out or LeftOut()).fail(str(self._folder / members["path"]), error)
                continue
            part = members.get("part", "")
            if not part:
                if held is not None:
                    yield held
                held = made
            elif held is None or held.key != made.key:
                raise self._wrong(number, f"the part {short(part)} must follow its object")
            else:
                held.parts[str(part)] = made.content  # type: ignore[index]
                held.stated[str(part)] = made.stated[""]  # type: ignore[index]
        if held is not None:
            yield held

    def _item(self, number: int, members: dict[str, Any], key_of: Callable[[str], str | None]) -> InputItem:
        path, key = members.get("path"), members.get("key")
        for what in ("error", "skipped"):
            if members.get(what):
                raise self._wrong(number, f"{short(key)} has no file: {members[what]}")
        if not isinstance(path, str) or not path:
            raise self._wrong(number, "`path` is missing")
        if key is not None and not isinstance(key, str):
            raise self._wrong(number, f"a key must be a string, not {short(key)}")
        where = os.path.join(self._below, path)  # noqa: PTH118 - a `Path` of each file takes longer than reading it
        label, facts = f"{where} ({self.name}, line {number})", self._facts(number, members)
        stated = {"": self._stated(number, members)}
        try:
            return InputItem(key if key is not None else key_of(path), where, label, path, {}, facts, stated=stated)
        except UsageError as error:
            raise OddName(self._wrong(number, error.message).message) from None

    def _stated(self, number: int, members: dict[str, Any]) -> Stated:
        size, digest = members.get("size"), members.get("sha256")
        if size is None and digest is None:
            return NOTHING_STATED
        if size is not None and (type(size) is not int or size < 0):
            raise self._wrong(number, f"size must be a number of bytes, not {short(size)}")
        if digest in (None, ""):
            return Stated(size)
        if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
            raise self._wrong(number, f"sha256 must be 64 hex digits, not {short(digest)}")
        return Stated(size, digest.lower())

    def _facts(self, number: int, members: dict[str, Any]) -> dict[str, Any]:
        if not members.keys() - KNOWN:
            return {}
        facts = {name: value for name, value in members.items() if name not in KNOWN and value is not None}
        for name in [name for name in facts if name not in self._declared]:
            foreign = self.header.get("format", self._format) != self._format
            if not foreign:
                there = ", ".join(sorted(self._declared)) or "none"
                raise self._wrong(number, f"{self._format} cannot store {short(name)} (supported: {there})")
            self.dropped[name] = self.dropped.get(name, 0) + bool(facts.pop(name))
        return facts

    def _wrong(self, number: int, why: str) -> UsageError:
        return UsageError(f"{self.name}, line {number}: {why}")

    def _read(self) -> Generator[tuple[int, dict[str, Any]]]:
        with reported_as(f"cannot read {self.name}"):
            try:
                if str(self._where) == "-":
                    yield from self._parsed(iter(sys.stdin))
                else:
                    with TextIOWrapper(open_side_file(self._where, named=True), encoding="utf-8-sig") as stream:
                        yield from self._parsed(stream)
            except UnicodeDecodeError as error:
                raise SourceError(f"cannot read {self.name}: it is not UTF-8 text") from error

    def _parsed(self, stream: Iterable[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        lines = enumerate(stream, 1)
        number, first = next((one for one in lines if one[1].strip()), (0, ""))
        if not first:
            return
        # Standard input may also begin with a byte order mark.
        first = first.removeprefix("\ufeff")
        if first.strip() == "{":
            yield from self._long_form(lines, number)
            return
        members = self._object(number, first)
        if isinstance(members.get("objects"), list):
            yield from self._listed(members, number)
            return
        yield number, members
        yield from ((number, self._object(number, line)) for number, line in lines if line.strip())

    def _long_form(self, lines: Iterator[tuple[int, str]], begin: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """Read the form that `extract` writes: a header, then one object per line. Other JSON is loaded as a whole."""
        head = ["{\n"]
        for _, line in lines:
            head.append(line)
            if line.strip() == '"objects": [':
                break
        text = "".join(head[:-1]).rstrip().rstrip(",") + "}"
        if head[-1].strip() != '"objects": [' or not text.startswith("{"):
            yield from self._at_once("".join(head), begin)
            return
        self.header = self._object(begin, text)
        number = begin + len(head) - 1
        for number, line in lines:
            entry = line.strip()
            if entry == "{":
                # Indented by another program.
                yield from self._at_once("".join([*head, line, *(rest for _, rest in lines)]), begin)
                return
            if entry.startswith("]"):
                rest = "".join([entry[1:], *(rest for _, rest in lines)]).lstrip().removeprefix(",")
                if '"opening"' in rest:
                    self.opening = self._object(number, "{" + rest)["opening"]
                return
            if entry and self._objects:
                yield number, self._object(number, entry.removesuffix(","))
        raise self._wrong(number, "the file ends in the middle of `objects`")

    def _at_once(self, text: str, number: int) -> Iterator[tuple[int, dict[str, Any]]]:
        members = self._object(number, text, WHOLE)
        if not isinstance(members.get("objects"), list):
            raise self._wrong(number, "a manifest needs `objects`, or one object per line")
        yield from self._listed(members, number)

    def _listed(self, members: dict[str, Any], number: int) -> Iterator[tuple[int, dict[str, Any]]]:
        self.opening = members.get("opening")
        self.header = {name: value for name, value in members.items() if name not in ("objects", "opening")}
        yield from ((number, self._checked(number, one)) for one in members["objects"])

    def _object(self, number: int, text: str, limits: JsonLimits = FREE) -> dict[str, Any]:
        try:
            return self._checked(number, parse_json(text, "it", limits=limits))
        except FormatError as error:
            raise self._wrong(number, error.message) from None

    def _checked(self, number: int, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._wrong(number, f'{short(value)} is not an object, such as {{"path": "a.txt"}}')
        return value


def opening_in(where: str | Path) -> Mapping[str, Any]:
    """Return the options for opening the shard that a manifest of `convert`, `pack` or `extract` describes.

    Raises:
        UsageError: The file is not such a manifest.
        SourceError: The file cannot be read.
    """
    read = ManifestReader(where, objects=False)
    read.close()
    if not isinstance(read.header.get("format"), str):
        raise UsageError(f"{read.name} is not a manifest of convert, pack or extract: `format` is missing")
    # With `source`, the `spec` in the header belongs to the shard that was converted.
    found = read.opening if "source" in read.header or read.opening else {"spec": read.header.get("spec")}
    # Only JSON objects: a text might be a path, by which a manifest could have any file opened.
    return {name: value for name, value in found.items() if isinstance(value, dict)} if isinstance(found, dict) else {}


class ResultManifest:
    """Manifest of the objects in a written shard.

    Without `path`, it lists only objects with a changed key, old and new, and is written only if there are any, as
    `OUT.manifest.json` beside a file or `manifest.json` in a folder. With `path`, it is written there, and lists all
    objects and the skipped inputs.
    """

    def __init__(
        self, output: Output, format: str, path: Path | None = None, source: SourceRecord | None = None
    ) -> None:
        self._output = output
        self._header = {"format": format} | dict(source.header if source is not None else {})
        self._source = source
        target = output.target
        self._name = "manifest.json" if output.folder or target is None else target.name + RESULT
        self._file: Draining | None = None
        self._count = 0
        self._row = 0
        self._begun = False
        self._all = path is not None
        self._report: TemporaryFile | None = None
        if path is None or output.planning:
            return
        if os.path.lexists(path) and not (output.force and is_replaceable(path)):
            raise exists_error(path)
        sweep(path.parent, stem_of(path))
        self._file = self._report = TemporaryFile(path)
        self._report.hold()
        self._begin()

    def note(self, item: InputItem, stored: str, rows: int | None = None) -> None:
        """Record one object of the written shard.

        `stored` is its new key; empty if the format has no keys. `rows` is the number of its rows; None means one.
        """
        first = self._row
        self._row += 1 if rows is None else rows
        key = item.old_key
        if not self._all and (key is None or key == stored) and not item.recorded:
            return
        if self._all and self._file is None:
            return
        self._begin()
        row = {"stored": stored} if stored else {"row": first, "rows": rows}
        line = {"key": key} | row | dict(item.recorded)
        if self._all:
            line = {"path": item.origin} | line
        self._line({name: value for name, value in line.items() if value is not None or name == "key"})

    def note_batch(self, batch: InputBatch, stored: Sequence[str]) -> None:
        """Record objects, each of which is one row; see `note`."""
        if stored == batch.keys and not self._all:
            self._row += len(stored)
            return
        for item, key in zip(batch.items(), stored, strict=True):
            self.note(item, key)

    def end(self, skipped: Sequence[Skipped] = (), opening: Mapping[str, Any] | None = None) -> None:
        losses = self._source.losses() if self._source is not None else ()
        # Leave out paths, such as that of the xorbs.
        stated = {name: json.loads(value) for name, value in (opening or {}).items() if value.startswith("{")}
        if (losses or (stated and self._source is not None)) and not self._all:
            self._begin()
        if self._file is None:
            return
        if self._all:
            for one in skipped:
                self._line({"path": one.name, "error": one.why})
        listed = ",".join("\n  " + json.dumps(one.to_json()) for one in losses)
        self._write("\n ]" + (f',\n "losses": [{listed}\n ]' if losses else ""))
        if stated:
            self._write(f',\n "opening": {json.dumps(stated)}')
        self._write("\n}\n")
        self._file.complete(self._count)

    def appear(self) -> None:
        """Rename the file at `path` to its final name; without `path`, the manifest is renamed with the shard."""
        if self._report is not None:
            self._report.appear(force=self._output.force)

    def discard(self) -> None:
        if self._report is not None:
            self._report.discard()

    def _begin(self) -> None:
        if self._file is None:
            self._file = self._output.open(self._name, last=True)
        if not self._begun:
            self._begun = True
            members = "".join(f" {json.dumps(name)}: {json.dumps(value)},\n" for name, value in self._header.items())
            self._write("{\n" + members + ' "objects": [')

    @property
    def planned(self) -> tuple[PlannedFile, ...]:
        """The manifest as a planned file; empty if none will be written."""
        if self._file is None or self._all:
            return ()
        section = Section("manifest", SectionRole.METADATA, 0, self._file.at, "Old and new key of each object.")
        return (PlannedFile(self._name, self._file.at, (section,), NoObjects()),)

    def _line(self, members: Mapping[str, Any]) -> None:
        self._write((",\n  " if self._count else "\n  ") + json.dumps(members))
        self._count += 1

    def _write(self, text: str) -> None:
        if self._file is not None:
            self._file.write(text.encode("ascii"))
