"""Data set: the shards of a folder, opened together as one shard in which keys are looked up."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import wraps
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import replace
from shardcore.errors import (
    FormatError,
    KeyAbsent,
    NotAShard,
    ShardError,
    SourceError,
    UsageError,
    detached,
    shown_key,
    source_lost,
)
from shardcore.model.computed_children import GROUP_SIZE, Deferred
from shardcore.model.content_layout import ContentPart, ContentParts
from shardcore.model.data_set_nodes import placed, placed_error, placed_span, relocating
from shardcore.model.finding import Depth, Report
from shardcore.model.node import Node
from shardcore.model.objects import LazyObjects, ObjectRef, Objects, inside_member, located
from shardcore.model.span import SourceName, Span
from shardcore.model.text import plural, short
from shardcore.model.usage import Load, LoadSource, Share, Use
from shardcore.progress import Progress, no_progress
from shardcore.shards.cache import Once, OnceEach
from shardcore.shards.detect import other_file
from shardcore.shards.joined_objects import JoinedObjects, Member, MemberListing, MemberNodes
from shardcore.shards.shard import Arrays, Shard, ShardTasks, SourcePart, Work, label_requests, reading
from shardcore.shards.shard_tasks import joined_report, member_count, member_report, member_shares
from shardcore.shards.trace import LookupRecorder, Trace
from shardcore.sources.base import WHOLE_HEAD, Folder, Source, on_failure
from shardcore.sources.prefetched_source import PrefetchedSource

if TYPE_CHECKING:
    from shardcore.model.drawing import Sketch
    from shardcore.model.geometry import Geometry
    from shardcore.model.record import Value
    from shardcore.model.section import Section

R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])

PARTS = 1000
"""Number of progress steps that each member counts."""

UNKNOWN = 1 << 62
"""Number of bytes that counting objects is assumed to read while the files are not listed."""

MOST_FILES = 40
"""Maximum number of files, the largest ones, with one `Share` each; the sizes of the others are added up."""


def file_shares(files: Sequence[Member]) -> tuple[Share, ...]:
    ordered = sorted((file for file in files if file.size > 0), key=lambda file: (-file.size, file.name))
    shares = [Share(Use.DATA, file.name, file.size, Span(file.name, 0, file.size)) for file in ordered[:MOST_FILES]]
    if rest := ordered[MOST_FILES:]:
        name = plural(len(rest), "smaller file")
        shares.append(Share(Use.DATA, name, sum(file.size for file in rest), None, len(rest)))
    return tuple(shares)


def summed_shares(found: Iterable[Sequence[Share]]) -> tuple[Share, ...]:
    sums: dict[tuple[Use, str], Share] = {}
    for share in chain.from_iterable(found):
        before = sums.setdefault((share.use, share.name), replace(share, size=0, span=None, stretches=0))
        sums[share.use, share.name] = replace(
            before, size=before.size + share.size, stretches=before.stretches + share.stretches
        )
    return tuple(sums.values())


def files_load(names: Sequence[str], counts: Sequence[int]) -> Load:
    numbers = np.array(counts, np.int64)
    return Load(
        "Objects in the files",
        "file",
        "object",
        numbers,
        "Files of about equal size take about the same time to fetch and rewrite.",
        float(numbers.mean()) if len(numbers) else None,
        row_bounds=np.concatenate([[0], np.cumsum(numbers)]).astype(np.int64),
        names=tuple(names),
    )


__all__ = ["DataSet", "Member"]

WHOLE_MEMBER = 256 << 10
"""Size in bytes up to which fetching a whole remote file takes less time than a second request."""

PAGE = 1000
"""Number of names on a full page of a listing of an object store."""

Members = Sequence[Member] | Callable[[], Iterable[Member]]
"""Shards of a data set, or a function that lists them."""


def members_in(folder: Folder, suffix: str, place: str = "") -> Members:
    """Return the files with a suffix, sorted by name; for a large remote folder, a function that lists them."""

    def listed() -> Iterator[Member]:
        return chain.from_iterable(_pages_of_members(folder, suffix, place))

    large = not folder.lists_cheaply and len(next(folder.pages(place), [])) >= PAGE
    return listed if large and next(listed(), None) is not None else sorted(listed(), key=attrgetter("name"))


def some_members(folder: Folder, suffix: str, place: str = "") -> tuple[list[Member], str]:
    """Return the first files that have a suffix, at most one page, and their number as text: `1,000 or more files`."""
    found = next(filter(None, _pages_of_members(folder, suffix, place)), [])
    more = " or more" if not folder.lists_cheaply and len(found) >= PAGE else ""
    return found, f"{len(found):,}{more} {'file' if len(found) == 1 else 'files'}"


def _pages_of_members(folder: Folder, suffix: str, place: str) -> Iterator[list[Member]]:
    for page in folder.pages(place):
        yield [Member(one.name, one.size) for one in page if one.name.endswith(suffix) and not one.is_folder]


def _of_member(default: F) -> F:
    """Return a method that calls the same method of the member of an object, or `default` if it has no member."""

    @wraps(default)
    def call(shard: DataSet, ref: ObjectRef, *arguments: Any, **named: Any) -> Any:
        if not ref.shard:
            return default(shard, ref, *arguments, **named)
        with relocating(ref.shard):
            member = shard.member(ref.shard)
            answers = getattr(member.arrays if hasattr(Arrays, default.__name__) else member, default.__name__)
            return answers(inside_member(ref), *arguments, **named)

    return cast("F", call)


def _member_objects(shard: DataSet, name: str, progress: Progress) -> Objects:
    member = shard.member(name)
    member.load_index(progress)
    return member.objects


class DataSet(Shard, Arrays):
    """Folder of shards (called members here), opened as one shard; routing finds the member of a key.

    Members are opened once, on demand; those in a local folder keep no file descriptor open. Formats implement `route`
    and `open_member`. Rows are numbered over all members, and names of sources begin with the name of the member.

    Args:
        format: Name of the format.
        where: The folder.
        members: The shards, sorted by name, or a function that lists them when needed: many lookups need no listing,
            which may be expensive or forbidden.

    Attributes:
        joins: Whether the objects of the data set are those of the members, one member after the other.
        routes: Whether a key determines a few members; otherwise a lookup searches one member after the other.
        files_are_objects: Whether each member is one object.
        uri: Address of the folder.
        folder: The folder.
        member_head: Number of bytes that are fetched from the beginning of a remote member when it is opened.
        whole_member: Maximum size of a remote member that is fetched as a whole when it is opened; 0: none is.
    """

    joins: bool = True
    routes: bool = True
    files_are_objects: bool = False
    member_head: int = WHOLE_HEAD
    whole_member: int = WHOLE_MEMBER
    no_loads: str = "Each object of this data set is stored in several files, so there is nothing to compare."

    def __init__(self, format: str, where: Folder, members: Members) -> None:
        self.folder = where
        self.uri = where.uri
        self._listing: Once[MemberListing] = Once()
        self._list = members if callable(members) else lambda: members
        self._arrived: dict[str, Member] = {}
        if not callable(members):
            self._listing.put(MemberListing.of(members))
        self._opened: OnceEach[str, Shard] = OnceEach()
        self._closed = False
        self.format = format
        self.source = None
        self.sections: tuple[Section, ...] = ()
        self._joining: Once[JoinedObjects] = Once()
        self._unreadable: dict[str, ShardError] = {}
        self._counted: int | None = None
        self._lazy = LazyObjects(lambda: self._joining.get(lambda: self._join(no_progress)))

    @property
    def members(self) -> tuple[Member, ...]:
        """The shards, sorted by name; listed on first use.

        Raises:
            SourceError: The shards cannot be listed.
        """
        return self._full_listing.members

    def arriving(self) -> Iterator[Member]:
        """Yield the shards, sorted by name, as a large folder of an object store is listed page by page.

        Raises:
            SourceError: The shards cannot be listed.
        """
        if self.listed:
            yield from self.members
            return
        for member in self._list():
            self._arrived[member.name] = member
            yield member
        self._listing.put(MemberListing.of(sorted(self._arrived.values(), key=attrgetter("name"))))
        self._arrived = {}

    def _arrived_member(self, name: str) -> Member | None:
        return None if self.listed else self._arrived.get(name)

    @property
    def listed(self) -> bool:
        """True once the members have been listed."""
        return self._listing.value is not None

    @property
    def lists(self) -> bool:
        """True if the members can be listed. The first use lists them, since an object store may deny it."""
        if not self.listed and self.folder.listable:
            try:
                _ = self.members
            except SourceError:
                if self.folder.listable:
                    raise
        return self.listed

    @property
    def _full_listing(self) -> MemberListing:
        return self._listing.get(lambda: MemberListing.of(self._list()))

    @property
    def _by_name(self) -> dict[str, Member]:
        return self._full_listing.by_name

    @abstractmethod
    def open_member(self, name: str, source: Source) -> Shard:
        """Open a member; on an error, the caller closes the source.

        Raises:
            ShardError: The member cannot be opened.
        """

    def member(self, name: str) -> Shard:
        """Return the member of that name; it is opened on first use, and stays open.

        Raises:
            UsageError: There is no such member.
            SourceError: The data set is closed, or the bytes cannot be read.
            ShardError: The member cannot be opened.
        """
        if (opened := self._opened.value(name)) is not None and not self._closed:
            return opened
        member = self._arrived_member(name)
        if member is None:
            member = self._by_name.get(name) if self.listed or not self.may_hold(name) else Member(name, -1)
        if member is None:
            raise UsageError(f"no file {short(name)} in this data set")
        self._check_open()
        shard = self._opened.get(name, lambda: self._open(member))
        if self._closed:
            shard.close()
            self._check_open()
        return shard

    @property
    def ticket_options(self) -> dict[str, Any]:
        """Options for opening one member without reading the files beside it; see `ShardTicket`."""
        return {}

    def folder_of_member(self, name: str) -> tuple[Folder, str]:
        """Return the folder of a member, which may be a sub-folder, and the name of the member in it."""
        return self.folder, name

    def may_hold(self, name: str) -> bool:
        """Return whether a file of this name would be a member; does not list the folder."""
        return False

    def _open(self, member: Member, *, briefly: bool = False) -> Shard:
        """Open a member. With `briefly`, which is for few members at a time, it may keep a file descriptor open."""
        if briefly and self.folder.lists_cheaply:
            source = self.folder.open(member.name)
        else:
            fits = 0 < member.size <= self.whole_member
            source = self.folder.open_at(member.name, 0, member.size if fits else self.member_head)
        with on_failure(source.close):
            try:
                shard = self.open_member(member.name, source)
                if shard.decodes_to_verify and self.isolated is not None:
                    shard.isolate(self.isolated)
                label_requests(shard)
                return shard
            except (FormatError, NotAShard) as error:
                if what := other_file(PrefetchedSource(source), by_beginning=True):
                    raise NotAShard(f"it is {what}", span=Span("", 0, source.size), is_other=True) from error
                raise

    def _check_open(self) -> None:
        if self._closed:
            raise SourceError(f"{self.uri} is closed")

    @contextmanager
    def borrowed(self, name: str, *, keep: bool = False) -> Iterator[Shard]:
        """Open a member temporarily. It is closed afterwards unless it was open before, so memory stays bounded."""
        self._check_open()
        if keep or self.is_open(name):
            yield self.member(name)
            return
        member = self._arrived_member(name) or self._by_name.get(name)
        if member is None:
            raise UsageError(f"no file {short(name)} in this data set")
        with self._open(member, briefly=True) as shard:
            yield shard

    def each_member(
        self, work: Work[R], *given: Any, progress: Progress = no_progress
    ) -> Generator[tuple[Member, R | ShardError]]:
        """Call a function for every member, several at a time, and yield the results in the order of the members.

        Args:
            work: Module-level function, called as `work(shard, name, progress, …)` with the data set and a member name.
                It borrows the member; its result must not refer to it.
            *given: Further arguments of `work`; plain values, since it may run in another process.
            progress: Called after every member.

        Yields:
            Each member, with its result or error.

        Raises:
            SourceError: The data set is closed, its members cannot be listed, or their server is unreachable.
        """
        if self.tasks is not None:
            results: Generator[tuple[Member, R | ShardError]] = self._elsewhere(self.tasks, work, given)
        else:
            results = self._here(work, given, progress)
        with closing(results) as each:
            for number, (member, result) in enumerate(each, 1):
                # While listing continues, at least one more is expected.
                total = len(self.members) if self.listed else number + 1
                progress(number * PARTS, total * PARTS)
                yield member, result
        self._check_open()
        total = len(self.members) * PARTS
        progress(total, total)

    def _elsewhere(
        self, tasks: ShardTasks, work: Work[R], given: tuple[Any, ...]
    ) -> Generator[tuple[Member, R | ShardError]]:
        with closing(tasks.each(self, work, given)) as results:
            for member, result in zip(self.members, results, strict=True):
                if isinstance(result, ShardError) and source_lost(result):
                    raise placed_error(result, member.name)
                yield member, result

    def _here(
        self, work: Work[R], given: tuple[Any, ...], progress: Progress
    ) -> Generator[tuple[Member, R | ShardError]]:
        def done(place: tuple[int, Member]) -> R | ShardError:
            self._check_open()
            share = self._share(progress, place[0]) if self.jobs == 1 else no_progress
            try:
                return work(self, place[1].name, share, *given)
            except ShardError as error:
                if source_lost(error):
                    raise placed_error(error, place[1].name) from None
                return error

        from shardcore.model.parallel import in_order

        return in_order(lambda place: (place[1], done(place)), enumerate(self.arriving()), self.jobs)

    @property
    def lists_unasked(self) -> bool:
        """True if listing the members costs few requests."""
        return True

    def _close(self) -> None:
        self._closed = True
        for shard in self._opened.clear():
            shard.close()
        self.folder.close()

    def is_open(self, name: str) -> bool:
        """Return whether a member is open; does not wait for one that is being opened."""
        return self._opened.value(name) is not None

    @property
    def byte_shares(self) -> tuple[Share, ...]:
        """Sizes of the largest files, and of all others together; empty before the folder is listed."""
        return file_shares(self.members) if self.listed else ()

    @property
    def loads(self) -> tuple[LoadSource, ...]:
        """Distribution of the number of objects per file; empty if `joins` is False."""
        if not self.joins:
            return ()
        reads = 0 if self.loaded else self.index_bytes if self.listed else UNKNOWN

        def load(progress: Progress) -> Load:
            self.load_index(progress)
            names = [member.name for member in self.members]
            return files_load(names, [self.objects_in(name) or 0 for name in names])

        return (LoadSource("files", "Objects in the files", reads, load),)

    @abstractmethod
    def route(self, key: Any, recorder: LookupRecorder) -> Sequence[str]:
        """Return the names of the members that may contain a parsed key, most likely first; record this lookup step."""

    @property
    def unreadable(self) -> dict[str, ShardError]:
        """Members that the last run over all of them (`load_index`, `count_objects`) could not read: name to error."""
        return dict(self._unreadable)

    def objects_in(self, name: str) -> int | None:
        """Return the number of objects of a member; None before `load_index`."""
        joined = self._joining.value
        return joined.count_of(name) if joined is not None else None

    @property
    def objects(self) -> Objects:
        """The objects of all members; their first use (length, rows) loads the index."""
        joined = self._joining.value
        return self._lazy if joined is None else joined

    def _tree(self) -> Node:
        """One node per member, with the tree of the member as its children; many members are in groups of 1,000."""
        members = self.members
        if len(members) <= GROUP_SIZE:
            kids = tuple(map(self.member_node, members))
        else:
            kids = tuple(map(self._group_node, range(0, len(members), GROUP_SIZE)))
        return Node(self.uri, Span("", 0, 0), children=kids)

    def _group_node(self, first: int) -> Node:
        some = self.members[first : first + GROUP_SIZE]
        return Node(
            f"[{first}..{first + len(some) - 1}]",
            Span("", 0, 0),
            text=f"{plural(len(some), 'file')} from {some[0].name}",
            doc=f"Files from {some[0].name} to {some[-1].name}.",
            children=MemberNodes(some, self.member_node),
        )

    @property
    def fields(self) -> dict[str, Value]:
        return {"dataset.members": len(self.members)}

    @property
    def key_spaces(self) -> dict[str, str]:
        """Sub-folders that are separate data sets with their own keys: name to description; empty if there are none."""
        return {}

    @property
    def declared_objects(self) -> int | None:
        """Number of objects of all members; None until `load_index` or `count_objects` was called."""
        return self._counted if self._joining.value is None else len(self._joining.value)

    @property
    def loaded(self) -> bool:
        """True after `load_index`: all readable members are open, and their objects are numbered as one sequence."""
        return self._joining.value is not None

    @property
    def size(self) -> int | None:
        """Bytes of all members; None if they cannot be listed, or belong to several key spaces."""
        return self._full_listing.size if self.lists and not self.key_spaces else None

    @property
    def index_bytes(self) -> int:
        """Size of all members, as an upper bound for their indexes; 0 if they cannot be listed."""
        return self.size or 0

    @property
    def index_cost(self) -> int:
        """Cost of `load_index` in bytes: the size of each member, but at least `MEMBER_COST`; 0 if they are unknown."""
        return self._full_listing.cost if self.index_bytes else 0

    def _load_index(self, progress: Progress) -> None:
        """Open all members and join their objects. Failed ones are in `unreadable`, and are tried again next time."""
        if self._unreadable:
            again: Once[JoinedObjects] = Once()
            again.put(self._join(progress))
            self._joining = again
        self._joining.get(lambda: self._join(progress))
        progress(len(self.members) * PARTS, len(self.members) * PARTS)

    def count_objects(self, progress: Progress = no_progress) -> None:
        """Count the objects of all members for `declared_objects`; members are closed again.

        Members that fail are left out and listed in `unreadable`.

        Raises:
            SourceError: The data set is closed.
        """
        if self.loaded:
            return
        self._counted = sum(count for _, _, count in self._readable(self.each_member(member_count, progress=progress)))

    def count_shares(self, progress: Progress = no_progress) -> tuple[Share, ...]:
        """Read the indexes of all files and return how many bytes belong to each use. Errors: see `count_objects`."""
        each = self.each_member(member_shares, progress=progress)
        return summed_shares([shares for _, _, shares in self._readable(each)])

    def _readable(self, each: Generator[tuple[Member, R | ShardError]]) -> Generator[tuple[int, str, R]]:
        """Yield number, name and result of each member, except failed ones, which are put into `unreadable`."""
        unreadable = dict[str, ShardError]()
        with closing(each) as results:
            for number, (member, result) in enumerate(results):
                if isinstance(result, ShardError):
                    unreadable[member.name] = detached(result)
                else:
                    yield number, member.name, result
        self._check_open()
        self._unreadable = unreadable

    def _join(self, progress: Progress) -> JoinedObjects:
        parts, total = list[tuple[str, int, Objects]](), len(self.members) * PARTS
        with closing(self._readable(self._here(_member_objects, (), progress))) as each:
            for number, name, objects in each:
                progress((number + 1) * PARTS, total)
                parts.append((name, number, objects))
        return JoinedObjects(parts)

    def lookup(self, key: Any, recorder: LookupRecorder) -> ObjectRef:
        """Find a key in the members to which it is routed. A damaged member does not end the search in the others."""
        absent: ShardError | None = None
        damage: ShardError | None = None
        names = self.route(key, recorder)
        for name in names:
            before, member = len(recorder.steps), None
            try:
                member = self.member(name)
                known = None if recorder.recording else member.find_loaded(key)
                ref = known or member.lookup(key, recorder)
            except KeyAbsent as error:
                absent = placed_error(error, name)
                continue
            except (FormatError, NotAShard) as error:
                found = placed_error(error, name)
                recorder.damaged(found, f"{name}: {error.message}")
                damage = damage or found
                continue
            except ShardError as error:
                raise placed_error(error, name) from error
            finally:
                if recorder.recording:
                    recorder.draw(before, member.sections if member is not None else ())
                recorder.place(before, name, said=len(names) > 1)
            return located(ref, name, self.first_row_of(name))
        if damage is None and len(names) != 1:
            where = f"{len(names)} candidate files searched" if names else "no file can contain it"
            raise KeyAbsent(str(key), f"not in this data set: {shown_key(str(key))} ({where})")
        raise damage or absent or KeyAbsent(str(key))

    def _format_sketches(self, trace: Trace | None) -> tuple[Sketch, ...]:
        """Return the drawings of the data set; if it has none, those of the member in which a lookup ended."""
        part = self._teaching()
        if part is not None and (found := part.folder_sketches(self, trace)) is not None:
            drawn: tuple[Sketch, ...] = found
            return drawn
        name = trace.member if trace is not None else ""
        try:
            return self.placed_sketches(self.member(name)._format_sketches(trace), name)
        except ShardError:
            return ()

    @property
    def first_member(self) -> str:
        """Name of the first member, or empty if it is not known without reading."""
        return self.members[0].name if self.listed and self.members else ""

    def placed_sketches(self, sketches: Sequence[Sketch], name: str) -> tuple[Sketch, ...]:
        """Return drawings of a member, with the name of the member added to the source of each span."""
        from shardcore.model.drawing import moved_sketches

        return moved_sketches(sketches, lambda span: placed_span(span, name))

    def lookup_all(self, key: Any) -> Sequence[ObjectRef]:
        """Return the objects with a parsed key from all members to which it is routed."""
        found: list[ObjectRef] = []
        damage: ShardError | None = None
        for name in self.route(key, LookupRecorder()):
            try:
                refs = self.member(name).lookup_all(key)
            except (FormatError, NotAShard) as error:
                damage = damage or placed_error(error, name)
                continue
            except ShardError as error:
                raise placed_error(error, name) from error
            found += [located(ref, name, self.first_row_of(name)) for ref in refs]
        if damage is not None and not found:
            raise damage
        return tuple(found)

    def _find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        self.load_index()
        return super()._find_many(keys)

    def _stream(self, ref: ObjectRef) -> Iterator[bytes]:
        with relocating(ref.shard):
            yield from self.member(ref.shard).stream(inside_member(ref))

    _read_range = _of_member(Shard._read_range)
    reads_ranges = _of_member(Shard.reads_ranges)
    read_part = _of_member(Shard.read_part)
    file_names = _of_member(Shard.file_names)
    array_layout = _of_member(Arrays.array_layout)
    decode_array = _of_member(Arrays.decode_array)
    facts = _of_member(Shard.facts)

    def geometry(self, ref: ObjectRef, data: bytes) -> Geometry | None:
        if not ref.shard:
            return super().geometry(ref, data)
        with relocating(ref.shard):
            found = self.member(ref.shard).arrays.geometry(inside_member(ref), data)
        return None if found is None else found.with_spans(lambda span: placed_span(span, ref.shard))

    def content_parts(self, ref: ObjectRef) -> Sequence[ContentPart]:
        if not ref.shard:
            return ()
        with relocating(ref.shard):
            parts = self.member(ref.shard).content_parts(inside_member(ref))
        if isinstance(parts, ContentParts):
            return parts.placed(lambda span: placed_span(span, ref.shard))
        return tuple(replace(part, stored=placed_span(part.stored, ref.shard)) for part in parts)

    def _verify(self, depth: Depth, progress: Progress) -> Report:
        """Verify every member; members that cannot be opened are findings."""
        with closing(self.each_member(member_report, depth, progress=progress)) as reports:
            named = ((member.name, report) for member, report in reports)
            return joined_report(self.format, depth, named, len(self.members))

    def release(self, name: str) -> None:
        """Close a member, except after `load_index`; it is opened again on demand."""
        if self._joining.value is None and (shard := self._opened.forget(name)) is not None:
            shard.close()

    def part(self, name: str) -> SourcePart:
        """Return the source of a member, of its decoded bytes, or of a file beside the members; see `Shard.part`."""
        parsed = SourceName.parse(name)
        member = parsed.path
        with reading(self):
            if (self.listed or not self.may_hold(member)) and member not in self._by_name:
                return self._part(parsed)
            with relocating(member):
                part = self.member(member).part(str(parsed.inside(member)))
        return SourcePart(part.source, part.sections, lambda: self.member_tree(member, part))

    def _part(self, name: SourceName) -> SourcePart:
        such = f", such as {self.members[0].name}" if self.members else ""
        raise UsageError(f"unknown source {short(str(name))}; a name must begin with a file of the data set{such}")

    def whole_path(self, offset: int, source: str = "") -> tuple[Node, ...]:
        path = super().whole_path(offset, source)
        root, outer = self.tree, path[0].span
        place = next((node for node in root.children if node.span == outer), None)
        if place is not None:
            return root, place, *path[1:]
        name = SourceName.parse(outer.source).path
        number = bisect_left(self.members, name, key=attrgetter("name"))
        if str(SourceName(name)) != outer.source or number == len(self.members) or self.members[number].name != name:
            return path
        start = number - number % GROUP_SIZE
        group = next((node for node in root.children if node.name == self._group_node(start).name), None)
        return path if group is None else (root, group, group.children[number - start], *path[1:])

    def member_node(self, member: Member) -> Node:
        """Return the node of a member; its children are read on demand."""
        source = str(SourceName(member.name))
        return Node(
            member.name,
            Span(source, 0, member.size),
            text=plural(member.size, "byte"),
            children=Deferred(lambda: list(self.tree_of(source).children), source),
            row=self.row_of_member(member.name),
        )

    def member_tree(self, member: str, part: SourcePart) -> Node:
        """Return the tree of a source of a member, with the name of the member added to the source of each span."""
        with relocating(member):
            tree = placed(part.tree(), member, self.first_row_of(member))
        row = self.row_of_member(member)
        return tree if row is None else replace(tree, row=row)

    def row_of_member(self, name: str) -> int | None:
        """Return the row of the object that the member is, or is a part of; None if the member contains objects."""
        return None

    def first_row_of(self, name: str) -> int | None:
        """Return the row of the first object of a member; None before `load_index`."""
        if (row := self.row_of_member(name)) is not None:
            return row
        joined = self._joining.value
        return joined.first_row(name) if joined is not None and joined.has(name) else None

    def _share(self, progress: Progress, number: int) -> Progress:
        total = len(self.members) * PARTS
        progress(number * PARTS, total)
        return lambda done, of: progress(number * PARTS + min(done, of) * PARTS // max(of, 1), total)
