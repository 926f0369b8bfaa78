"""The guards of conftest.py themselves: a guard that never bites would be worse than none."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

INNER = """
import logging, os, socket, threading
import pytest

stop = threading.Event()

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
    threading.Thread(target=stop.wait, args=(60,), name="leftover").start()

def test_thread_that_ends(request):
    threading.Timer(0.01, lambda: None).start()
    stop.set()

def test_descriptor(tmp_path):
    global left
    left = os.open(tmp_path / "x", os.O_CREAT)

def test_descriptor_that_is_closed(tmp_path):
    os.close(left)
    with open(tmp_path / "y", "w"):
        pass

def test_network():
    with socket.socket() as tcp:
        tcp.connect(("192.0.2.1", 80))

@pytest.mark.interop("no_such_package.reader")
def test_reference():
    pass
"""


@pytest.fixture
def outcomes(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, _log_records: list[logging.LogRecord]
) -> dict[str, str]:
    """The outcome of each inner test, run in this process beside a copy of conftest.py."""
    monkeypatch.setenv("HOME", str(pytester.path))
    pytester.makeconftest((ROOT / "tests" / "conftest.py").read_text())
    pytester.makepyfile(test_inner=INNER)
    pytester.makefile(".toml", pyproject=(ROOT / "pyproject.toml").read_text())
    found: dict[str, str] = {}

    class Told:
        """Keeps the outcomes; a failure of the teardown is an error, as in pytest's own words."""

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            name = report.nodeid.rpartition("::")[2]
            if report.when == "call" or report.outcome != "passed":
                failed = report.outcome == "failed" and report.when != "call"
                found[name] = "error" if failed else report.outcome

    quick = ("-o", "grace=0.2", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly")
    pytester.inline_run(*quick, pytester.path, plugins=[Told()])
    # The surprises of the inner tests reach our own guard, too.
    _log_records.clear()
    return found


@pytest.mark.thorough
def test_guards_bite(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Surprises in the log, threads and files left behind, the network and empty announcements fail; others pass."""
    monkeypatch.delenv("SHARDSCOPE_NO_SKIPS", raising=False)
    outcomes = request.getfixturevalue("outcomes")
    files = "error" if Path("/proc/self/fd").exists() else "passed"
    assert outcomes == {
        "test_quiet": "passed",
        "test_surprise": "error",
        "test_announced": "passed",
        "test_announced_but_silent": "failed",
        "test_thread": "error",
        "test_thread_that_ends": "passed",
        "test_descriptor": files,
        "test_descriptor_that_is_closed": "passed",
        "test_network": "failed",
        "test_reference": "skipped",
    }


@pytest.mark.thorough
def test_no_skips_turns_missing_references_into_failures(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """With SHARDSCOPE_NO_SKIPS=1 a test without its reference package fails instead of being skipped."""
    monkeypatch.setenv("SHARDSCOPE_NO_SKIPS", "1")
    assert request.getfixturevalue("outcomes")["test_reference"] == "error"


CASES = """
import pytest

@pytest.mark.parametrize("number", range(9))
def test_each(number):
    pass

@pytest.mark.thorough
def test_long():
    pass
"""


@pytest.mark.parametrize(("full", "arguments", "number"), [(False, [], 2), (False, ["-k", "test"], 10), (True, [], 10)])
def test_a_quick_run_takes_two_sets_of_each_test(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, full: bool, arguments: list[str], number: int
) -> None:
    """A quick run takes two parameter sets of each test and no `thorough` one; all other runs take everything."""
    monkeypatch.setattr("shardcore.testing.sampling.FULL", full)
    pytester.makeconftest((ROOT / "tests" / "conftest.py").read_text())
    pytester.makefile(".toml", pyproject=(ROOT / "pyproject.toml").read_text())
    pytester.mkdir("tests").joinpath("test_inner.py").write_text(CASES)
    pytester.inline_run(*arguments, "-p", "no:cacheprovider").assertoutcome(passed=number)
