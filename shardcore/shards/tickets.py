"""Tickets: picklable data with which another process opens a shard, and functions that process shards by ticket."""

from __future__ import annotations

import builtins
import os
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from shardcore.dataclasses import dataclass, field, replace
from shardcore.errors import ShardError, UsageError, detached
from shardcore.model.budget import budgeted
from shardcore.model.text import short, without_secrets
from shardcore.progress import Progress, no_progress
from shardcore.shards.dataset import DataSet
from shardcore.shards.opening import open as open_shard
from shardcore.shards.shard import Shard, Work
from shardcore.sources.base import Entry, Folder, Source, on_failure
from shardcore.sources.location import folder_of, local_path
from shardcore.sources.remote.address import is_address, parse_address, shown_address

if TYPE_CHECKING:
    from shardcore.sources.remote.options import RemoteOptions
    from shardcore.sources.remote.request_log import LogShare, RequestLog


@dataclass(frozen=True, slots=True, repr=False)
class ShardTicket:
    """Picklable data with which any process can open one shard. A ticket keeps no file open.

    Attributes:
        uri: The file, or the folder of the data set.
        format: Name of the format.
        options: Options for opening, by name; `remote` are the options for remote files.
        name: Name of the shard in its data set; empty for a single file.
        size: Bytes of the shard; -1 if unknown.
    """

    uri: str
    format: str
    options: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    size: int = -1

    def __repr__(self) -> str:
        options = {name: shown_address(one) if isinstance(one, str) else one for name, one in self.options.items()}
        shown = f"uri={shown_address(self.uri)!r}, format={self.format!r}, options={options!r}"
        return f"ShardTicket({shown}, name={self.name!r}, size={self.size})"

    @property
    def remote(self) -> RemoteOptions | None:
        """Options for remote files; None for defaults."""
        found: RemoteOptions | None = self.options.get("remote")
        return found

    @property
    def has_keys(self) -> bool:
        """True if the ticket contains credentials: an access key, a login or a signed query."""
        texts = [self.uri, *(value for value in self.options.values() if isinstance(value, str))]
        return bool(self.remote and self.remote.access_key) or any(
            is_address(text) and without_secrets(text) != text for text in texts
        )


def check_keys(ticket: ShardTicket) -> None:
    """Raise UsageError if a ticket contains credentials: a cluster may store tasks in logs of other machines."""
    if ticket.has_keys:
        raise UsageError("credentials are not sent to workers: give a profile that the workers have, or no credentials")


def folder_address(folder: str, opened_at: str) -> str:
    """Return the address of a folder for other processes, with the login or signature of `opened_at`."""
    if not (is_address(folder) and is_address(opened_at)):
        return absolute(folder)
    return parse_address(folder).with_login_of(parse_address(opened_at)).text


def as_named(error: ShardError, where: str) -> ShardError:
    """Replace the absolute path in the message of an error by the path that the caller gave; return the error."""
    error.message = error.message.replace(absolute(where), where)
    error.args = (error.message, *error.args[1:])
    return error


def absolute(where: str) -> str:
    return where if is_address(where) else os.path.abspath(local_path(where))  # noqa: PTH100 - the text, not the target


R = TypeVar("R")


def tickets_of(shard: Shard, *, keys: bool = False) -> list[ShardTicket]:
    if not shard.opened_at:
        raise UsageError("this shard was not opened by a path or address, so another process cannot open it")
    chosen = ((name, value) for name, value in shard.chosen.items() if name != "format")
    options = {name: absolute(one.uri) if isinstance(one, Folder) else one for name, one in chosen}
    if shard.opened_with is not None:
        options["remote"] = shard.opened_with
    found = list(_member_tickets(shard, options) if isinstance(shard, DataSet) else [_file_ticket(shard, options)])
    for one in {one.uri: one for one in found}.values() if not keys else ():
        check_keys(one)
    return found


def _file_ticket(shard: Shard, options: dict[str, Any]) -> ShardTicket:
    size = shard.source.size if shard.source is not None else -1
    return ShardTicket(absolute(shard.opened_at), shard.format, options, "", size)


def _member_tickets(shard: DataSet, options: dict[str, Any]) -> Iterator[ShardTicket]:
    options = options | shard.ticket_options
    for member in shard.members:
        folder, name = shard.folder_of_member(member.name)
        yield ShardTicket(folder_address(folder.uri, shard.opened_at), shard.format, options, name, member.size)


class ListedFolder(Folder):
    """Folder with a fixed list of files; everything else is delegated to the real folder."""

    def __init__(self, base: Folder, files: Sequence[Entry], tape: RequestLog | None = None) -> None:
        self._base, self._files = base, tuple(files)
        self.tape = tape
        self.name, self.uri = base.name, base.uri
        self.lists_cheaply, self.listable = base.lists_cheaply, True

    def list(self, prefix: str = "") -> builtins.list[Entry]:
        lead, found = f"{prefix}/" if prefix else "", dict[str, Entry]()
        for entry in self._files:
            if entry.name.startswith(lead):
                inner, below, _ = entry.name[len(lead) :].partition("/")
                found[inner] = Entry(lead + inner, -1, True) if below else entry
        return [found[name] for name in sorted(found)]

    def open(self, name: str) -> Source:
        return self._base.open(name)

    def open_on_demand(self, name: str) -> Source:
        return self._base.open_on_demand(name)

    def open_at(self, name: str, start: int, stop: int) -> Source:
        return self._base.open_at(name, start, stop)

    def at_hand(self, name: str) -> bool:
        return self._base.at_hand(name)

    def read(self, name: str, limit: int) -> bytes:
        return self._base.read(name, limit)

    def folder(self, name: str) -> Folder:
        lead = f"{name}/"
        inner = [replace(one, name=one.name[len(lead) :]) for one in self._files if one.name.startswith(lead)]
        return ListedFolder(self._base.folder(name), inner, self.tape)

    def parent(self) -> Folder | None:
        return self._base.parent()

    def close(self) -> None:
        self._base.close()


