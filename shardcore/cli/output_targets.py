"""Output of a command to an object store: files are written to a temporary folder, then uploaded."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from shardcore.cli.output import OutputTarget, progress_bar, warn
from shardcore.dataclasses import replace
from shardcore.errors import ShardError, UsageError, reported_as
from shardcore.model.parallel import in_order
from shardcore.model.text import plural
from shardcore.sources.remote.address import Address, parse_address
from shardcore.system import open_to_lock
from shardcore.writing.temporary_names import lock, remove_tree, sweep, temporary_path

if TYPE_CHECKING:
    from shardcore.sources.remote.options import RemoteOptions
    from shardcore.sources.remote.request_log import RequestLog
    from shardcore.sources.remote.upload import Upload

FEW = 1000
"""Maximum number of unfinished uploads that are counted for a warning: one page of a listing."""

SCRATCH = "shardcore"
"""Prefix of temporary folders for uploads."""


@contextmanager
def remote_target(
    out: str, remote: RemoteOptions | None, tape: RequestLog | None, jobs: int | None, *, force: bool
) -> Iterator[OutputTarget]:
    address = writable(out)
    with _uploading(remote, tape, jobs, force=force) as upload:
        if not address.is_folder:
            upload.check_free(address)
        _warn_of_unfinished(upload, address)
        with _scratch_folder() as folder:
            root = address if address.is_folder else address.folder
            try:
                yield _remote_target(folder, address, root, upload)
            except ShardError as error:
                # Messages show the final address, not the temporary path.
                error.message = error.message.replace(f"{folder}/", root.shown).replace(str(folder), root.shown)
                raise


def writable(out: str) -> Address:
    address = parse_address(out)
    if address.scheme != "s3" or not address.name or address.version:
        raise UsageError(f"{address.shown} cannot be written: only s3:// addresses can")
    return address


@contextmanager
def _uploading(
    options: RemoteOptions | None, tape: RequestLog | None, jobs: int | None, *, force: bool
) -> Iterator[Upload]:
    from shardcore.sources.remote.options import RemoteOptions
    from shardcore.sources.remote.session import RemoteSession
    from shardcore.sources.remote.upload import AT_ONCE, Upload

    options, jobs = options or RemoteOptions(), jobs or AT_ONCE
    session = RemoteSession(replace(options, threads=max(options.threads, jobs)), tape)
    try:
        yield Upload(session, force=force, jobs=jobs)
    finally:
        session.close()


def _warn_of_unfinished(upload: Upload, address: Address) -> None:
    """Warn about unfinished uploads to the target, left by killed programs. Sends one request; ignores errors."""
    try:
        with closing(upload.unfinished(address)) as found:
            left = list(islice(found, FEW))
    except ShardError:
        return
    if left:
        what = plural(len(left), "unfinished upload") + (" or more" if len(left) == FEW else "")
        warn(f"{what} at {address.shown}: abort them with the tools of the store, because their parts are billed")


@contextmanager
def _scratch_folder() -> Iterator[Path]:
    """Yield a temporary folder; older ones that killed programs left are removed first."""
    parent = Path(tempfile.gettempdir()).resolve()
    sweep(parent, SCRATCH)
    folder, held = _locked_folder(parent)
    try:
        yield folder
    finally:
        remove_tree(folder)
        if held is not None:
            os.close(held)


def _locked_folder(parent: Path) -> tuple[Path, int | None]:
    with reported_as("no temporary files can be created on this machine"):
        while True:
            folder = temporary_path(parent / SCRATCH)
            folder.mkdir(mode=0o700)
            held = open_to_lock(folder)
            if held is None:
                return folder, None
            lock(held)
            if folder.exists():
                return folder, held
            # Another run removed it before it was locked.
            os.close(held)


def _remote_target(folder: Path, address: Address, root: Address, upload: Upload) -> OutputTarget:
    from shardcore.operations.extraction.files import MANIFEST
    from shardcore.shards.registry import folder_marks
    from shardcore.sources.remote.upload import BucketFolder

    def place(path: Path) -> Address:
        return root.inside(path.relative_to(folder).as_posix())

    def sent(path: Path) -> None:
        upload.send(path, place(path))

    def send() -> None:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        # The file that readers open is sent last: the target itself, or the one that refers to the others.
        last = [path for path in files if path == folder / address.name or path.name in (*folder_marks(), MANIFEST)]
        first = [path for path in files if path not in last]
        with progress_bar("sending") as progress:
            done = 0
            for group in (first, *([path] for path in last)):
                with closing(in_order(sent, group, max(upload.jobs, 2), stop=upload.stop)) as each:
                    for _ in each:
                        done += 1
                        progress(done, len(files))

    def named(path: str | Path) -> str:
        return place(Path(path).resolve()).shown

    out = f"{folder}/" if address.is_folder else str(folder / address.name)
    return OutputTarget(out, named, send, BucketFolder(upload, root))
