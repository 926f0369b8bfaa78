"""How something is opened: what the user said of it, kept so that it can be opened again the same way. No Qt here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import shardcore
from shardcore import Shard
from shardcore.progress import Progress

SERVES_DELETED = "deleted"
"""The option by which formats with tombstones serve what these cover."""

XORBS = "xorbs"
"""The option that names the folder of xorbs."""


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """What to open, and how.

    Attributes:
        uri: A path or address.
        format: The name of the format; None to recognise it.
        options: Values of options that formats declare for opening, by name.
    """

    uri: str
    format: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The last part of the address."""
        return Path(self.uri).name or self.uri

    @property
    def deleted(self) -> bool:
        """Whether tombstoned objects are served."""
        return bool(self.options.get(SERVES_DELETED))

    def serving_deleted(self) -> OpenRequest:
        """The same, with tombstoned objects served."""
        return replace(self, options={**self.options, SERVES_DELETED: True})

    def with_xorbs(self, folder: str) -> OpenRequest:
        """The same, with xorbs taken from a folder."""
        return replace(self, options={**self.options, XORBS: folder})

    def open(self, progress: Progress) -> Shard:
        """Opens it for a window.

        Damage gives what is left. Chunks that nobody vouches for are decompressed in a process of their own, which
        ends with the shard.

        Raises:
            ShardError: Nothing can be shown.
        """
        return shardcore.open(
            self.uri, format=self.format, isolated=True, partial=True, progress=progress, **self.options
        )
