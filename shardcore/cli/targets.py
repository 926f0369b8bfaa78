"""Targets of commands: a path, or an address in S3, to which files are sent when they are complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from shardcore.cli.options import Opening, progress_bar
from shardcore.errors import UsageError
from shardcore.sources.remote.address import is_address, parse_address

if TYPE_CHECKING:
    from shardcore.sources.remote.address import Address
    from shardcore.sources.remote.upload import Upload


@dataclass(frozen=True, slots=True)
class OutputTarget:
    """Target of a command.

    Attributes:
        path: Where it writes on this machine.
        named: What a path written to is called: the same, or its address.
        send: Sends what was written, if it has to be sent; what others refer to goes first.
    """

    path: str
    named: Callable[[str | Path], str] = str
    send: Callable[[], None] = lambda: None


@contextmanager
def target_of(out: str, how: Opening, *, force: bool) -> Iterator[OutputTarget]:
    """The target that a command names.

    Raises:
        UsageError: It is an address that cannot be written, or exists and is not to be replaced.
        SourceError: The store does not answer.
    """
    if not is_address(out):
        yield OutputTarget(out)
        return
    from shardcore.sources.remote.options import RemoteOptions
    from shardcore.sources.remote.session import RemoteSession
    from shardcore.sources.remote.upload import Upload

    address = parse_address(out)
    if address.scheme != "s3" or not address.name or address.version:
        raise UsageError(f"{address.shown} cannot be written: only s3:// addresses can")
    remote = RemoteSession(how.remote or RemoteOptions(), how.tape)
    upload = Upload(remote, force=force)
    try:
        if not address.is_folder:
            upload.check_free(address)
        with TemporaryDirectory(prefix="shardcore-") as folder:
            yield _remote_target(Path(folder).resolve(), address, upload)
    finally:
        remote.close()


def _remote_target(folder: Path, address: Address, upload: Upload) -> OutputTarget:
    """Return a target that is written into a temporary folder first."""
    from shardcore.operations.extraction.manifest import MANIFEST
    from shardcore.shards.registry import folder_marks

    root = address if address.is_folder else address.folder
    local = folder / "files"
    local.mkdir()

    def place(path: Path) -> Address:
        return root.inside(path.relative_to(local).as_posix())

    def send() -> None:
        files = sorted(path for path in local.rglob("*") if path.is_file())
        # What is opened comes last: the target itself, or what reports all the others.
        files.sort(key=lambda path: (path == local / address.name, path.name in (*folder_marks(), MANIFEST)))
        with progress_bar("sending") as progress:
            for number, path in enumerate(files):
                upload.send(path, place(path))
                progress(number + 1, len(files))

    def named(path: str | Path) -> str:
        return place(Path(path).resolve()).shown

    return OutputTarget(f"{local}/" if address.is_folder else str(local / address.name), named, send)
