"""Nodes, spans, errors and reports of a shard, converted for its data set: every span gets the path of the shard."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import lru_cache

from shardcore.dataclasses import replace
from shardcore.errors import ShardError, SourceError
from shardcore.model.finding import Report
from shardcore.model.node import Children, ExternalBytes, Node, Runs
from shardcore.model.span import SourceName, Span


def placed(node: Node, member: str, first_row: int | None = None) -> Node:
    """Convert a node of a shard to a node of its data set. If `first_row` is None, it has no row number."""
    return replace(
        node,
        span=placed_span(node.span, member),
        target=None if node.target is None else placed_span(node.target, member),
        decoded=placed_name(node.decoded, member) if node.decoded else "",
        row=None if node.row is None or first_row is None else first_row + node.row,
        children=_placed_children(node.children, member, first_row),
        elsewhere=None if node.elsewhere is None else _placed_elsewhere(node.elsewhere, member),
    )


def placed_span(span: Span, member: str) -> Span:
    return Span(placed_name(span.source, member), span.start, span.stop)


def inside_span(span: Span, member: str) -> Span:
    return Span(str(SourceName.parse(span.source).inside(member)), span.start, span.stop)


@lru_cache(maxsize=1 << 10)
def placed_name(source: str, member: str) -> str:
    return str(SourceName.parse(source).placed(member))


def _placed_elsewhere(elsewhere: ExternalBytes, member: str) -> ExternalBytes:
    return replace(elsewhere, find=lambda: placed_span(elsewhere.find(), member))


def _placed_children(children: Sequence[Node], member: str, first_row: int | None) -> Sequence[Node]:
    if isinstance(children, Children):
        return PlacedChildren(children, member, first_row)
    return tuple(placed(child, member, first_row) for child in children)


class PlacedChildren(Children):
    def __init__(self, base: Children, member: str, first_row: int | None) -> None:
        self.base = base
        self._member = member
        self._first_row = first_row
        self.source = placed_name(base.source, member)

    def __len__(self) -> int:
        return len(self.base)

    def make(self, start: int, stop: int) -> list[Node]:
        return [placed(node, self._member, self._first_row) for node in self.base.make(start, stop)]

    def overlap(self, start: int, stop: int) -> range:
        return self.base.overlap(start, stop)

    def runs(self, start: int, stop: int) -> Runs | None:
        return self.base.runs(start, stop)

    @property
    def expandable(self) -> bool:
        return self.base.expandable


class relocating:  # noqa: N801 - a context manager without a generator: three are entered per object
    """Context manager that adds the path of a shard to the span of any `ShardError` raised in it."""

    __slots__ = ("_member",)

    def __init__(self, member: str) -> None:
        self._member = member

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ShardError):
            raise placed_error(error, self._member) from error


def placed_error(error: ShardError, member: str) -> ShardError:
    """Return a copy of an error with its span in the data set. The original is not changed: it may be raised again."""
    placed = copy.copy(error)
    placed.span = placed_span(error.span, member) if error.span else None
    if isinstance(placed, SourceError) and isinstance(placed.partial, Report):
        placed.partial = placed_report(placed.partial, member)
    return placed


def placed_report(report: Report, member: str) -> Report:
    findings = (replace(one, span=placed_span(one.span, member) if one.span else None) for one in report.findings)
    return replace(report, findings=tuple(findings))
