"""Runs decoders written in C in a separate process, because they may crash.

A task is a function `(header, data) -> (header, bytes)` with JSON values in the header; `limit` is the maximum size
of the result. The pipe carries bytes and JSON, never pickled objects, because the process is not trusted.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from shardcore.errors import (
    DEFAULT_LIMIT,
    Cancelled,
    FormatError,
    LimitExceeded,
    PackageMissing,
    ShardError,
    Truncated,
    Unsupported,
    UsageError,
)
from shardcore.model.budget import charge_expanded
from shardcore.model.optional_packages import not_installed
from shardcore.model.span import Span
from shardcore.model.text import grouped_digits
from shardcore.progress import check_stopped
from shardcore.system import limit_memory

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

Header = dict[str, Any]
Task = Callable[[Header, bytes], tuple[Header, bytes]]

TASKS = {
    "blosc": "shardcore.formats.bloscpack.blosc1:blosc_task",
    "picture": "shardcore.codecs.images:picture_task",
    "draco": "shardcore.codecs.draco:draco_task",
    "expression": "shardcore.operations.search:expression_task",
}
"""Function of each task, as `module:function`, by the name of the task."""

START_SECONDS = 60.0
"""Maximum start time of the process, which imports NumPy, in seconds."""

_READY: Header = {"state": "ready"}
_RAISED = (FormatError, Truncated, Unsupported, LimitExceeded, UsageError, PackageMissing)
_ERRORS = {kind.__name__: kind for kind in _RAISED}
_MESSAGE_LIMIT = 1 << 20
_ASK = 0.1
"""Interval between checks for cancellation, in seconds."""
_ROOM = 2 << 30
"""Bytes of address space added to the memory limit of the process, because libraries reserve some per thread."""
_COPIES = 4
"""Number of copies of payload and result assumed in a decoder, for its memory limit."""


class TaskRunner(Protocol):
    """Type of functions that run tasks: `run_task` in this process, `IsolatedDecoder.run` in a separate one."""

    def __call__(
        self, task: str, header: Header, data: bytes | memoryview, *, limit: int = ..., place: Span | None = ...
    ) -> tuple[Header, bytes]:
        """See `IsolatedDecoder.run`."""


def run_task(
    task: str, header: Header, data: bytes | memoryview, *, limit: int = DEFAULT_LIMIT, place: Span | None = None
) -> tuple[Header, bytes]:
    try:
        return _call(TASKS[task], {**header, "limit": limit}, bytes(data))
    except ShardError as error:
        error.span = error.span or place
        raise


class IsolatedDecoder:
    """Decoder process, started with the first task and restarted after a crash.

    Calls from several threads run one after the other. Scripts need `if __name__ == "__main__":`, because the process
    imports the script again. Cancelling a task kills the process.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self._process: BaseProcess | None = None
        self._pipe: Connection[Any, Any] | None = None

    def run(
        self,
        task: str,
        header: Header,
        data: bytes | memoryview,
        *,
        limit: int = DEFAULT_LIMIT,
        place: Span | None = None,
    ) -> tuple[Header, bytes]:
        """Run a task of `TASKS`; return header and result. `limit` (bytes of the result) also sets the memory limit.

        Raises:
            FormatError: The payload is invalid, or the decoder crashed.
            Unsupported: The decoder does not support this payload.
            PackageMissing: The decoder is not installed.
            LimitExceeded: The result has more than `limit` bytes, or needs too much memory.
            ShardError: The process cannot be started, or was closed.
            Cancelled: The job was cancelled.
        """
        question = json.dumps({"task": TASKS[task], "header": {**header, "limit": limit}}).encode()
        with self._lock:
            pipe = self._started()
            try:
                pipe.send_bytes(question)
                pipe.send_bytes(data)
                while not pipe.poll(_ASK):
                    check_stopped()
                answer = json.loads(pipe.recv_bytes(_MESSAGE_LIMIT))
                if not isinstance(answer, dict):
                    raise ValueError("no valid response from the decoder")
                result = pipe.recv_bytes(max(limit, 1))
            except (EOFError, OSError, ValueError, RecursionError) as error:
                code = self._kill()
                if self._closed:
                    raise ShardError("the decoder process was closed") from error
                raise FormatError(f"the decoder crashed on these bytes (exit code {code})", span=place) from error
            except (Cancelled, KeyboardInterrupt):
                self._kill(wait=False)
                raise
        if "error" in answer:
            raise _ERRORS.get(str(answer["error"]), FormatError)(str(answer.get("message")), span=place)
        charge_expanded(len(result))
        return answer, result

    def close(self) -> None:
        """Kill the process, even during a task; later tasks raise ShardError."""
        self._closed = True
        process = self._process
        if process is not None:
            # Another thread may end the process at the same time.
            with suppress(ValueError, AttributeError):
                process.kill()
        with self._lock:
            self._kill()

    def __enter__(self) -> IsolatedDecoder:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _started(self) -> Connection[Any, Any]:
        if self._closed:
            raise ShardError("the decoder process was closed")
        if self._pipe is not None and self._process is not None and self._process.is_alive():
            return self._pipe
        self._kill()
        try:
            from shardcore.codecs.safe_processes import SafeContext

            context = SafeContext()
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs,), name="decoder", daemon=True)
            self._process.start()
            theirs.close()
            if self._pipe.poll(START_SECONDS) and self._pipe.recv_bytes() == json.dumps(_READY).encode():
                return self._pipe
        except (EOFError, OSError, RuntimeError) as error:
            self._kill()
            # Python explains a missing `if __name__ == "__main__":` in many lines.
            reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
            raise ShardError(f"the decoder process cannot be started: {reason}") from error
        self._kill()
        raise ShardError(f"the decoder process did not start within {START_SECONDS:g} seconds")

    def _kill(self, *, wait: bool = True) -> int | None:
        process, pipe = self._process, self._pipe
        self._process = self._pipe = None
        if pipe is not None:
            pipe.close()
        if process is None or process.pid is None:
            return None
        process.join(0.5 if wait else 0)
        if process.is_alive():
            process.kill()
            process.join()
        code = process.exitcode
        process.close()
        return code


