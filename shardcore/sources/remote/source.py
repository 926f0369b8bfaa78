"""Remote files as sources, and prefixes of stores as folders."""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, count
from operator import attrgetter

from shardcore.dataclasses import replace
from shardcore.errors import Forbidden, NoSuchObject, RemoteError, SourceChanged, SourceError, raise_unless_absent
from shardcore.model.budget import budget
from shardcore.progress import check_stopped, wait_for
from shardcore.sources.base import (
    MOST_PLAIN,
    RANGE,
    WHOLE_HEAD,
    Entry,
    Folder,
    PurposeAt,
    ReadPurpose,
    Source,
    on_failure,
    reading_for,
)
from shardcore.sources.remote.address import Address
from shardcore.sources.remote.file import RemoteFile
from shardcore.sources.remote.options import RemoteOptions
from shardcore.sources.remote.request_log import Request, RequestLog
from shardcore.sources.remote.response import Broken, ListingPage, ListingRefused, refusal
from shardcore.sources.remote.session import RemoteSession


class FolderListing:
    """Cached listing of a folder. Each page is requested once, with the token of the page before. Thread-safe."""

    def __init__(self, request: Callable[[str], tuple[list[Entry], str]]) -> None:
        self._request = request
        self._lock = threading.Lock()
        self._pages: list[list[Entry]] = []
        self._token: str | None = ""

    def pages(self) -> Iterator[list[Entry]]:
        for number in count():
            with self._lock:
                if number == len(self._pages):
                    if self._token is None:
                        return
                    page, token = self._request(self._token)
                    self._pages.append(page)
                    self._token = token or None
                found = self._pages[number]
            yield found

    def has(self, name: str) -> bool:
        """Return whether a name is on the pages that were received so far."""
        with self._lock:
            return any(entry.name == name for page in self._pages for entry in page)


class OpenedFiles:
    """Remote files of one open shard, by address; the first range of each file is requested once."""

    def __init__(self, options: RemoteOptions, tape: RequestLog | None, marks: tuple[str, ...] = ()) -> None:
        self.remote = RemoteSession(options, tape)
        self.marks = marks
        self._lock = threading.Lock()
        self._files: dict[Address, RemoteFile] = {}
        self._absent: dict[Address, RemoteError] = {}
        self._listings: dict[tuple[Address, str], FolderListing] = {}
        self.unlisted: set[str] = set()

    def source(
        self, address: Address, *, sibling: bool = False, head: tuple[int, int] = (0, WHOLE_HEAD)
    ) -> RemoteSource:
        """Return the file at an address after fetching its first range, `head`."""
        file = self.file(address, sibling=sibling, head=head)
        return RemoteSource(self, file, head, root=not sibling)

    def file(self, address: Address, *, sibling: bool = True, head: tuple[int, int] = (0, WHOLE_HEAD)) -> RemoteFile:
        self.check_absent(address)
        with self._lock:
            file = self._files.get(address)
            if file is None:
                file = self._files[address] = RemoteFile(self.remote, address, sibling=sibling)
        try:
            file.open(head)
        except BaseException as error:
            with self._lock:
                self._files.pop(address, None)
                if isinstance(error, (NoSuchObject, Forbidden)):
                    # A copy: the traceback of the original keeps many objects alive, for thousands of siblings.
                    self._absent[address] = error.again()
                listing = self._listings.get((address.folder, ""))
            if sibling and isinstance(error, Forbidden) and not (listing is not None and listing.has(address.name)):
                self.remote.tape.note(f"{address.shown} not found, or access is denied; treated as not found")
            raise
        return file

    def check_absent(self, address: Address) -> None:
        """Raise the same error again if an earlier request did not find the address."""
        with self._lock:
            absent = self._absent.get(address)
        if absent is not None:
            raise absent.again()

    def knows(self, address: Address) -> bool:
        with self._lock:
            return address in self._files or address in self._absent

    def listing(self, place: tuple[Address, str], request: Callable[[str], tuple[list[Entry], str]]) -> FolderListing:
        with self._lock:
            return self._listings.setdefault(place, FolderListing(request))

    def close(self) -> None:
        self.remote.close()
        with self._lock:
            files = list(self._files.values())
        for file in files:
            file.close()


