"""The tree of a xorb as a part of the shard that points at it: the same nodes, with the xorb's name in their spans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shardcore.nodes.node import Children, Node
from shardcore.nodes.runs import Runs
from shardcore.span import Span


def placed(node: Node, name: str) -> Node:
    """A node of the file itself, as a node of the source `name`; decoded sources are called `name@…`."""
    return replace(
        node,
        span=_placed_span(node.span, name),
        target=None if node.target is None else _placed_span(node.target, name),
        decoded=name + node.decoded if node.decoded else "",
        children=_placed_children(node.children, name),
    )


def _placed_span(span: Span, name: str) -> Span:
    return Span(name + span.source, span.start, span.stop)


def _placed_children(children: Sequence[Node], name: str) -> Sequence[Node]:
    if isinstance(children, Children):
        return PlacedChildren(children, name)
    return tuple(placed(child, name) for child in children)


class PlacedChildren(Children):
    """Children that are still computed when asked for.

    Args:
        base: The children in the file itself.
        name: The source they are shown in.
    """

    def __init__(self, base: Children, name: str) -> None:
        self.base = base
        self.name = name
        self.source = name + base.source

    def __len__(self) -> int:
        return len(self.base)

    def make(self, start: int, stop: int) -> list[Node]:
        """See `Children.make`."""
        return [placed(node, self.name) for node in self.base.make(start, stop)]

    def overlap(self, start: int, stop: int) -> range:
        """See `Children.overlap`."""
        return self.base.overlap(start, stop)

    def runs(self, start: int, stop: int) -> Runs | None:
        """As the children paint themselves."""
        return self.base.runs(start, stop)
