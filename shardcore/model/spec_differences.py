"""Tree of the fields where specification and practice differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shardcore.model.node import Children, Node

MOST_VISITED = 4000
"""Nodes visited."""

FEW = 8
"""If there are more computed children than this, only the first is examined."""

MOST_DEEP = 12


class _Walk:
    def __init__(self) -> None:
        self.left = MOST_VISITED
        self.reported: set[tuple[str, str]] = set()

    def pruned(self, node: Node, depth: int) -> Node | None:
        self.left -= 1
        if self.left < 0 or depth > MOST_DEEP:
            return None
        # The rows of a table have numbers for names.
        name = (node.spec, "" if node.name.startswith("[") else node.name)
        own = node.differs is not None and name not in self.reported
        if own:
            self.reported.add(name)
        kids = tuple(kid for child in _some(node) if (kid := self.pruned(child, depth + 1)) is not None)
        return replace(node, children=kids, decoded="") if own or kids else None


def _some(node: Node) -> Sequence[Node]:
    kids = node.children
    if not isinstance(kids, Children):
        return kids
    count = len(kids)
    return kids.make(0, count if count <= FEW else 1) if count else ()


def differing(root: Node) -> Node:
    """Return the tree reduced to fields where specification and practice differ, with their parents.

    In tables, only the first row is examined. Stops after `MOST_VISITED` nodes.
    """
    return _Walk().pruned(root, 0) or replace(root, children=())
