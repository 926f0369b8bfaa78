"""Uploads of complete local files to S3; objects appear in the bucket only when they are complete."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from contextvars import Context
from functools import partial
from pathlib import Path
from typing import Any

import botocore.exceptions as refused

from shardcore.dataclasses import dataclass, replace
from shardcore.errors import Forbidden, Remedy, RemoteError, ShardError, UsageError, reported_as
from shardcore.model.parallel import in_order
from shardcore.progress import Progress, check_stopped, no_progress, wait_for
from shardcore.sources.base import ReadPurpose, on_failure
from shardcore.sources.remote.address import Address
from shardcore.sources.remote.request_log import Request
from shardcore.sources.remote.response import (
    NOT_IMPLEMENTED,
    HttpConnection,
    Login,
    connection_callback,
    refusal,
    shut_down,
)
from shardcore.sources.remote.s3 import NO_RESPONSE, S3Transport, broken_error, error_reply
from shardcore.sources.remote.session import RemoteSession

PART = 16 << 20
"""Minimum bytes per part of a multipart upload. Files up to this size are sent in one request."""

MOST_PARTS = 10_000

AT_ONCE = 8
"""Default number of parallel requests. The bytes of each request are in memory."""

_TAKEN = ("PreconditionFailed", "ConditionalRequestConflict")
_ASK = 0.05


@dataclass(frozen=True, slots=True)
class UnfinishedUpload:
    """A multipart upload that was neither completed nor aborted; its parts are stored and billed."""

    address: Address
    upload_id: str
    started: str


class Upload:
    """Sends files to a bucket, with `jobs` parallel requests; `force` replaces existing objects. Thread-safe."""

    def __init__(self, remote: RemoteSession, *, force: bool, jobs: int = AT_ONCE) -> None:
        self._remote = remote
        self._force = force
        self._slots = threading.BoundedSemaphore(jobs)
        self._lock = threading.Lock()
        self._sending: list[list[HttpConnection]] = []
        self.jobs = jobs

    def check_free(self, address: Address) -> None:
        """Raise `UsageError` if the object exists, unless `force`; called before the upload."""
        if self._force:
            return
        try:
            self._ask(address, "head_object", method="HEAD")
        except RemoteError as error:
            # Writers may not be allowed to read; the upload itself is then refused.
            if error.status in (403, 404):
                return
            raise
        raise _exists(address)

    def send(self, path: Path, address: Address, progress: Progress = no_progress) -> None:
        """Send one file; its object appears when all is sent. UsageError if the object exists, unless `force`."""
        with reported_as(f"cannot send {address.shown}"):
            size = path.stat().st_size
            if size <= PART:
                self._ask(address, "put_object", body=path.read_bytes, tag=lambda: _tag_of(path.read_bytes()))
                progress(max(size, 1), max(size, 1))
            else:
                self._send_parts(path, size, address, progress)

    def stop(self) -> None:
        """Shut down running transfers, so that the threads waiting for them check for cancellation."""
        with self._lock:
            for connections in self._sending:
                for connection in connections:
                    shut_down(connection)

    def _send_parts(self, path: Path, size: int, address: Address, progress: Progress) -> None:
        length = max(PART, -(-size // MOST_PARTS))
        upload = self._ask(address, "create_multipart_upload", method="POST")["UploadId"]

        def send(start: int) -> dict[str, Any]:
            number = start // length + 1
            body = partial(_part_of, path, start, length)
            answer = self._ask(address, "upload_part", body=body, UploadId=upload, PartNumber=number)
            return {"PartNumber": number, "ETag": answer["ETag"]}

        def abort() -> None:
            # Stored parts are billed. In an empty context, so that it is not cancelled.
            with suppress(ShardError):
                Context().run(self.abort, UnfinishedUpload(address, upload, ""))

        with on_failure(abort):
            parts = []
            with closing(in_order(send, range(0, size, length), max(self.jobs, 2), stop=self.stop)) as sent:
                for part in sent:
                    parts.append(part)
                    progress(min(len(parts) * length, size), size)
            self._ask(
                address,
                "complete_multipart_upload",
                method="POST",
                UploadId=upload,
                tag=lambda: _tag_of_parts([part["ETag"] for part in parts]),
                MultipartUpload={"Parts": parts},
            )

    # --- existing objects --------------------------------------------------------------------------------------

    def sizes(self, folder: Address) -> dict[str, int]:
        found: dict[str, int] = {}
        for page in self._pages(folder, "list_objects_v2", {"ContinuationToken": "NextContinuationToken"}):
            found |= {each["Key"][len(folder.path) :]: int(each["Size"]) for each in page.get("Contents", ())}
        return found

    def unfinished(self, prefix: Address) -> Generator[UnfinishedUpload]:
        marks = {"KeyMarker": "NextKeyMarker", "UploadIdMarker": "NextUploadIdMarker"}
        for page in self._pages(prefix, "list_multipart_uploads", marks):
            for each in page.get("Uploads", ()):
                started = each.get("Initiated")
                text = started.isoformat(timespec="seconds") if hasattr(started, "isoformat") else ""
                yield UnfinishedUpload(replace(prefix, path=each["Key"]), each["UploadId"], text)

    def abort(self, upload: UnfinishedUpload) -> None:
        """Abort an unfinished upload and remove its parts; does nothing if it has ended."""
        self._ask(upload.address, "abort_multipart_upload", method="DELETE", UploadId=upload.upload_id)

    def _pages(self, address: Address, operation: str, marks: dict[str, str]) -> Iterator[dict[str, Any]]:
        """Yield the pages of a listing; `marks` maps request parameters to response fields for the next page."""
        more: dict[str, Any] = {}
        while True:
            page = self._ask(address, operation, method="GET", Key=None, Prefix=address.path, **more)
            yield page
            new = {name: page[answer] for name, answer in marks.items() if page.get(answer)}
            # A store that repeats a marker would be listed forever.
            if not page.get("IsTruncated") or not new or new == more:
                return
            more = new

    # --- requests ----------------------------------------------------------------------------------------------

    def _ask(
        self,
        address: Address,
        operation: str,
        *,
        method: str = "PUT",
        body: Callable[[], bytes] | None = None,
        tag: Callable[[], str] | None = None,
        **given: Any,
    ) -> dict[str, Any]:
        """Send a request; retry if there is no response. With `tag` it is conditional (If-None-Match), unless `force`.

        `body` is called when a slot is free. `tag` returns the expected ETag of the new object.
        """
        only_new = tag is not None and not self._force
        given |= {"IfNoneMatch": "*"} if only_new else {}
        given = {name: value for name, value in ({"Key": address.path} | given).items() if value is not None}
        writing = method in ("PUT", "POST", "DELETE")

        def ask(attempt: int) -> dict[str, Any]:
            check_stopped()
            tape = self._remote.tape
            at, size, status = tape.now, 0, 0
            try:
                if body is None:
                    answer = self._call(address, operation, given)
                else:
                    with self._slot():
                        data = body()
                        size = len(data)
                        answer = self._call(address, operation, given | {"Body": data})
                status = 200
            except refused.ClientError as error:
                size, status = 0, error_reply(error).status
                if attempt and tag is not None and self._came(error, address, tag):
                    return {}
                raise self._refusal(error, address, writing=writing, only_new=only_new) from error
            except NO_RESPONSE as error:
                size = 0
                raise broken_error(error, address, writing=writing) from error
            finally:
                sent = {"bytes": size, "wait": tape.now - at, "status": status, "retry": attempt}
                tape.add(Request(at, method, address.shown, None, None, ReadPurpose.PAYLOAD, **sent))  # type: ignore[arg-type]
            return answer

        # `alone`: after a failure, another request aborts the upload.
        return self._remote.with_retries(ask, wait_for, alone=True)

    def _store(self, address: Address) -> S3Transport:
        transport = self._remote.connection(address).transport
        if not isinstance(transport, S3Transport):
            raise UsageError(f"{address.shown} cannot be written: only s3:// addresses can")
        return transport

    def _call(self, address: Address, operation: str, given: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = getattr(self._store(address).client, operation)(Bucket=address.place, **given)
        return answer

    @contextmanager
    def _slot(self) -> Iterator[None]:
        """Wait for a free slot for sending; `stop` shuts down the connection of the slot."""
        while not self._slots.acquire(timeout=_ASK):
            check_stopped()
        mine: list[HttpConnection] = []
        with self._lock:
            self._sending.append(mine)
        try:
            check_stopped()
            with connection_callback(mine.append):
                yield
        finally:
            with self._lock:
                # Not `remove`, which compares by equality.
                self._sending = [one for one in self._sending if one is not mine]
            self._slots.release()

    def _came(self, error: refused.ClientError, address: Address, tag: Callable[[], str]) -> bool:
        """Return whether an earlier attempt has stored the object, although its response was lost."""
        if not (_is_taken(error) or error_reply(error).code == "NoSuchUpload"):
            return False
        with suppress(refused.ClientError, *NO_RESPONSE):
            there = self._call(address, "head_object", {"Key": address.path})
            return str(there.get("ETag", "")).strip('"') == tag()
        return False

    def _refusal(self, error: refused.ClientError, address: Address, *, writing: bool, only_new: bool) -> Exception:
        reply = error_reply(error, self._store(address).login)
        if _is_taken(error):
            return _exists(address)
        if only_new and (reply.status == NOT_IMPLEMENTED or reply.code == "NotImplemented"):
            text = f"{address.shown} cannot be written: the store does not support conditional writes (If-None-Match)"
            return RemoteError(text, status=reply.status, remedy=Remedy.UNCONDITIONAL)
        found = refusal(reply, address, writing=writing)
        if writing and isinstance(found, Forbidden):
            remedy = Remedy.WRITE_PROFILE if reply.login is Login.UNSIGNED else Remedy.WRITE_RIGHTS
            return Forbidden(f"{address.shown} may not be written (status {found.status})", remedy=remedy)
        return found


class BucketFolder:
    """A folder of a bucket, to which files are sent as soon as they are complete."""

    def __init__(self, upload: Upload, address: Address) -> None:
        self._upload = upload
        self._address = address
        self.jobs = upload.jobs
        self.shown = address.shown

    def sizes(self, *, required: bool) -> dict[str, int]:
        """Return the sizes of all objects by relative name; empty if listing is denied and not `required`."""
        try:
            return self._upload.sizes(self._address)
        except Forbidden:
            if required:
                raise
            return {}

    def send(self, path: Path, name: str) -> str:
        address = self._address.inside(name)
        self._upload.send(path, address)
        path.unlink(missing_ok=True)
        return address.shown

    def stop(self) -> None:
        self._upload.stop()


def _part_of(path: Path, start: int, length: int) -> bytes:
    with path.open("rb") as file:
        file.seek(start)
        return file.read(length)


def _tag_of(data: bytes) -> str:
    """Return the ETag of an object sent in one request: its MD5."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _tag_of_parts(tags: list[str]) -> str:
    """Return the ETag of a multipart object; empty if the ETags of its parts are not MD5."""
    try:
        return f"{_tag_of(b''.join(bytes.fromhex(tag.strip(chr(34))) for tag in tags))}-{len(tags)}"
    except ValueError:
        return ""


def _is_taken(error: refused.ClientError) -> bool:
    reply = error_reply(error)
    return reply.code in _TAKEN or reply.status == 412


def _exists(address: Address) -> UsageError:
    return UsageError(f"{address.shown} exists", remedy=Remedy.REPLACE)
