"""Chunks that nobody vouches for, decompressed in a process of their own.

The structural check leaves the codec's own stream unread: a mistake in a codec could still end the process.
A program that must not die with it, such as a window, gives the work to a `Worker`. What comes back through
the pipe is bytes and JSON, never pickled objects: the process is not to be trusted either.
"""

from __future__ import annotations

import json
import multiprocessing
import threading
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any

from shardcore.errors import FormatError, LimitExceeded, ShardError, Truncated, Unsupported
from shardcore.formats.bloscpack.blosc1 import DEFAULT_LIMIT
from shardcore.formats.bloscpack.decode import decompress
from shardcore.model.span import Span

_READY: dict[str, str] = {"state": "fine"}
_ERRORS = {kind.__name__: kind for kind in (FormatError, Truncated, Unsupported, LimitExceeded)}
_MESSAGE_LIMIT = 2**16
START_SECONDS = 60.0
"""Seconds that the process may take to start; it imports NumPy and blosc2."""


class Worker:
    """One process that decompresses chunks, started at the first one and again after it died.

    Calls from several threads wait for each other. The process is started by the `spawn` method, so a
    script that uses a worker keeps its own work after `if __name__ == "__main__":`.

    Args:
        timeout: Seconds that one chunk may take before the process is killed.
    """

    def __init__(self, timeout: float = 60.0) -> None:
        self.timeout = timeout
        self._lock = threading.Lock()
        self._process: BaseProcess | None = None
        self._pipe: Connection[Any, Any] | None = None

    def decompress(self, chunk: bytes | memoryview, *, limit: int = DEFAULT_LIMIT, place: Span | None = None) -> bytes:
        """As `decode.decompress`, but what kills the decoder is an error, not the end of this process.

        Raises:
            FormatError: The chunk is damaged, or the decoder died of it, or took longer than `timeout`.
            Unsupported: A Blosc-2 chunk, or a codec that nothing here decodes.
            LimitExceeded: The chunk claims more than `limit` uncompressed bytes.
            ShardError: The process cannot be started.
        """
        with self._lock:
            pipe = self._started()
            try:
                pipe.send_bytes(json.dumps({"limit": limit}).encode())
                pipe.send_bytes(chunk)
                if not pipe.poll(self.timeout):
                    self._kill()
                    raise FormatError(f"the decoder did not finish in {self.timeout:g} seconds", span=place)
                answer = json.loads(pipe.recv_bytes(_MESSAGE_LIMIT))
                plain = pipe.recv_bytes(limit)
            except (EOFError, OSError, ValueError) as error:
                code = self._kill()
                raise FormatError(f"the decoder died of this chunk (exit code {code})", span=place) from error
        if answer == _READY:
            return plain
        raise _ERRORS.get(answer["error"], FormatError)(answer["message"], span=place)

    def close(self) -> None:
        """End the process. The worker can be used again: it starts another."""
        with self._lock:
            self._kill()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _started(self) -> Connection[Any, Any]:
        """Return the pipe to a living process."""
        if self._pipe is not None and self._process is not None and self._process.is_alive():
            return self._pipe
        self._kill()
        context = multiprocessing.get_context("spawn")
        try:
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs,), name="chunk decoder", daemon=True)
            self._process.start()
            theirs.close()
            if self._pipe.poll(START_SECONDS) and self._pipe.recv_bytes() == json.dumps(_READY).encode():
                return self._pipe
        except (EOFError, OSError, RuntimeError) as error:
            self._kill()
            raise ShardError(f"the decoder process cannot be started: {error}") from error
        self._kill()
        raise ShardError(f"the decoder process did not start within {START_SECONDS:g} seconds")

    def _kill(self) -> int | None:
        """End the process and forget it; its exit code (negative: a signal) when it had ended by itself."""
        process, pipe = self._process, self._pipe
        self._process = self._pipe = None
        if pipe is not None:
            pipe.close()
        if process is None or process.pid is None:
            return None
        process.join(0.5)
        if process.is_alive():
            process.kill()
            process.join()
        code = process.exitcode
        process.close()
        return code


def _serve(pipe: Connection[Any, Any]) -> None:
    """The life of the process: chunk in, uncompressed bytes or error out, until the pipe closes."""
    ready = json.dumps(_READY).encode()
    pipe.send_bytes(ready)
    while True:
        try:
            limit = json.loads(pipe.recv_bytes())["limit"]
            chunk = pipe.recv_bytes()
        except (EOFError, OSError):
            return
        try:
            head, plain = ready, decompress(chunk, limit=limit)
        except ShardError as error:
            head = json.dumps({"error": type(error).__name__, "message": error.message[:1000]}).encode()
            plain = b""
        pipe.send_bytes(head)
        pipe.send_bytes(plain)
