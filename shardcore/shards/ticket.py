"""Ticket of a shard: picklable data for opening the shard in any process without listing the folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shardcore.errors import ShardError, UsageError
from shardcore.model.safe_text import without_secrets
from shardcore.sources.location import local_path
from shardcore.sources.remote.address import is_address, parse_address, shown_address

if TYPE_CHECKING:
    from shardcore.sources.remote.options import RemoteOptions


@dataclass(frozen=True, slots=True, repr=False)
class ShardTicket:
    """Picklable data for opening one shard. Keeps no file open.

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
        """True if it contains keys, a login or a signed query."""
        texts = [self.uri, *(value for value in self.options.values() if isinstance(value, str))]
        return bool(self.remote and self.remote.access_key) or any(
            is_address(text) and without_secrets(text) != text for text in texts
        )


def check_keys(ticket: ShardTicket) -> None:
    """Raise UsageError if a ticket contains credentials: clusters keep tasks in memory and logs of other machines."""
    if ticket.has_keys:
        raise UsageError("credentials are not sent to workers: name a profile that exists there, or none to use theirs")


def folder_address(folder: str, opened_at: str) -> str:
    """Return the address of a folder for other processes, with the login or signature of `opened_at`."""
    if not (is_address(folder) and is_address(opened_at)):
        return absolute(folder)
    return parse_address(folder).with_login_of(parse_address(opened_at)).text


def as_named(error: ShardError, where: str) -> ShardError:
    """Return an error whose message has the path that the caller gave instead of the absolute path."""
    error.message = error.message.replace(absolute(where), where)
    error.args = (error.message, *error.args[1:])
    return error


def absolute(where: str) -> str:
    return where if is_address(where) else os.path.abspath(local_path(where))  # noqa: PTH100 - the text, not the target
