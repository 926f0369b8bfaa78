"""Meanings of names and keys in the address field, for the shown source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from shardcore import DataSet, Node, Shard, ShardError
from shardcore.model.source_name import SourceName
from shardscope.session.goto import GotoNames, starts_of
from shardscope.session.jobs import JobPriority
from shardscope.session.session import Session
from shardscope.session.words import short_name
from shardscope.views.hex.address_entry import EntryContext
from shardscope.views.hex.state import HexState


class Naming:
    """The names of a hex panel.

    Attributes:
        keys: Gives keys that were loaded already; the window sets it.
    """

    def __init__(self, session: Session, state: HexState) -> None:
        self._session = session
        self._state = state
        self._starts: dict[str, int] = {}
        self.keys: Callable[[], Iterable[str]] = tuple

    def forget(self) -> None:
        """Something else is open, or nothing."""
        self._starts = {}

    def learn(self) -> None:
        """Finds out where the fields lie."""

        def take(starts: dict[str, int]) -> None:
            self._starts = starts

        self._session.ask(
            lambda shard, _: starts_of(shard.tree), take, key=("names", id(self)), priority=JobPriority.PREFETCH
        )

    def places(self) -> GotoNames:
        """Return what names mean."""
        shard = self._session.shard
        stored = self._state.name == "" and shard is not None
        return GotoNames(
            size=self._state.layout.size,
            caret=self._state.selection.caret,
            sections=self._state.sections,
            values=shard.fields if stored and shard is not None else {},
            starts=self._starts if stored else {},
        )

    def known(self) -> EntryContext:
        """Return what entries are compared with."""
        return EntryContext(self.places(), self._is_key, self.keys())

    def _is_key(self, text: str) -> bool:
        shard = self._session.shard
        if shard is None:
            return False
        try:
            shard.parse_key(text)
        except ShardError:
            return False
        return True


def file_title(shard: Shard | None, source: str, path: Sequence[Node]) -> str:
    """Return what stands before a path: the file, or the data set, whose paths begin with the member.

    Args:
        shard: What is open.
        source: The name of the source that is shown.
        path: The path.
    """
    name = SourceName.parse(source)
    if isinstance(shard, DataSet):
        return short_name(shard.uri) if path else name.path
    file = short_name(shard.source.name) if shard is not None and shard.source is not None else ""
    return " › ".join(part for part in (file, name.path, "decoded" if name.stretches else "") if part)
