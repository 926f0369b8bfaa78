"""Jobs: each reports once, the newest of a key wins, what matters goes first; quick signals are answered once."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtCore import QObject, QThread
from PySide6.QtWidgets import QScrollBar
from pytestqt.qtbot import QtBot

from shardcore import Cancelled
from shardscope.session.display_text import pace_text
from shardscope.session.jobs import Job, JobPriority, Jobs, JobState, Pool, Rate
from shardscope.widgets.deferred_signals import Debounce


class Reports:
    """Collects what jobs report."""

    def __init__(self) -> None:
        self.all: list[tuple[Any, BaseException | None]] = []

    def __call__(self, *report: Any) -> None:
        self.all.append(report)


@pytest.fixture
def reports() -> Reports:
    """Nothing reported yet."""
    return Reports()


def hold(gate: threading.Event) -> Any:
    """Work that goes on until the gate opens or it is cancelled."""

    def work(job: Job) -> str:
        while not gate.wait(0.002):
            job.check()
        return "done"

    return work


def test_a_result_comes_home_to_the_gui_thread(qtbot: QtBot, jobs: Jobs) -> None:
    threads: list[object] = []
    main = QThread.currentThread()

    def done(result: bool, _: BaseException | None) -> None:
        threads.append((result, threading.get_ident()))

    job = jobs.submit(lambda _: QThread.currentThread() is main, done=done)
    qtbot.waitUntil(lambda: bool(threads))
    assert threads == [(False, threading.get_ident())]
    assert job.state is JobState.DONE


def test_every_way_to_end_is_reported_once(qtbot: QtBot, jobs: Jobs, reports: Reports) -> None:
    def stop(_: Job) -> None:
        raise SystemExit(3)

    gate = threading.Event()
    jobs.submit(lambda _: 1, done=reports)
    jobs.submit(lambda _: 1 // 0, done=reports)
    jobs.submit(stop, done=reports)
    jobs.submit(hold(gate), done=reports).cancel()
    qtbot.waitUntil(lambda: jobs.reported == 4)
    kinds = {type(error) for _, error in reports.all}
    assert kinds == {type(None), ZeroDivisionError, SystemExit, Cancelled}
    assert jobs.submitted == jobs.reported == len(reports.all)


def test_the_newest_of_a_key_wins(qtbot: QtBot, jobs: Jobs, reports: Reports) -> None:
    gate = threading.Event()
    jobs.submit(hold(gate), key="page", done=reports)
    jobs.submit(lambda _: "new", key="page", done=reports)
    qtbot.waitUntil(lambda: len(reports.all) == 2)
    assert ("new", None) in reports.all
    assert [type(error) for result, error in reports.all if result is None] == [Cancelled]


def test_a_late_result_is_discarded(qtbot: QtBot, jobs: Jobs, reports: Reports) -> None:
    """A job cancelled after its work reports `Cancelled`, and its result is released."""
    released: list[str] = []
    begun, gate = threading.Event(), threading.Event()

    def work(_: Job) -> str:
        begun.set()
        gate.wait(60)
        return "shard"

    job = jobs.submit(work, done=reports, discard=released.append)
    assert begun.wait(60)
    job.cancel()
    gate.set()
    qtbot.waitUntil(lambda: bool(reports.all))
    assert released == ["shard"]
    assert isinstance(reports.all[0][1], Cancelled)
    assert job.state is JobState.CANCELLED


def test_what_is_on_the_screen_goes_first(qtbot: QtBot) -> None:
    jobs = Jobs(io=1)
    order: list[str] = []
    gate = threading.Event()
    jobs.submit(hold(gate))
    for name, priority in [
        ("scan", JobPriority.SCAN),
        ("selected", JobPriority.SELECTED),
        ("screen 1", JobPriority.SCREEN),
        ("prefetch", JobPriority.PREFETCH),
        ("screen 2", JobPriority.SCREEN),
    ]:
        jobs.submit(lambda _, name=name: order.append(name), priority=priority)  # type: ignore[misc]
    gate.set()
    qtbot.waitUntil(lambda: jobs.reported == 6)
    assert order == ["screen 1", "screen 2", "selected", "prefetch", "scan"]
    assert jobs.shutdown()


def test_waiting_bytes_do_not_starve_the_processor(qtbot: QtBot, jobs: Jobs, reports: Reports) -> None:
    gate = threading.Event()
    for _ in range(40):
        jobs.submit(hold(gate))
    jobs.submit(lambda _: "computed", pool=Pool.CPU, done=reports)
    qtbot.waitUntil(lambda: reports.all == [("computed", None)])
    gate.set()


def test_waiting_jobs_are_cancelled_before_they_run(qtbot: QtBot) -> None:
    jobs = Jobs(io=1)
    gate = threading.Event()
    ran: list[int] = []
    jobs.submit(hold(gate))
    job = jobs.submit(lambda _: ran.append(1))
    job.cancel()
    qtbot.waitUntil(lambda: job.state is JobState.CANCELLED and jobs.reported == 1)
    gate.set()
    qtbot.waitUntil(lambda: jobs.reported == 2)
    assert ran == []
    assert jobs.shutdown()


def test_closing_waits_for_the_last_reader(qtbot: QtBot, jobs: Jobs) -> None:
    """`cancel_all` cancels all but lasting jobs; `call_after` calls when the last of the old ones has ended."""
    gate = threading.Event()
    ended: list[str] = []
    lasting = jobs.submit(hold(gate), lasting=True)
    short = jobs.submit(hold(threading.Event()))
    jobs.cancel_all()
    jobs.call_after(lambda: ended.append("closed"))
    qtbot.waitUntil(lambda: short.state is JobState.CANCELLED and jobs.reported == 1)
    newer = jobs.submit(lambda _: "next shard")
    qtbot.waitUntil(lambda: newer.state is JobState.DONE and jobs.reported == 2)
    assert ended == []
    gate.set()
    qtbot.waitUntil(lambda: ended == ["closed"])
    assert lasting.state is JobState.DONE


def test_nobody_is_called_who_is_gone(qtbot: QtBot, jobs: Jobs) -> None:
    """The result for a deleted QObject is released."""

    class Receiver(QObject):
        called = False

        def take(self, result: object, error: object) -> None:
            Receiver.called = True

    released: list[object] = []
    receiver = Receiver()
    gate = threading.Event()
    jobs.submit(hold(gate), done=receiver.take, discard=released.append)
    receiver.deleteLater()
    with qtbot.waitSignal(receiver.destroyed):
        pass
    gate.set()
    qtbot.waitUntil(lambda: jobs.reported == 1)
    assert released == ["done"]
    assert not Receiver.called


def test_shutdown_leaves_nothing(qtbot: QtBot, reports: Reports) -> None:
    jobs = Jobs()
    for _ in range(60):
        jobs.submit(hold(threading.Event()), done=reports)
    assert jobs.shutdown()
    assert len(reports.all) == 60
    assert all(isinstance(error, Cancelled) for _, error in reports.all)
    late = jobs.submit(lambda _: 1, done=reports)
    qtbot.waitUntil(lambda: len(reports.all) == 61)
    assert late.state is JobState.CANCELLED


def test_shutdown_waits_for_what_completes(reports: Reports) -> None:
    """A job that must complete runs to its end even if no thread had taken it yet."""
    jobs = Jobs(io=1)
    jobs.submit(hold(threading.Event()))
    jobs.submit(lambda _: "stored", done=reports).completes = True
    assert jobs.shutdown()
    assert reports.all == [("stored", None)]


def test_errors_nobody_takes_are_told(qtbot: QtBot, jobs: Jobs) -> None:
    with qtbot.waitSignal(jobs.trouble) as caught:
        jobs.submit(lambda _: 1 // 0)
    assert isinstance(caught.args[0].error, ZeroDivisionError)


def test_the_argument_of_a_signal_is_no_time(qtbot: QtBot) -> None:
    """A scroll bar at 60,000 does not delay the call by a minute."""
    called: list[int] = []
    bar = QScrollBar()
    bar.setRange(0, 60_000)
    soon = Debounce(bar, lambda: called.append(bar.value()))
    bar.valueChanged.connect(soon.again)
    for value in (1, 500, 60_000):
        bar.setValue(value)
    qtbot.waitUntil(lambda: bool(called))
    assert called == [60_000]
    assert soon.interval() == 0


def test_a_rate_is_smoothed_and_falls_without_progress() -> None:
    rate = Rate()
    for second in range(1, 10):
        rate.add(100 * second, second)
    assert rate.now(10) == pytest.approx(100)
    rate.add(1900, 10)
    assert 300 < rate.now(10) < 500, "one fast second"
    assert rate.now(60) < 1
    rate.add(5, 61)
    assert rate.now(61) == 0, "another phase"


def test_the_pace_is_that_of_a_running_job_after_its_first_second() -> None:
    now, rate = time.monotonic(), Rate()
    for second in range(5):
        rate.add(1000 * second, now - 5 + second)
    job = SimpleNamespace(rate=rate, state=JobState.RUNNING, unit="byte", total_amount=9000, done_amount=4000)
    for started, state, shown in ((now, job.state, ""), (now - 5, job.state, "left"), (0, JobState.DONE, "")):
        job.started, job.state = started, state
        assert pace_text(job)[-4:] == shown
