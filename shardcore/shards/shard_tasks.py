"""Functions that process one shard of a data set, in this or another process.

Arguments and results can be pickled and do not refer to the shard. See `Work` for the signature.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.content_hash import sha256_of
from shardcore.dataclasses import dataclass, field
from shardcore.errors import Remedy, ShardError, SourceError, ends_reading, raise_if_ended
from shardcore.model.data_set_nodes import placed_report, placed_span
from shardcore.model.finding import Depth, Finding, Findings, Report
from shardcore.model.objects import ObjectColumns, ObjectRef, State, in_states
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.progress import Progress
from shardcore.shards.prefetch import fetched_ahead

if TYPE_CHECKING:
    from shardcore.model.usage import Share
    from shardcore.shards.shard import Shard

MOST_ROWS = 1 << 16
"""Maximum number of rows in one `RowsFound`; if a member has more, the caller reads the member itself, step by step."""


@dataclass(frozen=True, slots=True)
class RowsRequest:
    """Request for rows of a shard.

    Attributes:
        hidden: States of rows that are left out.
        outer: Whether objects that are parts of others (`Objects.inner_kinds`) are left out; only without `kind`.
        bare: States of rows that have no content to hash.
        most: Maximum number of rows; if the shard has more, none are returned.
        contents: Whether the caller reads the contents next; they are then fetched ahead.
        keep: Whether the shard stays open until the caller releases it.
    """

    hidden: tuple[State, ...] = ()
    kind: str | None = None
    outer: bool = False
    refs: bool = False
    digest: bool = False
    bare: tuple[State, ...] = ()
    most: int = MOST_ROWS
    jobs: int = 1
    contents: bool = False
    keep: bool = False


@dataclass(frozen=True, slots=True)
class Digested:
    """Result of reading a content: uncompressed size, sha256 in hex (empty after an error), error and remedy."""

    size: int = 0
    sha256: str = ""
    error: str = ""
    remedy: Remedy | None = None


@dataclass(frozen=True, slots=True)
class ObjectRow:
    """Object with the row number that it has in its own shard; `ref` is None if its row cannot be read (`error`)."""

    ref: ObjectRef | None
    error: str = ""
    digested: Digested | None = None


@dataclass(frozen=True, slots=True)
class RowsFound:
    """Requested rows of a shard; `columns` is empty and `more` is set if there are more than `RowsRequest.most`."""

    kinds: tuple[str, ...]
    columns: ObjectColumns
    keys: list[str | None] = field(default_factory=list)
    rows: list[ObjectRow] = field(default_factory=list)
    more: bool = False


def member_report(shard: Shard, name: str, progress: Progress, depth: Depth) -> Report:
    if (found := shard.report_unopened(name, depth)) is not None:
        return found
    with shard.borrowed(name) as member:
        return shard.verify_member(member, depth, progress)


def member_count(shard: Shard, name: str, progress: Progress) -> int:
    with shard.borrowed(name) as member:
        if member.declared_objects is None:
            member.load_index()
        return len(member.objects)


def member_shares(shard: Shard, name: str, progress: Progress) -> tuple[Share, ...]:
    with shard.borrowed(name) as member:
        member.load_index()
        return member.byte_shares


def member_settings(shard: Shard, name: str, progress: Progress) -> dict[str, Any]:
    with shard.borrowed(name) as member:
        return dict(member.settings)


def member_rows(shard: Shard, name: str, progress: Progress, asked: RowsRequest) -> RowsFound:
    with shard.borrowed(name, keep=asked.keep) as member:
        return rows_of(member, asked)


def rows_of(member: Shard, asked: RowsRequest) -> RowsFound:
    if not member.listed:
        member.load_index()
    objects = member.objects
    if len(objects) > asked.most:
        return RowsFound(objects.kinds, ObjectColumns.of([], [], [], []), more=True)
    columns = objects.columns(np.arange(len(objects), dtype=np.int64))
    columns = columns.take(np.flatnonzero(wanted_rows(member, columns, asked)))
    found = RowsFound(objects.kinds, columns)
    if asked.refs or asked.digest:
        found.rows.extend(object_rows(member, columns.row))
        if asked.digest:
            ahead = fetched_ahead(member, found.rows, attrgetter("ref"), among=asked.jobs)
            found.rows[:] = [with_digest(member, row, asked) for row in ahead]
        if asked.contents and asked.jobs > 1:
            member.fetch_soon(row.ref for row in found.rows if row.ref is not None)
    else:
        found.keys.extend(objects.key_texts(columns.row))
    return found


def wanted_rows(member: Shard, columns: ObjectColumns, asked: RowsRequest) -> Any:
    objects = member.objects
    keep = ~in_states(columns.state, asked.hidden)
    if asked.kind is not None:
        keep &= columns.kind == (objects.kinds.index(asked.kind) if asked.kind in objects.kinds else -1)
    elif asked.outer:
        inner = [code for code, name in enumerate(objects.kinds) if name in objects.inner_kinds]
        if inner:
            keep &= ~np.isin(columns.kind, inner)
    return keep


def object_rows(member: Shard, rows: NDArray[np.int64]) -> Iterator[ObjectRow]:
    for ref in member.objects.each_ref(rows):
        if isinstance(ref, ShardError) and ends_reading(ref):
            raise ref
        yield ObjectRow(None, str(ref)) if isinstance(ref, ShardError) else ObjectRow(ref)


def with_digest(member: Shard, row: ObjectRow, asked: RowsRequest) -> ObjectRow:
    if row.ref is None or row.ref.state in asked.bare or row.ref.error:
        return row
    return ObjectRow(row.ref, digested=digest_of(member, row.ref))


def digest_of(shard: Shard, ref: ObjectRef) -> Digested:
    try:
        digest, size = sha256_of(shard.stream(ref))
    except ShardError as error:
        raise_if_ended(error)
        return Digested(error=error.placed, remedy=error.remedy)
    return Digested(size, digest)


def joined_report(format: str, depth: Depth, reports: Iterable[tuple[str, Report | ShardError]], total: int) -> Report:
    """Merge the reports of members; a member that cannot be read becomes a finding.

    Raises:
        SourceError: The connection was lost; `partial` of the error is the report of the members verified before.
    """
    findings, objects, checked, without, left_out = Findings(), 0, 0, 0, 0
    done, reported = 0, set[Finding]()
    try:
        for member, report in reports:
            done += 1
            if isinstance(report, ShardError):
                span = placed_span(report.span, member) if report.span else Span(member, 0, 0)
                findings.error(f"{format}.unreadable", span, f"{member}: {report.message}")
                continue
            objects += report.objects
            checked += report.checked
            without += report.without_checksum
            left_out += report.left_out
            found = placed_report(report, member).findings
            # Findings without a location concern the whole data set; every member reports them.
            _take_all((one for one in found if one not in reported), findings)
            reported.update(one for one in found if one.span is None)
    except SourceError as error:
        if isinstance(error.partial, Report):
            objects += error.partial.objects
            _take_all(error.partial.findings, findings)
        after = f"{done:,} of {plural(total, 'file')}, {plural(objects, 'object')}"
        error.partial = Report(depth, objects, findings.all(), checked, without, after)
        raise
    return Report(depth, objects, findings.all(), checked, without, left_out=left_out)


def _take_all(found: Iterable[Finding], findings: Findings) -> None:
    for finding in found:
        if findings.full(finding.code):
            findings.more(finding.severity, finding.code, 1)
        else:
            findings.add(finding)
