"""What a remote address allows: read, sizes, ranges, listing. Each is tried, with one request where one is enough."""

from __future__ import annotations

from dataclasses import dataclass

from shardcore import Folder, RemoteOptions, ShardError, Source, Tape
from shardcore.model.number_words import plural
from shardcore.sources.remote.source import RemoteFolder
from shardcore.sources.where import source_of
from shardscope.session.error_words import plain_words

NAMED = 3
"""Names of a folder that are told as examples."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """One thing that was tried.

    Attributes:
        what: `Read`, `Ranges`, `List`.
        works: Whether it is allowed; None where it does not apply.
        text: What came out, in one sentence.
    """

    what: str
    works: bool | None
    text: str


def probe(uri: str, options: RemoteOptions | None) -> list[Allowed]:
    """Tries what an address allows.

    Raises:
        Cancelled: Nobody wants to know any more.
    """
    tape = Tape()
    try:
        target = source_of(uri, options, tape)
    except ShardError as error:
        return [Allowed("Read", False, plain_words(error))]
    with_folder: Folder | None
    try:
        if isinstance(target, Source):
            found = _of_file(target, tape)
            with_folder = target.folder
        else:
            found = []
            with_folder = target
        found.append(_listing(with_folder))
    finally:
        target.close()
    return [*found, Allowed("Cost", None, f"{plural(tape.requests, 'request')}, {plural(tape.bytes, 'byte')}")]


def _of_file(source: Source, tape: Tape) -> list[Allowed]:
    size = source.size
    found = [Allowed("Read", True, "it may be read"), Allowed("Size", True, plural(size, "byte"))]
    if any(record.status == 206 for record in tape.records):
        found.append(Allowed("Ranges", True, "parts can be fetched alone"))
    else:
        found.append(Allowed("Ranges", False, "the server gives no parts; the file was fetched whole"))
    return found


def _listing(folder: Folder | None) -> Allowed:
    if not isinstance(folder, RemoteFolder) or not folder.listable:
        return Allowed("List", None, "web servers cannot list; neighbours are opened by their names")
    try:
        entries = next(folder.pages(most=1000), [])
    except ShardError as error:
        return Allowed("List", False, plain_words(error))
    names = [f"{entry.name}/" if entry.is_folder else entry.name for entry in entries]
    if not names:
        return Allowed("List", True, "there is nothing in this folder")
    more = ", …" if len(names) > NAMED else ""
    count = "1,000 or more names" if len(names) >= 1000 else plural(len(names), "name")
    return Allowed("List", True, f"{count}: {', '.join(names[:NAMED])}{more}")


def profiles() -> list[str]:
    """The profiles of the AWS configuration; empty where there is none."""
    # Takes long to import, and local files do without.
    from shardcore.sources.remote.s3 import profiles as named

    return named()