class RemoteSource(Source):
    """A remote file, read by ranges. If the user opened it (`root`), closing it closes all files of the shard."""

    near = False

    def __init__(self, opened: OpenedFiles, file: RemoteFile, head: tuple[int, int], *, root: bool) -> None:
        self._opened, self._file, self._root = opened, file, root
        self.head_size = WHOLE_HEAD if head[0] else head[1]
        self._closed = False
        address = file.address
        self.name, self.uri = address.name, address.shown
        file.check_plain()
        self.folder = None if address.is_single_file else RemoteFolder(opened, address.folder)

    @property
    def size(self) -> int:
        return self._file.pin.size

    @property
    def identity(self) -> str:
        return self._file.identity

    @property
    def content_tag(self) -> str:
        return self._file.pin.content_tag

    @property
    def tape(self) -> RequestLog:
        return self._opened.remote.tape

    def loaded(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        return self._file.loaded(start, stop)

    def prefetch(self, start: int, stop: int, most: int = RANGE) -> None:
        if not self._closed:
            self._file.prefetch(start, min(stop, self.size), most)

    def learn_purposes(self, at: PurposeAt) -> None:
        self.tape.learn_purposes(self.uri, at)

    def check_unchanged(self) -> None:
        if self.size:
            self._file.read([(0, 1)], fresh=True)

    def close(self) -> None:
        self._closed = True
        self._file.release_cache()
        if self._root:
            self._opened.close()

    def _read(self, start: int, stop: int) -> bytes:
        return self._read_many([(start, stop)])[0]

    def _read_last(self, count: int) -> bytes:
        with reading_for(ReadPurpose.FOOTER):
            return super()._read_last(count)

    def _read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        if self._closed:
            raise SourceError(f"{self.name} is closed")
        return self._file.read(ranges)


class RemoteFolder(Folder):
    """A prefix of a bucket, or a path on a web server. Web servers cannot be listed."""

    lists_cheaply = False

    def __init__(self, opened: OpenedFiles, address: Address, *, root: bool = False) -> None:
        self._opened, self._address, self._root = opened, address, root
        self.name, self.uri = address.name, address.shown

    @property
    def listable(self) -> bool:  # type: ignore[override]
        return self._address.in_store and self._address.place not in self._opened.unlisted

    @property
    def tape(self) -> RequestLog:
        return self._opened.remote.tape

    def pages(self, prefix: str = "") -> Iterator[builtins.list[Entry]]:
        if not self.listable and self._root:
            self._check_mark()
        return self._opened.listing((self._address, prefix), partial(self._requested, prefix)).pages()

    def first_page(self, most: int = 1000) -> builtins.list[Entry]:
        return self._requested("", "", most)[0]

    def _requested(self, prefix: str, token: str, most: int = 1000) -> tuple[builtins.list[Entry], str]:
        where = self._address.inside(prefix).as_folder if prefix else self._address
        lead = f"{prefix}/" if prefix else ""
        page = self._page(where, token, most)
        if page.token and page.token == token:
            raise RemoteError(f"{where.shown}: the listing cannot continue: the server repeats its token")
        files = [Entry(lead + name, size, False) for name, size in page.files]
        return files + [Entry(lead + name, -1, True) for name in page.folders], page.token

    def list(self, prefix: str = "") -> builtins.list[Entry]:
        return sorted(chain.from_iterable(self.pages(prefix)), key=attrgetter("name"))

    def open(self, name: str) -> RemoteSource:
        return self._opened.source(self._address.inside(name), sibling=True)

    def at_hand(self, name: str) -> bool:
        return self._opened.knows(self._address.inside(name))

    def open_at(self, name: str, start: int, stop: int) -> RemoteSource:
        try:
            return self._opened.source(self._address.inside(name), sibling=True, head=(start, stop))
        except SourceChanged:
            # The file ends before the range, which is reported as a change.
            return self.open(name)

    def read(self, name: str, limit: int) -> bytes:
        return self._opened.file(self._address.inside(name), head=(0, min(limit, MOST_PLAIN))).plain(limit)

    def close(self) -> None:
        if self._root:
            self._opened.close()

    def folder(self, name: str) -> RemoteFolder:
        return RemoteFolder(self._opened, self._address.inside(name).as_folder)

    def parent(self) -> RemoteFolder | None:
        above = self._address.parent
        return None if above is None else RemoteFolder(self._opened, above)

    def _check_mark(self) -> None:
        for mark in self._opened.marks:
            try:
                self._opened.check_absent(self._address.inside(mark))
            except NoSuchObject as error:
                lists = "listing this bucket is denied" if self._address.in_store else "a web server has no listings"
                text = f"{self.uri} has no {mark}, and {lists}: give the address of a file in it"
                raise NoSuchObject(text, status=error.status) from error

    def _page(self, where: Address, token: str, most: int) -> ListingPage:
        remote, tape = self._opened.remote, self.tape
        connection = remote.connection(where)
        transport = connection.transport

        def ask(attempt: int) -> ListingPage:
            check_stopped()
            if where.in_store:
                remote.spend(0)
            asked = Request(tape.now, "GET", where.shown, None, None, ReadPurpose.LISTING, retry=attempt)
            try:
                with connection.gate.passed(check_stopped) as slow_down:
                    try:
                        page = transport.page(where, token, most)
                    except ListingRefused as error:
                        if error.reply.overloaded:
                            slow_down()
                        raise
            except (Broken, ListingRefused) as error:
                failed = refusal(error.reply, where) if isinstance(error, ListingRefused) else error
                if isinstance(failed, Forbidden):
                    self._opened.unlisted.add(where.place)
                cause = failed.error if isinstance(failed, Broken) else failed
                status = error.reply.status if isinstance(error, ListingRefused) else 0
                text = str(getattr(cause, "message", cause))
                tape.add(replace(asked, wait=tape.now - asked.at, status=status, error=text))
                raise failed from error
            remote.settle(page.size, transport.redirects)
            answered = replace(asked, wait=tape.now - asked.at)
            for _ in range(transport.redirects):
                tape.add(replace(answered, status=301))
            tape.add(replace(answered, status=200, bytes=page.size))
            if (current := budget()) is not None:
                current.add_files(len(page.files) + len(page.folders))
            return page

        return remote.with_retries(ask, wait_for)


def open_remote(
    address: Address,
    options: RemoteOptions,
    tape: RequestLog | None = None,
    first: int = WHOLE_HEAD,
    marks: tuple[str, ...] = (),
) -> RemoteSource | RemoteFolder:
    """Open the file at an address, or the folder if it ends with `/` or there is no such file.

    A web address of a store is read over HTTP; if it is a folder, or if options for S3 are set, over S3.
    """
    in_store = address.store
    if in_store is not None and (options.has_s3_options or address.is_folder):
        address = in_store
    opened = OpenedFiles(options, tape, marks)
    with on_failure(opened.close):
        if address.is_folder:
            return RemoteFolder(opened, address, root=True)
        try:
            return opened.source(address, head=(0, first))
        except (NoSuchObject, Forbidden) as error:
            if address.is_single_file or not _folder_exists(opened, address.as_folder):
                raise error
            return RemoteFolder(opened, address.as_folder, root=True)


def _folder_exists(opened: OpenedFiles, address: Address) -> bool:
    """Return whether a folder exists: it has a marker file, which is needed soon anyway, or any file."""
    folder = RemoteFolder(opened, address)
    try:
        for mark in opened.marks:
            # Not as a sibling, so that no note is added if access is denied.
            with suppress(NoSuchObject, Forbidden):
                opened.file(address.inside(mark), sibling=False)
                return True
        if folder.listable:
            return bool(folder.first_page(1))
    except SourceError as error:
        raise_unless_absent(error)
    return False
