"""Charts that every opened shard has; formats add to them."""

from __future__ import annotations

from typing import Protocol

from shardcore.model.byte_shares import Share, budget
from shardcore.model.occupancy import LoadSource
from shardcore.model.section import Section


class Sectioned(Protocol):
    """Something with sections that tile it."""

    sections: tuple[Section, ...]


class ShardCharts:
    """Part of every shard.

    Attributes:
        no_loads: Why `loads` is empty, in a sentence.
    """

    no_loads: str = "This format has no slots or parts of which one could be fuller than another."

    @property
    def byte_shares(self: Sectioned) -> tuple[Share, ...]:
        """Return the uses of the bytes; they add up to the size of the file. Reads nothing."""
        return budget(self.sections)

    @property
    def loads(self) -> tuple[LoadSource, ...]:
        """Return what can be counted in the places that the format has, and how much of it would have to be read."""
        return ()
