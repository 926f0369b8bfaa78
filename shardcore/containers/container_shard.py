"""Base classes of containers (zip, npy, safetensors …): each part is an object, with lookup and verification."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.decompress import SHOWN_LIMIT, decompress_shown, decompress_stream
from shardcore.dataclasses import dataclass, field, replace
from shardcore.errors import (
    DEFAULT_LIMIT,
    BadChecksum,
    FormatError,
    KeyAbsent,
    LimitExceeded,
    ShardError,
    SourceError,
    Unsupported,
)
from shardcore.model.computed_children import Extents, grouped, section_nodes
from shardcore.model.finding import ContentBudget, Depth, Findings, Report
from shardcore.model.node import Node
from shardcore.model.objects import ColumnObjects, ObjectColumns, ObjectRef, Objects, State
from shardcore.model.record import FieldRole, Value
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import SourceName, Span, decoded_name
from shardcore.model.text import plural, short
from shardcore.progress import Progress, no_progress
from shardcore.shards.cache import Once
from shardcore.shards.file_shard import FileShard
from shardcore.shards.shard import SourcePart, read_content_range
from shardcore.shards.trace import LookupRecorder
from shardcore.sources.base import Source, read_pieces
from shardcore.sources.memory import BytesSource

_MOST = 1 << 62


@dataclass(frozen=True, slots=True)
class ContainerPart:
    """Part of a container: a member, tensor, frame or array.

    Attributes:
        key: Name or number in the container.
        start: Start of the stored content.
        stop: End of the stored content.
        size: Uncompressed size in bytes; -1 if unknown.
        record: Span of the bytes that describe the part.
        error: Error if the part cannot be read; otherwise empty.
    """

    key: str
    start: int
    stop: int
    size: int
    codec: str = "none"
    record: Span | None = None
    error: str = ""
    extras: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fault:
    """Defect of a container; `code` is without the format's name, and `is_error` is False for a warning."""

    code: str
    message: str
    span: Span | None = None
    is_error: bool = True


class PartObjects(ColumnObjects):
    def __init__(self, parts: Sequence[ContainerPart], kind: str) -> None:
        self.parts = parts = [_bounded(part) for part in parts]
        self.kinds = (kind,)
        self.codecs = tuple(dict.fromkeys(part.codec for part in parts))[:256] or ("none",)
        codes = {codec: number for number, codec in enumerate(self.codecs)}
        bad = [bool(part.error) for part in parts]
        starts = [-1 if broken else part.start for part, broken in zip(parts, bad, strict=True)]
        stops = [-1 if broken else part.stop for part, broken in zip(parts, bad, strict=True)]
        columns = ObjectColumns.of(
            np.arange(len(parts)),
            starts,
            stops,
            [part.size for part in parts],
            stored_size=[part.stop - part.start for part in parts],
            codec=[codes.get(part.codec, 0) for part in parts],
            state=np.where(bad, State.DAMAGED, State.LIVE) if parts else [],
        )
        super().__init__(columns, lambda rows: [self.parts[row].key for row in rows.tolist()], self._made)

    def _made(self, row: int) -> ObjectRef:
        part, ref = self.parts[row], self._plain_ref(row)
        return replace(ref, codec=part.codec, error=part.error, extras=dict(part.extras), record=part.record)


def _bounded(part: ContainerPart) -> ContainerPart:
    """Mark a part as damaged if its size or end does not fit into int64; files can declare up to 2^64 bytes."""
    if part.size < _MOST and part.stop < _MOST:
        return part
    error = part.error or f"{short(part.key)} is too large: {max(part.size, part.stop - part.start):,} bytes declared"
    return replace(part, start=0, stop=0, size=-1, error=error)


class ScannedObjects(Objects):
    """Objects of a container that has no list of them; the first access reads the whole file to find the objects."""

    def __init__(self, find: Callable[[], PartObjects], kind: str, codec: str) -> None:
        self._find, self._found = find, Once[PartObjects]()
        self.kinds, self.codecs = (kind,), (codec,)

    @property
    def counted(self) -> bool:
        return self._found.value is not None

    @property
    def found(self) -> PartObjects:
        return self._found.get(self._find)

    def __len__(self) -> int:
        return len(self.found)

    def columns(self, rows: NDArray[np.int64], *, sizes: bool = False) -> ObjectColumns:
        return self.found.columns(rows)

    def key_texts(self, rows: NDArray[np.int64]) -> list[str | None]:
        return self.found.key_texts(rows)

    def ref(self, row: int) -> ObjectRef:
        return self.found.ref(row)


