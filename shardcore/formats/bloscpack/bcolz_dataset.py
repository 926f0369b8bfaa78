"""Common parts of bcolz columns and tables as data sets."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from shardcore.codecs.json_text import parse_json
from shardcore.errors import FormatError, LimitExceeded, ShardError, Unsupported, source_lost
from shardcore.formats.bloscpack.bcolz import (
    DOCS,
    SIZES,
    BcolzColumn,
)
from shardcore.formats.bloscpack.bcolz_objects import chunk_of
from shardcore.formats.bloscpack.file import BloscpackFile
from shardcore.formats.bloscpack.json_nodes import JsonNodes
from shardcore.formats.bloscpack.shard import BloscpackShard, open_shard
from shardcore.model.array_layout import ArrayLayout
from shardcore.model.computed_children import Deferred
from shardcore.model.content_part import ContentPart
from shardcore.model.finding import Depth, Findings, Report
from shardcore.model.node import Node
from shardcore.model.number_text import grouped_digits, plural
from shardcore.model.objects import ObjectRef
from shardcore.model.record import FieldRole, Value
from shardcore.model.section import Section, SectionRole
from shardcore.model.source_name import SourceName
from shardcore.model.span import Span
from shardcore.progress import Progress
from shardcore.shards.dataset import DataSet, Member
from shardcore.shards.open_context import OpenContext
from shardcore.shards.shard import DEFAULT_LIMIT, Shard, SourcePart
from shardcore.shards.trace import FOUND, Trace
from shardcore.sources.base import PIECE, Folder, Source
from shardcore.sources.memory import BytesSource
from shardcore.sources.prefetched_source import PrefetchedSource


class BloscpackDataSet(DataSet):
    """Data set of bcolz columns, whose files have one chunk each."""

    joins = False

    def __init__(
        self, folder: Folder, columns: Sequence[BcolzColumn], texts: dict[str, bytes], context: OpenContext
    ) -> None:
        # One process for all files, instead of one per file.
        if context.values.get("isolated"):
            self.isolate()
        rest = {name: value for name, value in context.values.items() if name != "isolated"}
        self._context = replace(context, values=rest)
        self._texts = texts | {name: text for column in columns for name, text in column.texts.items()}
        files = [file for column in columns for file in column.files]
        super().__init__("bloscpack", folder, [Member(file.name, file.size) for file in files])

    def open_member(self, name: str, source: Source) -> BloscpackShard:
        shard = open_shard(PrefetchedSource(source), self._context.member())
        if (count := len(shard.objects)) != 1:
            raise Unsupported(
                f"the file has {plural(count, 'chunk')}; a file of a column has exactly one",
                span=Span("", 0, source.size),
            )
        if self.isolated is not None:
            shard.file.isolate(self.isolated)
        return shard

    @property
    def declared_objects(self) -> int:
        return len(self.objects)

    def _tree(self) -> Node:
        root = super()._tree()
        return replace(root, children=(*(self._text_node(name) for name in self._texts), *root.children))

    def has_file(self, name: str) -> bool:
        return name in self._by_name

    def first_file(self, trace: Trace) -> str:
        """Return the first file of the column that a lookup has found; empty if there is none."""
        if trace.outcome != FOUND or trace.ref is None:
            return ""
        return next((file.name for file in self._column_of(trace.ref).files), "")

    def file_of(self, name: str) -> BloscpackFile:
        shard = self.member(name)
        assert isinstance(shard, BloscpackShard)
        return shard.file

    def _stream(self, ref: ObjectRef) -> Iterator[bytes]:
        return super()._stream(ref) if ref.shard else self._pieces(self._column_of(ref), 0, None)

    def reads_ranges(self, ref: ObjectRef) -> bool:
        return super().reads_ranges(ref) if ref.shard else True

    def _read_range(self, ref: ObjectRef, start: int, stop: int, limit: int) -> bytes:
        """Return uncompressed bytes `[start, stop)`of an object; only the chunks that contain them are read."""
        if ref.shard:
            return super()._read_range(ref, start, stop, limit)
        column = self._column_of(ref)
        first, last = min(start, column.nbytes), min(stop, column.nbytes)
        if last - first > limit:
            raise LimitExceeded(f"the range has {plural(last - first, 'byte')}; the limit is {grouped_digits(limit)}")
        return b"".join(self._pieces(column, first, last))

    def read_part(self, ref: ObjectRef, part: str, *, limit: int = DEFAULT_LIMIT) -> bytes:
        return Shard.read_part(self, ref, part, limit=limit)

    def file_names(self, ref: ObjectRef) -> dict[str, str]:
        return Shard.file_names(self, ref)

    def array_layout(self, ref: ObjectRef) -> ArrayLayout | None:
        column = self._column_of(ref)
        if column.pickled or not ref.shard:
            return column.layout
        count, rest = divmod(ref.size, column.array.stride)
        number = int(ref.key) if ref.key is not None and ref.key.isdecimal() else -1
        if number < 0 or rest or not count:
            return None
        shape = column.array.shape[1:]
        return replace(column.array, shape=(count, *shape), begin=(number * column.chunklen, *(0 for _ in shape)))

    def content_parts(self, ref: ObjectRef) -> Sequence[ContentPart]:
        column = self._column_of(ref)
        if ref.shard or column.pickled:
            return super().content_parts(ref)
        step = column.chunk_bytes
        ranges = [(one.number * step, min((one.number + 1) * step, column.nbytes), one) for one in column.files]
        return tuple(
            ContentPart(start, stop, Span(str(SourceName(file.name)), 0, file.size))
            for start, stop, file in sorted(ranges, key=lambda part: part[0])
            if start < stop
        )

    def facts(self, ref: ObjectRef) -> dict[str, Any]:
        if ref.shard or self._column_of(ref).pickled:
            return {}
        return {name: ref.extras[name] for name in ("dtype", "shape") if name in ref.extras}

    @cached_property
    def checksum(self) -> str:
        if not self.first_member:
            return ""
        with self.borrowed(self.first_member) as first:
            return first.checksum

    @property
    def settings(self) -> dict[str, Any]:
        texts = {name: text.decode("utf-8", "replace").strip() for name, text in self._texts.items()}
        return {"checksum": self.checksum or "None", "bcolz": texts}

    lookup_all = Shard.lookup_all

    def _verify(self, depth: Depth, progress: Progress) -> Report:
        findings = Findings()
        report = super()._verify(depth, progress)
        for finding in report.findings:
            findings.add(finding)
        self._check_columns(findings, depth)
        # A column counts as verified only if all its chunks are.
        objects = len(self.objects)
        checked = objects if not report.unverified else 0
        return Report(depth, objects, findings.all(), checked, objects if report.without_checksum else 0)

    @abstractmethod
    def _column_of(self, ref: ObjectRef) -> BcolzColumn:
        """Return the column of an object; raise the error of a damaged column."""

    @abstractmethod
    def _check_columns(self, findings: Findings, depth: Depth) -> None:
        """Add findings about the columns: missing files, sizes, lengths."""

    def _pieces(self, column: BcolzColumn, start: int, stop: int | None) -> Iterator[bytes]:
        """Yield the uncompressed bytes `[start, stop)` of a column in pieces; `stop` None is the end."""
        end = column.nbytes if stop is None else stop
        number = start // column.chunk_bytes if column.chunk_bytes else 0
        begin = number * column.chunk_bytes
        while begin < end:
            if column.pickled and number == column.chunks:
                raise FormatError(f"the column's chunks have {plural(begin, 'byte')}, but nbytes is {column.nbytes:,}")
            plain = memoryview(self._chunk(column, number))
            for at in range(max(start - begin, 0), min(len(plain), end - begin), PIECE):
                yield bytes(plain[at : min(at + PIECE, end - begin)])
            begin += len(plain)
            number += 1

    def _chunk(self, column: BcolzColumn, number: int) -> bytes:
        data = b"".join(super()._stream(chunk_of(column.file_of(number).name, -1)))
        column.check_chunk(number, len(data))
        return data

    def _check_column(self, column: BcolzColumn, findings: Findings, depth: Depth) -> None:
        span = Span(str(SourceName(column.inside(SIZES))), 0, len(self._texts[column.inside(SIZES)]))
        for number in column.missing:
            message = f"chunk {number} has no file; the column has {plural(column.chunks, 'chunk')}"
            findings.error("bloscpack.column-file-missing", span, message, key=str(number))
        for file in column.surplus:
            place = Span(str(SourceName(file.name)), 0, file.size)
            findings.note(
                "bloscpack.column-file-surplus",
                place,
                f"{file.name} is not part of the column, which has {plural(column.chunks, 'chunk')}",
            )
        if not depth.reaches(Depth.INDEX):
            return
        sizes: list[int] = []
        for file in column.files:
            if file.number >= column.chunks:
                continue
            try:
                ref = self.member(file.name).objects.ref(0)
            except ShardError as error:
                if source_lost(error):
                    raise
                continue  # already reported: the file cannot be opened
            sizes.append(ref.size)
            try:
                column.check_chunk(file.number, ref.size)
            except FormatError as error:
                findings.error("bloscpack.column-chunk-size", error.span, error.message, key=str(file.number))
        if column.pickled and len(sizes) == column.chunks and sum(sizes) != column.nbytes:
            message = f"nbytes is {column.nbytes:,}, but the chunks have {plural(sum(sizes), 'uncompressed byte')}"
            findings.error("bloscpack.column-size", span, message)

    def _text_node(self, name: str) -> Node:
        source, size = str(SourceName(name)), len(self._texts[name])
        kids = Deferred(lambda: list(self.part(source).tree().children), source)
        return Node(name, Span(source, 0, size), text=plural(size, "byte"), doc=_doc_of(name), children=kids)

    def _part(self, name: SourceName) -> SourcePart:
        text = self._texts.get(name.path)
        if text is None or name.stretches:
            return super()._part(name)
        return SourcePart(
            BytesSource(text, str(name)),
            (Section(name.path, SectionRole.METADATA, 0, len(text), _doc_of(name.path)),),
            lambda: _json_node(str(name), text),
        )


def column_fields(name: str, column: BcolzColumn) -> dict[str, Value]:
    return {
        f"{name}.dtype": str(column.array.dtype),
        f"{name}.shape": str(list(column.array.shape)),
        f"{name}.nbytes": column.nbytes,
        f"{name}.cbytes": column.cbytes,
        f"{name}.chunklen": column.chunklen,
    }


def _doc_of(name: str) -> str:
    return next((doc for ending, doc in DOCS.items() if name.endswith(ending)), "")


def _json_node(source: str, text: bytes) -> Node:
    span = Span(source, 0, len(text))
    try:
        parse_json(text, "the text", span=span)
    except FormatError as error:
        return Node(source, span, role=FieldRole.TEXT, error=error.message)
    return Node(source, span, role=FieldRole.TEXT, children=(JsonNodes(text, source).root(),))
