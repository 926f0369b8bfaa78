"""How something is opened: what the user said of it, kept so that it can be opened again the same way. No Qt here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import shardcore
from shardcore import Shard
from shardcore.progress import Progress


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """What to open, and how.

    Attributes:
        uri: A path or address.
        format: The name of the format; None to recognise it.
        spec: What the file does not state itself, as JSON text (`Shard.parameters`); empty to look for it.
        xorbs: The folder where contents lie that the shard refers to; empty to look for it.
        deleted: Whether tombstoned objects are served.
    """

    uri: str
    format: str | None = None
    spec: str = ""
    xorbs: str = ""
    deleted: bool = False

    @property
    def name(self) -> str:
        """The last part of the address."""
        return Path(self.uri).name or self.uri

    def open(self, progress: Progress) -> Shard:
        """Opens it for a window.

        Damage gives what is left. Chunks that nobody vouches for are decompressed in a process of their own, which
        ends with the shard.

        Raises:
            ShardError: Nothing can be shown.
        """
        return shardcore.open(
            self.uri,
            format=self.format,
            spec=self.spec or None,
            xorbs=self.xorbs or None,
            deleted=self.deleted,
            isolated=True,
            partial=True,
            progress=progress,
        )
