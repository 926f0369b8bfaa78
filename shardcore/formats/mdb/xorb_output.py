"""Where the xorbs of a new shard are written: each under a temporary name, until its hash is known."""

from __future__ import annotations

from pathlib import Path

from shardcore.formats.mdb.xorbs import NAMES
from shardcore.writing.output import Output
from shardcore.writing.plan import WrittenFile
from shardcore.writing.temporary import Draining, TemporaryFile
from shardcore.writing.temporary_names import sweep

BESIDE = "xorbs"
"""The folder beside a shard."""

IN_STORE = "xet/xorbs/xorbs"
"""The folder in a store."""

_SPOOLED = "default.xorb"


class XorbOutput:
    """Writes xorbs into a folder: that of the target, or one of its own.

    Args:
        output: Where the shard is written.
        folder: A folder of its own; empty for the usual one.

    Attributes:
        written: The files in a folder of its own, once they are complete.

    Raises:
        UsageError: The folder around the named one does not exist.
    """

    def __init__(self, output: Output, folder: str) -> None:
        self._apart: Output | None = None
        self._prefix = f"{IN_STORE if output.folder else BESIDE}/"
        self._output = output
        self._folder = Path(folder) if folder else None
        if self._folder is not None:
            target = None if output.planning else self._folder
            self._apart = Output(target, force=output.force, folder=True)
            self._output, self._prefix = self._apart, ""
        self._swept = False
        self._held = True  # by the output, which holds what is begun first
        self.written: tuple[WrittenFile, ...] = ()

    def begin(self) -> Draining:
        """Starts a xorb."""
        target = self._output.target
        if target is not None and not self._output.folder and not self._swept:
            # In folders that are no target, only what is named like a xorb of ours is swept.
            sweep(target.parent / BESIDE, _SPOOLED)
        self._swept = True
        file = self._output.spool(self._prefix + _SPOOLED)
        if isinstance(file, TemporaryFile) and not self._held:
            # While the run is alive, its files that are complete are not swept by others.
            file.hold()
            self._held = True
        return file

    def settle(self, file: Draining, text: str, chunks: int) -> None:
        """Names a xorb that is complete; one that is there already stays."""
        if self._output.settle(file, self._prefix + NAMES[0].format(text)):
            file.complete(chunks)
        else:
            self._held = False

    def name_of(self, text: str) -> str:
        """The name of a xorb in a plan."""
        name = NAMES[0].format(text)
        return str(self._folder / name) if self._folder is not None else self._prefix + name

    @property
    def folder(self) -> Path | None:
        """The folder, once it is there."""
        target = self._output.target
        if self._folder is not None or target is None:
            return self._folder
        return (target if self._output.folder else target.parent) / self._prefix.rstrip("/")

    def commit(self) -> None:
        """Gives the xorbs in a folder of its own their names: before the shard that refers to them gets its own."""
        if self._apart is not None:
            self.written = self._apart.commit()

    def discard(self) -> None:
        """Removes what was begun."""
        if self._apart is not None:
            self._apart.discard()
