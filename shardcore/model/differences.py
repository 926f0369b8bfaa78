"""The parts of a tree on which the published page and practice do not agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shardcore.model.node import Children, Node

MOST_VISITED = 4000
"""Nodes that are looked at."""

FEW = 8
"""Of computed children more than this, which are all alike, the first one stands for the others."""

MOST_DEEP = 12


class _Walk:
    """Fields seen on the way: each one is reported once, however many rows have it."""

    def __init__(self) -> None:
        self.left = MOST_VISITED
        self.told: set[tuple[str, str]] = set()

    def pruned(self, node: Node, depth: int) -> Node | None:
        """Return the node with those children that lead to a difference; None where nothing does."""
        self.left -= 1
        if self.left < 0 or depth > MOST_DEEP:
            return None
        # The rows of a table have numbers for names.
        name = (node.spec, "" if node.name.startswith("[") else node.name)
        own = node.differs is not None and name not in self.told
        if own:
            self.told.add(name)
        kids = tuple(kid for child in _some(node) if (kid := self.pruned(child, depth + 1)) is not None)
        return replace(node, children=kids, decoded="") if own or kids else None


def _some(node: Node) -> Sequence[Node]:
    """Return the children that are worth a look; of a long table, its first row."""
    kids = node.children
    if not isinstance(kids, Children):
        return kids
    count = len(kids)
    return kids.make(0, count if count <= FEW else 1) if count else ()


def differing(root: Node) -> Node:
    """Return a tree with nothing but the fields on which page and practice differ, and what they are in.

    Declared positions are followed; of tables the first row stands for all. Reads no more than showing them does.

    Args:
        root: The whole tree.

    Raises:
        ShardError: The tree is damaged there, or the bytes cannot be read.
    """
    return _Walk().pruned(root, 0) or replace(root, children=())
