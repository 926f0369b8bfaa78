"""The members of a data set: listed, opened when they are needed, worked on side by side, closed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TypeVar

from shardcore.errors import ShardError, SourceError, UsageError
from shardcore.model.parallel import in_order
from shardcore.model.text import short
from shardcore.progress import Progress, no_progress
from shardcore.shards.cache import Once, OnceEach
from shardcore.shards.member_objects import Listing, Member
from shardcore.shards.shard import Shard, tell_purposes
from shardcore.sources.base import WHOLE_HEAD, Folder, Source

R = TypeVar("R")

PARTS = 1000
"""Steps of progress that one member of a data set makes."""


class OpenMembers(Shard):
    """A shard over a folder, as far as its members are concerned.

    Args:
        where: The folder.
        members: The shards, sorted by name; or what lists them, asked when they are needed.

    Attributes:
        uri: Where the folder is.
        folder: The folder.
        member_head: Bytes of the beginning of a far member that are fetched at once.
    """

    member_head: int = WHOLE_HEAD

    def __init__(self, where: Folder, members: Sequence[Member] | Callable[[], Sequence[Member]]) -> None:
        self.folder = where
        self.uri = where.uri
        self._listing: Once[Listing] = Once()
        self._list = members if callable(members) else lambda: members
        if not callable(members):
            self._listing.put(Listing.of(members))
        self._opened: OnceEach[str, Shard] = OnceEach()
        self._closed = False

    @property
    def members(self) -> tuple[Member, ...]:
        """The shards, sorted by name; listed when somebody asks for the first time.

        Raises:
            SourceError: They cannot be listed.
        """
        return self._listing.get(lambda: Listing.of(self._list())).members

    @property
    def listed(self) -> bool:
        """Return whether it is known which members there are."""
        return self._listing.value is not None

    @property
    def _by_name(self) -> dict[str, Member]:
        return self._listing.get(lambda: Listing.of(self._list())).by_name

    @abstractmethod
    def open_member(self, name: str, source: Source) -> Shard:
        """Opens a member; where that fails, the source is closed by the caller.

        Raises:
            ShardError: It cannot be opened.
        """

    def member(self, name: str) -> Shard:
        """The opened member of that name.

        Raises:
            UsageError: There is no such member.
            SourceError: The data set is closed, or the bytes cannot be had.
            ShardError: It cannot be opened.
        """
        member = self._by_name.get(name) if self.listed or not self.may_hold(name) else Member(name, -1)
        if member is None:
            raise UsageError(f"no file of this data set is called {short(name)}")
        self._check_open()
        shard = self._opened.get(name, lambda: self._open(member))
        if self._closed:
            shard.close()
            self._check_open()
        return shard

    def may_hold(self, name: str) -> bool:
        """Return whether a file of that name would be a shard of this data set, without a listing."""
        return False

    def _open(self, member: Member, *, briefly: bool = False) -> Shard:
        """Open a member; briefly: it may hold a descriptor, as few such members are open at a time."""
        if briefly and self.folder.lists_cheaply:
            source = self.folder.open(member.name)
        else:
            source = self.folder.open_at(member.name, 0, self.member_head)
        try:
            shard = self.open_member(member.name, source)
            tell_purposes(shard)
            return shard
        except BaseException:
            source.close()
            raise

    def _check_open(self) -> None:
        if self._closed:
            raise SourceError(f"{self.uri} is closed")

    @contextmanager
    def borrowed(self, name: str) -> Iterator[Shard]:
        """A member for a while: one that nobody has open is closed again, so that memory stays bounded.

        Raises:
            ShardError: It cannot be opened.
        """
        self._check_open()
        if self.is_open(name):
            yield self.member(name)
            return
        member = self._by_name.get(name)
        if member is None:
            raise UsageError(f"no file of this data set is called {short(name)}")
        with self._open(member, briefly=True) as shard:
            yield shard

    def each_member(
        self,
        work: Callable[[int, Shard], R],
        progress: Progress = no_progress,
        *,
        keep: bool = False,
        unopened: Callable[[Member], R | None] = lambda member: None,
    ) -> Generator[tuple[Member, R | ShardError]]:
        """Does some work with every member, several at a time; gives the results in the order of the members.

        Args:
            work: Called with the number of the member and the member; what it gives must not need the member.
            progress: Called after every member.
            keep: Whether members stay open, because they are needed again soon.
            unopened: Called first; returns the result where the member does not have to be opened for it.

        Yields:
            Each member, and what came out, or why nothing did.

        Raises:
            SourceError: The data set is closed, or its members cannot be listed.
        """
        total = len(self.members) * PARTS

        def done(place: tuple[int, Member]) -> R | ShardError:
            self._check_open()
            try:
                if (found := unopened(place[1])) is not None:
                    return found
                if keep:
                    return work(place[0], self.member(place[1].name))
                with self.borrowed(place[1].name) as shard:
                    return work(place[0], shard)
            except ShardError as error:
                return error

        with closing(in_order(done, enumerate(self.members), self.jobs)) as results:
            for number, (member, result) in enumerate(zip(self.members, results, strict=True)):
                progress((number + 1) * PARTS, total)
                yield member, result
        self._check_open()
        progress(total, total)

    def close(self) -> None:
        """Closes all members, and what the folder holds."""
        self._closed = True
        for shard in self._opened.clear():
            shard.close()
        self.folder.close()

    def is_open(self, name: str) -> bool:
        """Return whether a member is open already; never waits."""
        return self._opened.value(name) is not None
