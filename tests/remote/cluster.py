"""A Dask scheduler with workers in processes of their own, on this machine; and functions that workers can import."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shardcore.errors import BadChecksum
from shardcore.shards.shard import Shard

PATIENCE = 60.0
"""Seconds until the processes must have begun."""

ROOT = Path(__file__).parents[2]


@dataclass
class DaskProcesses:
    """A scheduler and its workers.

    Attributes:
        address: The address of the scheduler.
        workers: The processes of the workers.
        logs: What all of them print, a file each.
    """

    address: str
    workers: list[subprocess.Popen[bytes]]
    logs: Path

    def stop_worker(self) -> None:
        """Let the first worker stand still: what it is given stays under way."""
        self.workers[0].send_signal(signal.SIGSTOP)

    def kill_busy_worker(self) -> bytes:
        """Kill the first worker once tasks of it are under way; return all tasks that the scheduler holds then.

        Raises:
            TimeoutError: It is given none.
        """
        from distributed import Client

        until = time.monotonic() + PATIENCE
        with Client(self.address, set_as_default=False) as client:
            names = {address: one["name"] for address, one in client.scheduler_info()["workers"].items()}
            while not any(tasks for address, tasks in client.processing().items() if names[address] == "worker-0"):
                if time.monotonic() > until:
                    raise TimeoutError("no task is given to the worker")
            held: bytes = client.run_on_scheduler(held_tasks)
        self.workers[0].send_signal(signal.SIGKILL)
        self.workers[0].wait()
        return held

    def log(self) -> str:
        """Return what was printed so far."""
        return "\n".join(path.read_text("utf-8", "replace") for path in sorted(self.logs.glob("*.log")))


@contextmanager
def dask_processes(folder: Path, workers: int, environment: Mapping[str, str]) -> Iterator[DaskProcesses]:
    """Run a scheduler and workers of one thread each, all without a dashboard.

    Args:
        folder: Where the files of the processes lie.
        workers: How many.
        environment: Further variables of the workers, such as their credentials.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stated = folder / "scheduler.json"
    usual = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'app'}", "DASK_LOGGING__DISTRIBUTED": "debug"}
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        usual.pop(name, None)
    own = ["--scheduler-file", str(stated)]
    begun: list[subprocess.Popen[bytes]] = []

    def start(kind: str, name: str, more: Mapping[str, str], *options: str) -> None:
        command = [sys.executable, "-W", "ignore", "-m", f"distributed.cli.dask_{kind}", *own, *options]
        with (folder / f"{name}.log").open("wb") as log:
            begun.append(subprocess.Popen(command, cwd=folder, env={**usual, **more}, stdout=log, stderr=log))

    try:
        start("scheduler", "scheduler", {}, "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show")
        address = _address(stated)
        for number in range(workers):
            named = ("--name", f"worker-{number}", "--no-nanny")
            options = ("--nthreads", "1", "--host", "127.0.0.1", "--no-dashboard", "--local-directory")
            start("worker", f"worker-{number}", environment, *named, *options, str(folder))
        yield DaskProcesses(address, begun[1:], folder)
    finally:
        for process in reversed(begun):
            process.kill()
            process.wait()


def _address(stated: Path) -> str:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            return str(json.loads(stated.read_text())["address"])
        except (OSError, ValueError):
            time.sleep(0.05)
    raise TimeoutError(f"no scheduler within {PATIENCE:.0f} s")


def held_tasks(dask_scheduler: Any) -> bytes:
    """Return the tasks of a scheduler as it holds them, with functions and arguments."""
    import cloudpickle

    return b"".join(cloudpickle.dumps(task.run_spec) for task in dask_scheduler.tasks.values())


def object_count(shard: Shard) -> int:
    """Count the objects of a shard."""
    return len(shard.objects)


def failing(shard: Shard) -> int:
    """Raise what is no error of a shard."""
    raise ValueError("no such column")


def not_plain(shard: Shard) -> Shard:
    """Return what cannot be sent to another process."""
    return shard


def not_the_second(shard: Shard) -> str:
    """Return the first key; of shards without one raise, as damaged ones do."""
    key = shard.objects.keys[0]
    if key == "1":
        raise BadChecksum("the second shard is damaged")
    return str(key)


def killed_once(shard: Shard, mark: str) -> int:
    """End the process at the first call; count the objects of a shard afterwards."""
    path = Path(mark)
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return len(shard.objects)


def doubled_once_killed(number: int, mark: str) -> int:
    """End the process at the first call; return the double of a number afterwards."""
    path = Path(mark)
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number
