"""Configuration of all tests: no display, network or credentials; failure on unexpected log records and open files."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import logging
import os
import random
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import hypothesis
import pytest

pytest.register_assert_rewrite("shardcore.testing")

# Set before Qt is imported. Tests on an X server start the program in another process.
os.environ["QT_QPA_PLATFORM"] = "offscreen"
os.environ.pop("DISPLAY", None)
os.environ.pop("WAYLAND_DISPLAY", None)
for _name in list(os.environ):
    # A certificate file named by the machine is read again for each connection, which takes 0.1 s per test over HTTP.
    if _name.startswith("AWS_") or _name == "SSL_CERT_FILE" or _name.lower().endswith("_proxy"):
        del os.environ[_name]
os.environ |= {
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}

# The results must not depend on chance; `make fuzz` tests random input.
hypothesis.settings.register_profile("suite", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("suite")

from shardcore.testing.checks import FULL  # noqa: E402

NO_SKIPS = os.environ.get("SHARDSCOPE_NO_SKIPS") == "1"


# --- workers ----------------------------------------------------------------------------------------------


EACH = 2
"""Maximum number of parameter sets per test in a quick run."""


def _quick(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return the tests of a quick run: those not marked `thorough`, each with at most `EACH` parameter sets.

    The sets are drawn at random, seeded by the name of the test, so that many tests together cover all formats.
    """
    sets: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("thorough") is None:
            sets.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return {item for name, cases in sets.items() for item in random.Random(name).sample(cases, min(EACH, len(cases)))}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select the tests of a quick run, assign display tests to one worker, and start slow tests first.

    A run of all tests is quick unless SHARDSCOPE_FULL=1 is set. Tests selected by name, mark or file all run.
    """
    if not FULL and (large := [item for item in items if item.get_closest_marker("large")]):
        config.hook.pytest_deselected(items=large)
        items[:] = [item for item in items if item not in large]
    selected = config.option.keyword or config.option.markexpr or config.getoption("lf", False)
    if not FULL and not selected and config.args == config.getini("testpaths"):
        quick = _quick(items)
        config.hook.pytest_deselected(items=[item for item in items if item not in quick])
        items[:] = [item for item in items if item in quick]
    for item in items:
        if item.get_closest_marker("display") is not None:
            item.add_marker(pytest.mark.xdist_group("display"))
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: not any(map(item.get_closest_marker, ("thorough", "display"))))


# --- missing programs and packages: a reason to skip, or a failure with SHARDSCOPE_NO_SKIPS=1 --------------


def _missing(item: pytest.Item) -> str | None:
    """Return the reason why this machine cannot run a test, or None."""
    for marker in item.iter_markers("interop"):
        for module in marker.args:
            try:
                found = importlib.util.find_spec(module)
            except ModuleNotFoundError:  # the parent package is missing
                found = None
            if found is None:
                return f"the reference package with the module {module} is not installed (`make interop`)"
    for marker in item.iter_markers("display"):
        for program in ("Xvfb", *marker.args):
            if shutil.which(program) is None:
                return f"the program {program} is not installed"
    return None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that needs an X server or a reference package that is not installed."""
    reason = _missing(item)
    if reason is not None:
        pytest.skip(reason)


def _forbid_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    report.outcome = "failed"
    report.longrepr = f"SHARDSCOPE_NO_SKIPS=1 does not allow this skip: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With SHARDSCOPE_NO_SKIPS=1, make a display or interop test fail if it is skipped."""
    report = yield
    guarded = any(item.get_closest_marker(name) for name in ("display", "interop"))
    if NO_SKIPS and guarded and report.skipped and not hasattr(report, "wasxfail"):
        _forbid_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """With SHARDSCOPE_NO_SKIPS=1, make a module under tests/interop fail if it skips itself at collection."""
    report = yield
    if NO_SKIPS and report.outcome == "skipped" and "tests/interop" in collector.nodeid:
        _forbid_skip(report)
    return report


# --- no credentials, no network, no traces in the home folder ---------------------------------------------


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Redirect settings, caches and lists of recent files to a temporary home folder."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"):
            patch.setenv(name, str(home))
        for name in ("CONFIG", "CACHE", "DATA", "STATE"):
            patch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
        yield


def _is_local(address: Any) -> bool:
    if not isinstance(address, tuple):  # a path: a Unix socket
        return True
    host = str(address[0])
    return host in {"localhost", "::1", "0.0.0.0", "::"} or host.startswith("127.")


@pytest.fixture(scope="session", autouse=True)
def _no_network() -> Iterator[None]:
    """Make connections to other machines raise an error, so that no test depends on the network."""
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def guarded(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: socket.socket, address: Any) -> Any:
            if not _is_local(address):
                raise RuntimeError(f"a test tried to reach {address!r}; tests stay on this machine")
            return method(self, address)

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded(connect))
        patch.setattr(socket.socket, "connect_ex", guarded(connect_ex))
        yield


# --- the log ----------------------------------------------------------------------------------------------