class ContainerFile:
    """Base of container files.

    Attributes:
        header: Header or trailer fields, by name.
        first_step: First step of the trace of each lookup: title, text, span and reason.
        faults: Defects found while opening.
        list_title: Name of the list of parts, such as `Central directory`.
    """

    title = "container"
    list_title = "Header"
    kind = "member"
    first_step: tuple[str, str, Span, str]

    def __init__(self, source: Source) -> None:
        self.source = source
        self.sections: tuple[Section, ...] = ()
        self.header: dict[str, Value] = {}
        self.faults: list[Fault] = []

    def parts_of(self, objects: Objects) -> Sequence[ContainerPart]:
        return objects.found.parts if isinstance(objects, ScannedObjects) else getattr(objects, "parts", ())

    def row_at(self, start: int, stop: int, objects: Objects) -> int | None:
        """Return the row of the part whose stored content is exactly `[start, stop)`, or None."""
        places = (row for row, part in enumerate(self.parts_of(objects)) if (part.start, part.stop) == (start, stop))
        row = next(places, None)
        return row if row is not None and not self.parts_of(objects)[row].error else None

    def makers(self) -> Mapping[str, Callable[[Section], Node]]:
        return {}

    def root(self) -> Node:
        whole, kids = Span("", 0, self.source.size), section_nodes(self.sections, self.makers())
        return Node(self.source.name, whole, text=self.title, children=kids)

    def content_span(self, ref: ObjectRef) -> Span:
        if ref.error or not ref.spans:
            raise FormatError(ref.error or f"{short(ref.key)} has no content", span=ref.record)
        return ref.spans[0]


class SequentialFile(ContainerFile):
    """Container without a list of its parts; the first access reads the whole file to find them."""

    objects: ScannedObjects
    suffix: str

    @property
    def loaded(self) -> bool:
        return self.objects.counted

    def load(self, progress: Progress = no_progress) -> None:
        progress(0, 1)
        len(self.objects)
        progress(1, 1)

    def part_node(self, row: int, part: ContainerPart, span: Span, children: Sequence[Node]) -> Node:
        return Node(
            f"{self.kind} {part.key}",
            span,
            text=plural(part.size, "byte") if part.size >= 0 else "",
            role=FieldRole.DATA,
            error=part.error,
            children=children,
            decoded="" if part.error else decoded_name(part.start, part.stop),
            row=row,
        )


def section_node(section: Section, **more: Any) -> Node:
    return Node(section.name, Span("", section.start, section.stop), doc=section.doc, **more)


def listed_node(
    section: Section, text: str, role: FieldRole, extents: Sequence[tuple[int, int]], node: Callable[[int], Node]
) -> Node:
    """Return the node of a section with many children; `extents` has the byte range of each, `node` creates one."""
    starts, stops = np.array(extents, np.int64).reshape(-1, 2).T

    def describe(first: int, last: int) -> list[Node]:
        return [node(row) for row in range(first, last)]

    return section_node(section, text=text, role=role, children=grouped(Extents(starts, stops, describe)))


