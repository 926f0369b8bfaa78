"""Which nodes of the tree are lit: those that hold what a step looks at. No Qt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from shardcore import Node, Shard, ShardError, Span
from shardcore.model.node import named
from shardscope.session.highlights import Light

_Place = tuple[str, Span]


@dataclass(frozen=True)
class LitNodes:
    """The nodes on the way to what is lit.

    Attributes:
        ends: The nodes that are lit themselves.
        ways: Those around them, which are lit while they are closed.
    """

    ends: dict[_Place, list[Light]] = field(default_factory=dict)
    ways: dict[_Place, list[Light]] = field(default_factory=dict)

    def at(self, node: object, *, expanded: bool) -> list[Light]:
        """The lights of a row of the tree.

        Args:
            node: Its node; anything else has none.
            expanded: Whether its children are shown.
        """
        if not isinstance(node, Node):
            return []
        place = (node.name, node.span)
        around = [] if expanded else self.ways.get(place, [])
        return sorted((*self.ends.get(place, ()), *around), key=lambda light: light.number)


def lit_nodes(shard: Shard, lights: Iterable[Light]) -> LitNodes:
    """The nodes of what is lit; may read. What no node explains lights none."""
    found = LitNodes()
    for light in lights:
        try:
            path = named(shard.whole_path(light.span.start, light.span.source), light.span)
        except ShardError:
            continue
        for node in path[:-1]:
            found.ways.setdefault((node.name, node.span), []).append(light)
        found.ends.setdefault((path[-1].name, path[-1].span), []).append(light)
    return found
