"""Writing to S3: files that are complete here are sent, and appear there when they are complete."""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import botocore.exceptions as refused

from shardcore.errors import Remedy, ShardError, SourceError, UsageError, reason_of
from shardcore.model.parallel import in_order
from shardcore.progress import Progress, check_stopped, no_progress, wait_for
from shardcore.sources.read_purpose import ReadPurpose
from shardcore.sources.remote.address import Address
from shardcore.sources.remote.request_log import Request
from shardcore.sources.remote.response import Broken, Login
from shardcore.sources.remote.s3 import NO_ANSWERS, S3Transport, broken_error, error_reply
from shardcore.sources.remote.session import RemoteSession
from shardcore.sources.remote.validate import refusal

PART = 16 << 20
"""Bytes of one part of an upload; smaller files go as one."""

MOST_PARTS = 10_000
SENDERS = 4
"""Parts that are on their way at the same time; each is in memory."""

_TAKEN = ("PreconditionFailed", "ConditionalRequestConflict")


class Upload:
    """Sends files to a bucket.

    Args:
        remote: How it is reached, and the request log.
        force: Whether objects that exist are replaced.
    """

    def __init__(self, remote: RemoteSession, *, force: bool) -> None:
        self._remote = remote
        self._only_new: dict[str, str] = {} if force else {"IfNoneMatch": "*"}
        self._force = force

    def check_free(self, address: Address) -> None:
        """Refuse early what would be refused at the end.

        Raises:
            UsageError: The object exists, and is not to be replaced.
            RemoteError: The store does not answer.
        """
        if self._force:
            return
        try:
            self._client(address).head_object(Bucket=address.place, Key=address.path)
        except refused.ClientError as error:
            # Whoever may write need not be allowed to look; the upload itself is refused then.
            if error_reply(error).status in (403, 404):
                return
            raise self._refusal(error, address) from error
        except NO_ANSWERS as error:
            raise self._unanswered(error, address) from error
        raise _exists(address)

    def send(self, path: Path, address: Address, progress: Progress = no_progress) -> None:
        """Send one file; it appears when it is complete, or not at all.

        Raises:
            UsageError: The object exists, and is not to be replaced.
            SourceError: The file cannot be read, or the store does not take it.
        """
        try:
            size = path.stat().st_size
            if size <= PART:
                self._ask(address, "put_object", Body=path.read_bytes(), **self._only_new)
                progress(max(size, 1), max(size, 1))
            else:
                self._send_parts(path, size, address, progress)
        except OSError as error:
            raise SourceError(f"cannot read {path}: {reason_of(error)}") from error

    def _send_parts(self, path: Path, size: int, address: Address, progress: Progress) -> None:
        length = max(PART, -(-size // MOST_PARTS))
        upload = self._ask(address, "create_multipart_upload")["UploadId"]

        def send(start: int) -> dict[str, Any]:
            with path.open("rb") as file:
                file.seek(start)
                data = file.read(length)
            number = start // length + 1
            answer = self._ask(address, "upload_part", UploadId=upload, PartNumber=number, Body=data)
            return {"PartNumber": number, "ETag": answer["ETag"]}

        try:
            parts = []
            with closing(in_order(send, range(0, size, length), SENDERS)) as sent:
                for part in sent:
                    parts.append(part)
                    progress(min(len(parts) * length, size), size)
            self._ask(
                address,
                "complete_multipart_upload",
                UploadId=upload,
                MultipartUpload={"Parts": parts},
                **self._only_new,
            )
        except BaseException:
            # What was sent costs as long as it lies there.
            with suppress(ShardError):
                self._ask(address, "abort_multipart_upload", UploadId=upload)
            raise

    def _ask(self, address: Address, operation: str, **given: Any) -> dict[str, Any]:
        """Return one request, sent again while the store does not answer."""

        def ask(attempt: int) -> dict[str, Any]:
            check_stopped()
            at = self._remote.tape.now
            try:
                answer: dict[str, Any] = getattr(self._client(address), operation)(
                    Bucket=address.place, Key=address.path, **given
                )
            except refused.ClientError as error:
                self._tell(address, at, attempt, 0, error_reply(error).status)
                raise self._refusal(error, address) from error
            except NO_ANSWERS as error:
                self._tell(address, at, attempt, 0, 0)
                raise broken_error(error, address) from error
            self._tell(address, at, attempt, len(given.get("Body", b"")), 200)
            return answer

        # What was sent is taken back after a failure, by a request of its own.
        return self._remote.tried(ask, wait_for, alone=True)

    def _client(self, address: Address) -> Any:
        transport = self._remote.line(address).transport
        if not isinstance(transport, S3Transport):
            raise UsageError(f"{address.shown} cannot be written: only s3:// addresses can")
        return transport.client

    def _refusal(self, error: refused.ClientError, address: Address) -> Exception:
        transport = self._remote.line(address).transport
        reply = error_reply(error, transport.login if isinstance(transport, S3Transport) else Login.NONE)
        if reply.code in _TAKEN or reply.status == 412:
            return _exists(address)
        return refusal(reply, address)

    @staticmethod
    def _unanswered(error: Exception, address: Address) -> Exception:
        found = broken_error(error, address)
        return found.error if isinstance(found, Broken) else found

    def _tell(self, address: Address, at: float, attempt: int, size: int, status: int) -> None:
        tape = self._remote.tape
        sending = {"bytes": size, "wait": tape.now - at, "status": status, "retry": attempt}
        tape.add(Request(at, "PUT", address.shown, None, None, ReadPurpose.PAYLOAD, **sending))  # type: ignore[arg-type]


def _exists(address: Address) -> UsageError:
    return UsageError(f"{address.shown} exists", remedy=Remedy.REPLACE)