def open_ticket(ticket: ShardTicket, *, tape: RequestLog | None = None) -> Shard:
    """Open the shard of a ticket, without listing its folder and without fetching an `info`.

    Args:
        ticket: The ticket.
        tape: Log to which requests are added.

    Raises:
        ShardError: The shard cannot be opened.
    """
    found = open_ticket_set(ticket, tape)
    if not isinstance(found, DataSet) or not ticket.name:
        return found
    with on_failure(found.close):
        shard = found.member(ticket.name)
    shard.tape, own = found.tape, shard.close

    def close() -> None:
        own()
        found.close()

    # Close the data set with its only member.
    shard.close = close  # type: ignore[method-assign]
    return shard


def open_ticket_set(ticket: ShardTicket, tape: RequestLog | None = None) -> Shard:
    """Return the file of a ticket, or a data set with this shard as its only member; see `open_ticket`."""
    options = {name: value for name, value in ticket.options.items() if name != "remote"}
    if not ticket.name:
        return open_shard(ticket.uri, format=ticket.format, remote=ticket.remote, tape=tape, **options)
    uri = parse_address(ticket.uri).as_folder.text if is_address(ticket.uri) else ticket.uri
    folder = folder_of(uri, ticket.remote, tape)
    listed = ListedFolder(folder, [Entry(ticket.name, max(ticket.size, 0), False)], getattr(folder, "tape", tape))
    with on_failure(listed.close):
        return open_shard(listed, format=ticket.format, remote=ticket.remote, **options)


@dataclass(frozen=True, slots=True)
class TaskResult(Generic[R]):
    """Picklable results of a task, one per ticket, and its requests; `log` is None if they are already logged."""

    results: list[R | ShardError]
    log: LogShare | None = None


def run_tickets(work: Work[R], tickets: Sequence[ShardTicket], given: Sequence[tuple[Any, ...]]) -> TaskResult[R]:
    """Call a function for each shard, one after the other, as one task. `given` has the arguments for each shard."""
    from shardcore.sources.remote.request_log import RequestLog

    tape, results = RequestLog(), list[R | ShardError]()
    with _connected(tickets[0]):
        for ticket, arguments in zip(tickets, given, strict=True):
            results.append(_worked(work, ticket, arguments, tape))
    done = TaskResult(results, tape.share())
    _check_plain(done)
    return done


def _check_plain(done: TaskResult[Any]) -> None:
    """Raise an error for results that cannot be pickled: Dask would never return them, and the caller would hang."""
    try:
        pickle.dumps(done)
    except Exception as error:  # noqa: BLE001 - whatever a class raises when it is pickled
        try:
            # Dask uses cloudpickle for classes of a notebook.
            import_module("cloudpickle").dumps(done)
        except Exception:  # noqa: BLE001 - not installed, or no better
            text = f"the results of this function cannot be sent back ({short(str(error))}): return plain values"
            raise UsageError(text) from None


@contextmanager
def _connected(ticket: ShardTicket) -> Iterator[None]:
    """Keep the connection open for further tickets, since creating a client is slower than reading a small shard."""
    if not is_address(ticket.uri):
        yield
        return
    from shardcore.sources.remote.options import RemoteOptions
    from shardcore.sources.remote.session import RemoteSession

    session = RemoteSession(ticket.remote or RemoteOptions())
    with closing(session):
        # The error becomes the result of each ticket.
        with suppress(ShardError):
            session.connection(parse_address(ticket.uri))
        yield


def _worked(work: Work[R], ticket: ShardTicket, given: tuple[Any, ...], tape: RequestLog) -> R | ShardError:
    try:
        with budgeted(taking=True), open_ticket_set(ticket, tape) as shard:
            return work(shard, ticket.name, no_progress, *given)
    except ShardError as error:
        return detached(error)


def run_here(work: Work[R], shard: Shard, names: Sequence[str], given: Sequence[tuple[Any, ...]]) -> TaskResult[R]:
    results = list[R | ShardError]()
    for name, arguments in zip(names, given, strict=True):
        try:
            results.append(work(shard, name, no_progress, *arguments))
        except ShardError as error:
            results.append(error)
    return TaskResult(results)


def on_shard(shard: Shard, name: str, progress: Progress, function: Callable[[Shard], R]) -> R:
    with shard.borrowed(name) as member:
        try:
            return function(member)
        except ShardError:
            raise
        except Exception as error:
            # Otherwise it would be reported as damage of the file.
            raise ShardError(f"the function failed: {type(error).__name__}: {error}") from error
