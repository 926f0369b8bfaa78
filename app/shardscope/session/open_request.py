"""Request to open a file or address with its options; it can be repeated, for example to reload. No Qt here."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import shardcore
from shardcore import (
    DataSet,
    Folder,
    Member,
    RemoteOptions,
    RequestLog,
    Shard,
    Source,
    SourceError,
    UsageError,
    open_inside,
)
from shardcore.dataclasses import dataclass, field, replace
from shardcore.model.details import SHOWN_OPTIONS, OpenedWith
from shardcore.model.inside_path import (
    InsidePath,
    inside_link,
    last_name,
    names_of,
    shown_inside,
    split_inside,
)
from shardcore.operations.recover import Salvage, salvage
from shardcore.progress import Progress
from shardcore.shards.opening import chosen_address, path_inside
from shardcore.sources.base import on_failure
from shardcore.sources.location import source_of
from shardcore.sources.patched_source import Change, PatchedSource
from shardcore.sources.remote.address import is_address, parse_address, plain_address, shown_address
from shardcore.teaching.resource_paths import resources

SERVES_DELETED = "deleted"
"""Name of the option that returns tombstoned objects, for formats with tombstones."""

XORBS = "xorbs"


def name_of(uri: str) -> str:
    """Return the last part of a path or address, percent-decoded; of a link to an object in a file, `a.des › 2090`."""
    file, *inside = names_of(uri, _last_part)
    return shown_inside(file, inside)


def file_of(uri: str) -> str:
    try:
        return split_inside(uri)[0]
    except UsageError:
        return uri


def _last_part(uri: str) -> str:
    try:
        return parse_address(uri).name if is_address(uri) else Path(uri).name or uri
    except UsageError:
        return shown_address(uri)


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """Address to open, with its options.

    Attributes:
        format: None to detect it. The format of content inside a file is always detected.
        remote: Connection options; never shown or logged, since they may contain access keys.
        changes: Changes made in the sandbox to the file whose identity is `expects`.
        inside: Path to the content to open inside the file; empty for the file itself.
    """

    uri: str = field(repr=False)
    format: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    remote: RemoteOptions | None = field(default=None, repr=False)
    sandbox: bool = False
    changes: tuple[Change, ...] = field(default=(), repr=False)
    expects: str = field(default="", repr=False)
    inside: InsidePath = field(default=(), repr=False)

    @property
    def shown(self) -> str:
        """Path, address or link for display, without login and signature."""
        return inside_link(shown_address(self.uri), self.inside)

    @property
    def link(self) -> str:
        return inside_link(self.uri, self.inside)

    @property
    def is_remote(self) -> bool:
        return is_address(self.uri)

    @property
    def folder(self) -> Path:
        path = Path(self.uri).absolute()
        return Path.home() if self.is_remote or path.is_relative_to(resources()) else path.parent

    @property
    def name(self) -> str:
        return last_name(self.inside[-1]) if self.inside else name_of(self.uri)

    @property
    def title(self) -> str:
        return shown_inside(name_of(self.uri), self.inside)

    def resolved(self) -> OpenRequest:
        """Return the request with a link split into `uri` and `inside`, and a normalised address; accesses the disk."""
        uri = chosen_address(self.uri)
        file, inside = path_inside(uri) or (uri, ())
        file = plain_address(file) if is_address(file) else file
        return self if file == self.uri else replace(self, uri=file, inside=(*inside, *self.inside))

    def opened_with(self, *, partial: bool = False) -> OpenedWith:
        remote = {name: getattr(self.remote, name) for name in SHOWN_OPTIONS} if self.remote is not None else {}
        return OpenedWith(self.format, _without_secrets(self.options), _without_secrets(remote), partial)

    @property
    def deleted(self) -> bool:
        return bool(self.options.get(SERVES_DELETED))

    def with_deleted(self) -> OpenRequest:
        return replace(self, options={**self.options, SERVES_DELETED: True})

    def with_xorbs(self, folder: str) -> OpenRequest:
        return replace(self, options={**self.options, XORBS: folder})

    def with_remote(self, remote: RemoteOptions | None) -> OpenRequest:
        return replace(self, remote=remote)

    def with_changes(self, changes: tuple[Change, ...], expects: str) -> OpenRequest:
        return replace(self, sandbox=True, changes=changes, expects=expects)

    def without_changes(self) -> OpenRequest:
        return replace(self, sandbox=False, changes=(), expects="")

    def open(self, progress: Progress, request_log: RequestLog | None = None) -> Shard:
        """Open the shard, in a job. A damaged file is opened as far as possible; decoders run in a separate process."""
        shard = self._open_file(progress, request_log)
        if self.inside:
            shard = open_inside(shard, *self.inside, partial=True, progress=progress, remote=self.remote, closing=True)
        if isinstance(shard, DataSet) and not shard.key_spaces and shard.lists_unasked:
            # List the shards now, since the window must not wait for it. Without a listing, keys still work.
            with suppress(SourceError):
                len(shard.members)
        return shard

    def _open_file(self, progress: Progress, request_log: RequestLog | None) -> Shard:
        where = self._patched(request_log) if self.sandbox else self.uri
        try:
            return shardcore.open(where, partial=not self.inside, tape=request_log, **self._how(progress))
        except BaseException:
            if isinstance(where, Source):
                where.close()
            raise

    def salvage(self, folder: Path | None, progress: Progress, *, raw: bool = False) -> Salvage:
        """Extract the recoverable objects; in a sandbox, from the changed bytes. Without `folder`, only list them."""
        if self.inside:
            raise UsageError("cannot recover objects inside another file: extract this content and open that file")
        where: str | PatchedSource = self._patched(None) if self.sandbox else self.uri
        try:
            return salvage(where, folder, raw=raw, **self._how(progress))
        finally:
            if isinstance(where, PatchedSource):
                where.close()

    def _how(self, progress: Progress) -> dict[str, Any]:
        return {"format": self.format, "remote": self.remote, "isolated": True, "progress": progress, **self.options}

    def _patched(self, request_log: RequestLog | None) -> PatchedSource:
        """Return the file with the changes applied in memory; the caller closes it."""
        base = source_of(self.uri, self.remote, request_log)
        if isinstance(base, Folder):
            base.close()
            raise UsageError("a folder has no bytes to change: open one of its files")
        with on_failure(base.close):
            return PatchedSource(base, self.changes, expects=self.expects)


def listed_members(shard: DataSet) -> tuple[Member, ...]:
    """Return the shards of a data set if they are listed already; does not block."""
    return shard.members if shard.listed else ()


def _without_secrets(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: shown_address(one) if isinstance(one, str) and set(one) & {"@", "?"} else one
        for name, one in values.items()
    }
