"""The guards of conftest.py themselves: a guard that never bites would be worse than none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

INNER = '''
import logging, socket, threading, time
import pytest

def test_quiet():
    logging.getLogger("a").info("fine")

def test_surprise():
    logging.getLogger("a").warning("surprise")

def test_announced(expect_log):
    with expect_log("^sur", logger="a"):
        logging.getLogger("a.b").error("surprise")

def test_announced_but_silent(expect_log):
    with expect_log("never"):
        pass

def test_thread():
    threading.Thread(target=time.sleep, args=(8,), name="leftover").start()

def test_network():
    with socket.socket() as tcp:
        tcp.connect(("192.0.2.1", 80))

@pytest.mark.interop("no_such_package.reader")
def test_reference():
    pass
'''


def _run(folder: Path, *options: str, no_skips: bool) -> dict[str, str]:
    """The outcome of each inner test, run in a process of its own beside a copy of conftest.py."""
    root = Path(__file__).parent.parent
    (folder / "conftest.py").write_text((root / "tests" / "conftest.py").read_text())
    (folder / "test_inner.py").write_text(INNER)
    command = [sys.executable, "-m", "pytest", "-v", "-c", root / "pyproject.toml", "--rootdir", folder]
    command += [*options, folder]
    environment = {**os.environ, "SHARDSCOPE_NO_SKIPS": "1" if no_skips else "0"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, check=False)
    outcomes: dict[str, str] = {}
    for line in done.stdout.splitlines():
        name, _, rest = line.partition(" ")
        if "::test_" in name and rest:
            outcomes[name.rsplit("::", 1)[-1]] = rest.split()[0]  # a teardown error comes after PASSED
    assert outcomes, done.stdout + done.stderr
    return outcomes


@pytest.mark.slow
def test_guards_bite(tmp_path: Path) -> None:
    """Surprises in the log, threads left behind, the network and empty announcements fail; others pass."""
    assert _run(tmp_path, no_skips=False) == {
        "test_quiet": "PASSED",
        "test_surprise": "ERROR",
        "test_announced": "PASSED",
        "test_announced_but_silent": "FAILED",
        "test_thread": "ERROR",
        "test_network": "FAILED",
        "test_reference": "SKIPPED",
    }


def test_no_skips_turns_missing_references_into_failures(tmp_path: Path) -> None:
    """With SHARDSCOPE_NO_SKIPS=1 a test without its reference package fails instead of being skipped."""
    assert _run(tmp_path, "-k", "reference", no_skips=True) == {"test_reference": "ERROR"}
