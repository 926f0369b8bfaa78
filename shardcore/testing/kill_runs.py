"""Killing a run (such as writing a shard) at many moments, to test the files that remain.

A run is repeated in forks of a helper process; each fork kills itself (like `kill -9`) after a number of function
calls. Half of the numbers are spread over the whole run, the others over its end, when files are renamed. Moments are
counted in calls, so tests do not depend on time or chance.
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

from shardcore.testing.checks import FULL

END = 600
"""Number of function calls at the end of a run that are tested more densely."""


def count_of(moments: int) -> int:
    """Return the number of moments to test: all in a full run, else a third, including the first and last."""
    return moments if FULL else max(moments // 3, 4)


def class_location(cls: type) -> str:
    """Return `PATH::NAME` of a test class, so that another process can import it with `loaded`."""
    return f"{inspect.getfile(cls)}::{cls.__name__}"


def loaded(place: str) -> Any:
    path, _, name = place.rpartition("::")
    spec = importlib.util.spec_from_file_location("killed_contract", path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["killed_contract"] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


def bytes_of(target: Path) -> dict[str, bytes]:
    """Return the bytes of all files below a target, by relative name; the name is empty if the target is a file."""
    if target.is_dir():
        files = sorted(path for path in target.rglob("*") if path.is_file())
        return {path.relative_to(target).as_posix(): path.read_bytes() for path in files}
    return {"": target.read_bytes()} if target.exists() else {}


def seen(files: dict[str, bytes]) -> str:
    """Return a digest of the names and bytes of files; `at_moments` returns such digests."""
    return hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()


def at_moments(cls: type, method: str, target: Path, moments: int) -> list[str]:
    """Run a method of a test class with `target` repeatedly, and kill each run at a different moment.

    If the class has a method `prepared`, it is called with the target before each run; otherwise the target is removed.

    Returns:
        One text per run: the result of `judged(target)` if the class has this method, else `seen` of the files left.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    code = "from shardcore.testing.kill_runs import _main; _main()"
    command = [sys.executable, "-c", code, class_location(cls), method, str(target), str(count_of(moments))]
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
        # Judge once first: it imports modules, which later runs then do not count.
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
        output = pipe.read()
    os.waitpid(child, 0)
    return int(output or b"-1")


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