class _Collector(logging.Handler):
    """Collects warnings and errors; `expect_log` removes those that a test expects."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture(autouse=True)
def _log_records() -> Iterator[list[logging.LogRecord]]:
    """Fail a test during which a warning or error was logged that it did not expect by `expect_log`."""
    collector = _Collector()
    root = logging.getLogger()
    root.addHandler(collector)
    try:
        yield collector.records
    finally:
        root.removeHandler(collector)
    if collector.records:
        lines = [f"{r.name} {r.levelname}: {r.getMessage()}" for r in collector.records]
        pytest.fail("unexpected log records:\n" + "\n".join(lines), pytrace=False)


@pytest.fixture
def expect_log(_log_records: list[logging.LogRecord]) -> Callable[..., AbstractContextManager[None]]:
    """Return a context manager whose block must log a warning or error that a pattern matches.

    In `with expect_log("pattern", logger="name"):`, the record must come from a logger whose name begins with `name`.
    """

    @contextmanager
    def expecting(match: str, logger: str = "") -> Iterator[None]:
        before = len(_log_records)
        yield
        fresh = _log_records[before:]
        hits = [r for r in fresh if r.name.startswith(logger) and re.search(match, r.getMessage())]
        assert hits, f"no warning matching {match!r} was logged, only {[r.getMessage() for r in fresh]}"
        _log_records[before:] = [r for r in fresh if r not in hits]

    return expecting


# --- threads and descriptors ------------------------------------------------------------------------------


GRACE = 60.0
"""Seconds after a test within which its threads must end and its files must be closed."""


def _wait_for_end(left: Callable[[], list[str]], what: str) -> None:
    deadline = time.monotonic() + GRACE
    while names := left():
        if time.monotonic() > deadline:
            pytest.fail(f"{what} {GRACE:g} s after the test: {', '.join(sorted(names))}", pytrace=False)
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def _no_thread_left() -> Iterator[None]:
    """Fail a test if a thread that it started still runs after it; daemon threads (test servers) are ignored."""
    before = set(threading.enumerate())
    yield
    _wait_for_end(
        lambda: [t.name for t in threading.enumerate() if t not in before and t.is_alive() and not t.daemon],
        "threads still running",
    )


DESCRIPTORS = "/proc/self/fd"

# Files that libraries open once and never close: event loops, fonts and their caches, logs, devices.
_KEPT = re.compile(
    r"anon_inode:|socket:|pipe:|/dev/|/memfd:|/proc/|/usr/|/etc/|.*/(fonts?|fontconfig|qtshadercache|xet/logs)/"
)


def _descriptors() -> dict[str, str]:
    """Return the names of the open files of this process by descriptor; empty on systems without `/proc`."""
    found: dict[str, str] = {}
    # This runs before and after every test, and `Path` is slow.
    if not os.path.isdir(DESCRIPTORS):  # noqa: PTH112
        return found
    for number in os.listdir(DESCRIPTORS):  # noqa: PTH208
        with contextlib.suppress(OSError):  # the descriptor of the listing itself is already closed
            name = os.readlink(f"{DESCRIPTORS}/{number}")  # noqa: PTH115
            if not _KEPT.match(name):
                found[number] = name
    return found


@pytest.fixture(scope="session")
def closing() -> Callable[[], AbstractContextManager[None]]:
    """Return a factory of context managers; one fails if a file that was opened in its block is open after it."""

    @contextmanager
    def guard() -> Iterator[None]:
        before = _descriptors().items()
        yield
        if not _descriptors().items() <= before:
            gc.collect()  # files in reference cycles are closed only by the garbage collector
            left = lambda: [name for _, name in _descriptors().items() - before]  # noqa: E731
            _wait_for_end(left, "files still open")

    return guard


@pytest.fixture(autouse=True)
def _no_descriptor_left(closing: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Fail a test if a file that it opened, such as an unclosed shard, is still open after it."""
    with closing():
        yield


# --- a real display ---------------------------------------------------------------------------------------


@contextmanager
def x_server(width: int, height: int) -> Iterator[dict[str, str]]:
    """Run an X server, and yield the environment variables of a process that uses it."""
    read, write = os.pipe()
    # Without `-noreset` the server restarts after its last client exits, and refuses new clients meanwhile.
    screen = f"{width}x{height}x24"
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", screen, "-nolisten", "tcp", "-noreset"]
    with subprocess.Popen(command, pass_fds=(write,), stderr=subprocess.PIPE) as server:
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            number = pipe.readline().decode().strip()
        try:
            if not number:
                _, errors = server.communicate(timeout=10)
                pytest.fail(f"Xvfb did not start: {errors.decode(errors='replace')}")
            yield {**os.environ, "DISPLAY": f":{number}", "QT_QPA_PLATFORM": "xcb"}
        finally:
            server.terminate()


@pytest.fixture(scope="session")
def x_display() -> Iterator[dict[str, str]]:
    """Environment variables of a process that uses the X server of the tests; mark the test `display`."""
    with x_server(1840, 1000) as environment:
        yield environment


@pytest.fixture(scope="session")
def data() -> Path:
    """Path of the folder `tests/data`."""
    return Path(__file__).parent / "data"
