"""Runs that are killed at any moment: what is there afterwards?

A run is repeated in forks of a helper process, each of which kills itself (as `kill -9` would) after a number of
function calls; the numbers are spread over the whole run, half of them over its end, where files get their names. So
every moment can be hit, without any dependence on time or chance.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from shardcore.testing.sampling import FULL

END = 600
"""Calls at the end of a run that are looked at closely."""


def count_of(moments: int) -> int:
    """Return how many of so many moments are tried: all in a full run, else a third, the edges among them."""
    return moments if FULL else max(moments // 3, 4)


def place_of(cls: type) -> str:
    """Return where another process finds a class of a test: the path of the module, and the name."""
    return f"{inspect.getfile(cls)}::{cls.__name__}"


def loaded(place: str) -> Any:
    """Return the class at a place."""
    path, _, name = place.rpartition("::")
    spec = importlib.util.spec_from_file_location("killed_contract", path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["killed_contract"] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


def bytes_of(target: Path) -> dict[str, bytes]:
    """Return all files of a target, by their names in it; a file alone has the empty name."""
    if target.is_dir():
        files = sorted(path for path in target.rglob("*") if path.is_file())
        return {path.relative_to(target).as_posix(): path.read_bytes() for path in files}
    return {"": target.read_bytes()} if target.exists() else {}


def seen(files: dict[str, bytes]) -> str:
    """Return what `at_moments` reports files."""
    return hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()


def at_moments(cls: type, method: str, target: Path, moments: int) -> list[str]:
    """Run a method of a test class (with the target) again and again, and kills it each time at another moment.

    Quick runs try a third of the moments; see `count_of`.

    Where the class has a method `prepared`, it is called with the target before each run, and `judged` afterwards: its
    answer is told instead of that of `seen`. Otherwise the target is removed before each run, and what else a killed
    run left stays.

    Returns:
        What was there after each run, as `seen` reports it.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    code = "from shardcore.testing.kill_runs import _main; _main()"
    command = [sys.executable, "-c", code, place_of(cls), method, str(target), str(count_of(moments))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.split()


def _main() -> None:
    place, method, where, moments = sys.argv[1:]
    contract, target = loaded(place)(), Path(where)
    judge = getattr(contract, "judged", None)
    total = _run(contract, method, target, 0)
    if judge is not None and total > 0:
        # Judging loads modules here, which later runs do not load any more: they have fewer calls.
        judge(target)
        total = _run(contract, method, target, 0)
    if total <= 0:
        sys.exit("the run failed before it was killed")
    half = int(moments) // 2
    spread = [max(1, total * (n + 1) // (half + 1)) for n in range(half)]
    end = min(END, total - 1)
    spread += [total - end * n // (int(moments) - half) for n in range(int(moments) - half)]
    for moment in spread:
        _run(contract, method, target, moment)
        print(judge(target) if judge is not None else seen(bytes_of(target)))  # noqa: T201


def _run(contract: Any, method: str, target: Path, moment: int) -> int:
    prepare = getattr(contract, "prepared", None)
    if prepare is not None:
        prepare(target)
    elif target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        _in_child(contract, method, target, moment, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return int(told or b"-1")


def _in_child(contract: Any, method: str, target: Path, moment: int, writing: int) -> None:
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += 1
        if calls == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    code = 1
    try:
        sys.setprofile(count)
        getattr(contract, method)(target)
        sys.setprofile(None)
        os.write(writing, b"%d" % calls)
        code = 0
    finally:
        sys.setprofile(None)
        os._exit(code)
