"""Runs commands over hostile files, each in a process of its own that is measured and ended when it takes too long.

`Runner` starts one process that has the library loaded, and that forks for each command: what is measured is the
command, not the start of Python. The process that runs the tests forks nothing.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
KEPT = 20_000
"""Bytes of the output, and of the errors, that are kept."""


@dataclass(frozen=True)
class Outcome:
    """What a command did.

    Attributes:
        code: Its exit code; negative for the signal that ended it.
        first: Seconds of processor time to its first output, or to its end when there is none.
        total: The same to its end, or until it was ended. Other programs on the machine do not count.
        megabytes: Memory over what the process had before the command.
        written: Bytes of output.
        out: The first of them.
        err: The first of its errors.
        ended: Whether it was ended because its time was over.
    """

    code: int
    first: float
    total: float
    megabytes: float
    written: int
    out: str
    err: str
    ended: bool = False

    def __str__(self) -> str:
        ended = "ended " if self.ended else ""
        times = f"first {self.first:.1f} s, {self.total:.1f} s"
        return f"{ended}code {self.code}, {times}, {self.megabytes:.0f} MB, {self.written} bytes"


class Runner:
    """Runs commands of the command line, one after the other. A context manager."""

    def __init__(self) -> None:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "app")])}
        command = [sys.executable, "-m", "tests.hostile.running"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=environment, text=True
        )

    def run(self, arguments: list[str], seconds: float) -> Outcome:
        """Runs one command.

        Args:
            arguments: The command line.
            seconds: Of the processor, after which it is ended; and as long by the clock without using the processor.
        """
        self._process.stdin.write(json.dumps({"arguments": arguments, "seconds": seconds}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError("the process that runs the commands is gone")
        return Outcome(**json.loads(answer))

    def close(self) -> None:
        """Ends the process."""
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(10)

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def serve() -> None:
    """Takes commands from standard input, and answers what they did."""
    load_formats()
    from shardcore.cli.program import run

    assert run is not None
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(asdict(_measured(asked["arguments"], asked["seconds"]))), flush=True)


def load_formats() -> None:
    """Imports what reading any format uses: what is measured is the file, not the libraries."""
    import blosc.blosc_extension  # noqa: F401
    import lz4.frame  # noqa: F401
    import zstandard  # noqa: F401

    import shardcore.shards.registry

    for name in shardcore.shards.registry.FORMATS:
        __import__(f"shardcore.formats.{name}.shard")


def _measured(arguments: list[str], seconds: float) -> Outcome:
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            _child(arguments, reading, writing, errors.fileno())
        os.close(writing)
        first, written, kept, ended = _drain(reading, child, seconds)
        os.close(reading)
        _, status, usage = os.wait4(child, 0)
        total = usage.ru_utime + usage.ru_stime
        errors.seek(0)
        told = errors.read()
    idle = int(told[:12] or b"0")
    return Outcome(
        os.waitstatus_to_exitcode(status),
        min(first, total),
        total,
        max(usage.ru_maxrss - idle, 0) / 1024,
        written,
        kept.decode("utf-8", "replace"),
        told[12 : KEPT + 12].decode("utf-8", "replace"),
        ended,
    )


def _drain(reading: int, child: int, seconds: float) -> tuple[float, int, bytes, bool]:
    """Reads the output of a child to its end, or ends the child when its time is over.

    Its time is that of the processor. One that uses none waits for what never comes: for a FIFO, say.
    """
    first, written, kept, ended = float("inf"), 0, b"", False
    used, since = 0.0, time.monotonic()
    while True:
        ready, _, _ = select.select([reading], [], [], 0.5)
        if ready:
            piece = os.read(reading, 1 << 16)
            if not piece:
                return first, written, kept, ended
            first = first if written else _processor_time(child)
            written += len(piece)
            kept += piece[: KEPT - len(kept)]
        now = _processor_time(child)
        if now > used:
            used, since = now, time.monotonic()
        if now > seconds or time.monotonic() - since > seconds:
            os.kill(child, signal.SIGKILL)
            ended = True
            return first, written, kept, ended


def _processor_time(child: int) -> float:
    """Seconds of processor time that a living child has taken."""
    fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _child(arguments: list[str], reading: int, writing: int, errors: int) -> None:
    """The life of the child: it never returns."""
    import resource
    import traceback

    code = 70
    try:
        os.close(reading)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(writing, 1)
        os.dup2(errors, 2)
        os.write(2, b"%12d" % resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        sys.stdout = open(1, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1)  # noqa: SIM115
        from shardcore.cli.program import run

        code = run(arguments)
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - the end of the process, whatever happened
        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    serve()