def _call(name: str, header: Header, data: bytes, memory: int = 0) -> tuple[Header, bytes]:
    module, _, function = name.partition(":")
    try:
        task: Task = getattr(import_module(module), function)
        if memory:
            limit_memory(memory)
        return task(header, data)
    except ShardError:
        raise
    except ModuleNotFoundError as error:
        raise PackageMissing(not_installed(error.name or name)) from error
    except MemoryError as error:
        text = "the decoder exceeds its memory limit" if memory else "not enough memory for the decoder"
        raise LimitExceeded(text) from error
    except Exception as error:
        # C libraries raise undocumented errors.
        raise FormatError(f"the decoder failed: {error!r}"[:1000]) from error


def _serve(pipe: Connection[Any, Any]) -> None:
    # Libraries such as libtiff print warnings.
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    os.close(quiet)
    pipe.send_bytes(json.dumps(_READY).encode())
    while True:
        try:
            question = json.loads(pipe.recv_bytes())
            data = pipe.recv_bytes()
        except (EOFError, OSError):
            return
        header, result = _answer(question["task"], question["header"], data)
        pipe.send_bytes(json.dumps(header).encode())
        pipe.send_bytes(result)


def _answer(name: str, header: Header, data: bytes) -> tuple[Header, bytes]:
    limit = int(header["limit"])
    try:
        answer, result = _call(name, header, data, _ROOM + _COPIES * (limit + len(data)))
        if len(result) > limit:
            raise LimitExceeded(f"the result has {grouped_digits(len(result))} bytes; the limit is {limit:,}")
    except ShardError as error:
        return {"error": type(error).__name__, "message": error.message[:1000]}, b""
    return answer, result