class ContainerShard(FileShard):
    """Open container. Keys are names of members and tensors, or numbers of frames."""

    no_loads = "Containers have no slots or buckets, so there is no occupancy to show."

    def __init__(self, format: str, file: ContainerFile, objects: Objects, version: str = "") -> None:
        super().__init__(file, objects, file)
        self.format, self.version = format, version
        self._rows: Once[dict[str, int]] = Once()

    def lookup(self, key: Any, recorder: LookupRecorder) -> ObjectRef:
        """Find a key in the list of parts; if a name is repeated, the last part is returned, as in other readers."""
        title, text, span, why = self.file.first_step
        recorder.step(title, text, span, why=why)
        rows = self._rows.get(self._by_key)
        count, place = len(self.objects), self._list_span()
        if key not in rows:
            recorder.step(
                self.file.list_title,
                f"{plural(count, self.file.kind)}; none is named {short(key)}.",
                place,
                why="All parts are listed, so this one does not exist.",
            )
            raise KeyAbsent(key, span=place)
        ref: ObjectRef = self.objects.ref(rows[key])
        recorder.step(
            self.file.list_title,
            f"Entry {ref.row} of {count:,} is {short(key)}.",
            ref.record or place,
            why="The entry has the offset of the content and its compression.",
        )
        return ref

    def lookup_all(self, key: Any) -> Sequence[ObjectRef]:
        if key not in self._rows.get(self._by_key):
            return ()
        parts = self.file.parts_of(self.objects)
        return tuple(self.objects.ref(row) for row, part in enumerate(parts) if part.key == key)

    def _stream(self, ref: ObjectRef) -> Iterator[bytes]:
        span, crc = self.file.content_span(ref), 0
        chunks = read_pieces(self.file.source, span.start, span.stop)
        wanted = ref.extras.get("crc32")
        expected = ref.size if ref.size >= 0 else None
        if ref.codec == "none":
            pieces: Iterator[bytes] = chunks
        else:
            limit = max(DEFAULT_LIMIT, expected or 0)
            pieces = decompress_stream(ref.codec, chunks, limit=limit, expected=expected, span=span)
        for piece in pieces:
            crc = zlib.crc32(piece, crc) if wanted is not None else 0
            yield piece
        if wanted is not None and f"{crc:08x}" != wanted:
            raise BadChecksum(f"CRC-32 of {short(ref.key)}: computed {crc:08x}, stored {wanted}", span=span)

    def _read_range(self, ref: ObjectRef, start: int, stop: int, limit: int) -> bytes:
        if ref.codec != "none":
            return super()._read_range(ref, start, stop, limit)
        return read_content_range(self.file.source, ref, self.file.content_span(ref), start, stop, limit)

    @property
    def checksum(self) -> str:
        return "crc32" if self.format in ("zip", "gzip") else ""

    def _verify(self, depth: Depth, progress: Progress) -> Report:
        findings = Findings()
        with self.verifying(depth):
            total, checked, without = self._check_all(depth, progress, findings)
        return Report(depth, total, findings.all(), checked, without)

    def _check_all(self, depth: Depth, progress: Progress, findings: Findings) -> tuple[int, int, int]:
        self.load_index(progress)
        total, checked, without = len(self.objects), 0, 0
        for fault in self.file.faults:
            add = findings.error if fault.is_error else findings.warning
            add(f"{self.format}.{fault.code}", fault.span, fault.message)
        budget = ContentBudget(self.file.source.size)
        for row in range(total if depth.reaches(Depth.INDEX) else 0):
            progress(row, total)
            findings.verified = row
            ref = self.objects.ref(row)
            if ref.error:
                findings.error(f"{self.format}.damaged", ref.record, ref.error, key=ref.key)
                checked += 1
            elif depth.reaches(Depth.CONTENT) and budget.takes(max(ref.size, ref.stored_size)):
                without += self._check(ref, findings)
                checked += 1
        budget.report(findings, f"{self.format}.unchecked")
        progress(total, total)
        return total, checked - without, without

    def _check(self, ref: ObjectRef, findings: Findings) -> int:
        """Check a part by reading its content; return 1 if the file has no checksum for it, else 0."""
        try:
            if ref.codec == "none" and "crc32" not in ref.extras:
                self.file.content_span(ref)
                return 1
            for _ in self.stream(ref):
                pass
            return int("crc32" not in ref.extras and not ref.extras.get("checksum"))
        except SourceError:
            raise
        except Unsupported as error:
            findings.warning(f"{self.format}.unsupported", error.span, error.message, key=ref.key)
        except ShardError as error:
            findings.error(f"{self.format}.content", error.span or ref.record, error.message, key=ref.key)
        return 0

    def _by_key(self) -> dict[str, int]:
        return {part.key: row for row, part in enumerate(self.file.parts_of(self.objects))}

    def _list_span(self) -> Span:
        listed = (SectionRole.INDEX, SectionRole.METADATA, SectionRole.HEADER)
        found = sorted((s for s in self.sections if s.role in listed), key=lambda s: listed.index(s.role))
        return Span("", found[0].start, found[0].stop) if found else Span("", 0, 0)

    def _part(self, name: SourceName) -> SourcePart:
        if not name.path and len(name.stretches) == 1:
            row = self.file.row_at(*name.stretches[0], self.objects)
            ref = self.objects.ref(row) if row is not None else None
            if ref is not None and ref.codec != "none":
                return self._decoded(ref, str(name))
        return super()._part(name)

    def _decoded(self, ref: ObjectRef, name: str) -> SourcePart:
        span = ref.spans[0]
        if span.size > SHOWN_LIMIT:
            raise LimitExceeded(f"{short(ref.key)} is too large to be shown; extract it instead", span=span)
        data = decompress_shown(ref.codec, self.file.source.read(span.start, span.stop), span=span)
        doc = "The uncompressed content."
        section = Section("content", SectionRole.DATA, 0, len(data), doc)

        def root() -> Node:
            whole = Span(name, 0, len(data))
            kid = Node("content", whole, text=plural(len(data), "byte"), role=FieldRole.DATA, doc=doc)
            return Node(name, whole, children=(kid,), row=ref.row)

        return SourcePart(BytesSource(data, name), (section,), root)


class SequentialShard(ContainerShard):
    file: SequentialFile

    def file_names(self, ref: ObjectRef) -> dict[str, str]:
        name = str(ref.extras.get("name") or "") or self.file.source.name.removesuffix(self.file.suffix)
        return {"": name if ref.row == 0 else f"{name}.{ref.row}"}
