"""A program under test in a display, read line by line, and a mouse that is driven by xdotool."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

ROOT = Path(__file__).parents[3]


class Program:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.seen: list[dict[str, Any]] = []
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self._lines.put(line)

    def wait(self, event: str, seconds: float) -> dict[str, Any] | None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            try:
                line = json.loads(self._lines.get(timeout=left))
            except queue.Empty:
                break
            self.seen.append(line)
            if line["event"] == event:
                found: dict[str, Any] = line
                return found
        return None

    def expect(self, event: str, seconds: float = 20) -> dict[str, Any]:
        line = self.wait(event, seconds)
        if line is None:
            pytest.fail(f"no {event!r} in {seconds} s; seen: {self.seen}; exit code {self.process.poll()}")
        return line

    def tell(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()


@contextmanager
def running(
    script: Path, arguments: Sequence[object], environment: dict[str, str], errors: IO[str] | None = None
) -> Iterator[Program]:
    module = ".".join(script.relative_to(ROOT).with_suffix("").parts)
    command = [sys.executable, "-m", module, *(str(argument) for argument in arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, env=environment, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=errors, text=True
    ) as process:
        try:
            yield Program(process)
        finally:
            process.terminate()


class Mouse:
    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment
        self.place = (0, 0)

    def do(self, *words: object) -> None:
        command = ["xdotool", *(str(word) for word in words)]
        subprocess.run(command, env=self._environment, check=True, timeout=10)

    def go(self, x: int, y: int, steps: int = 1) -> None:
        from_x, from_y = self.place
        for step in range(1, steps + 1):
            share = step / steps
            self.do("mousemove", round(from_x + share * (x - from_x)), round(from_y + share * (y - from_y)))
        self.place = (x, y)

    def click(self, x: int, y: int) -> None:
        self.go(x, y)
        self.do("click", 1)

    def down(self) -> None:
        self.do("mousedown", 1)

    def up(self) -> None:
        self.do("mouseup", 1)
