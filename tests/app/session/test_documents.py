"""Several documents in one session: opened beside each other, parked with what is known of them, closed, reopened."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from shardcore import Depth, Shard, SourceError, Span
from shardscope.session.documents import Document
from shardscope.session.jobs import Job
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import IndexState, Session
from tests.app.conftest import open_in


def request(path: Path) -> OpenRequest:
    """How a path is opened."""
    return OpenRequest(str(path))


@pytest.fixture
def small(data: Path) -> Path:
    """A shard of 12 objects in 13 slots."""
    return data / "swh" / "small.shard"


@pytest.fixture
def two(session: Session, qtbot: QtBot, small: Path) -> Session:
    """Two documents: `small.shard`, parked, and `one.shard`, which is shown."""
    open_in(session, qtbot, small)
    beside(session, qtbot, small.with_name("one.shard"))
    return session


def beside(session: Session, qtbot: QtBot, path: Path) -> Document:
    """Opens a file beside what is open, and waits for its index."""
    with qtbot.waitSignal(session.opened):
        session.open_tab(request(path))
    qtbot.waitUntil(lambda: session.index.state in (IndexState.LOADED, IndexState.FAILED))
    return session.document


def names(session: Session) -> list[str]:
    """The names of the documents, in the order of their tabs."""
    return [document.request.name for document in session.documents.all]


# --- opening ---


def test_what_is_open_already_is_shown_and_not_opened_again(two: Session, small: Path) -> None:
    assert two.open_tab(request(small), Span("", 72, 80)) is None
    assert two.document is two.documents.all[0]
    assert len(two.documents.all) == 2
    assert two.selection.span == Span("", 72, 80)


def test_several_files_are_in_the_order_of_the_request(session: Session, qtbot: QtBot, small: Path) -> None:
    shown = ["small.shard", "one.shard", "medium.shard", "legacy.shard"]
    session.documents.open_tabs([(request(small.with_name(name)), None) for name in shown])
    qtbot.waitUntil(lambda: len(session.documents.all) == 4 and session.shard is not None)
    assert names(session) == shown
    assert session.document is session.documents.all[0]


def test_the_next_is_shown_where_the_first_of_several_is_gone(session: Session, qtbot: QtBot, small: Path) -> None:
    session.documents.open_tabs([(request(small.with_name("gone")), None), (request(small), None)])
    qtbot.waitUntil(lambda: session.shard is not None)
    assert names(session) == ["small.shard"]


@pytest.mark.parametrize(
    ("requests", "shown"),
    [
        ((("small", True), ("one", False), ("medium", False)), "small.shard"),
        ((("small", True), ("one", True)), "one.shard"),
        ((("small", True), ("one", True), ("small", True)), "small.shard"),
        ((("small", True), ("small", True)), "small.shard"),
    ],
)
def test_none_of_several_requests_is_lost(
    session: Session,
    qtbot: QtBot,
    small: Path,
    monkeypatch: pytest.MonkeyPatch,
    requests: tuple[tuple[str, bool], ...],
    shown: str,
) -> None:
    free, open_ = threading.Event(), OpenRequest.open
    wanted = list(dict.fromkeys(f"{name}.shard" for name, _ in requests))

    def slow(self: OpenRequest, *given: Any) -> Shard:
        if self.name == "small.shard":
            assert free.wait(60)
        return open_(self, *given)

    monkeypatch.setattr(OpenRequest, "open", slow)
    for name, front in requests:
        session.open_tab(request(small.with_name(f"{name}.shard")), front=front)
    qtbot.waitUntil(lambda: len(session.documents.all) == len(wanted) - 1)
    free.set()
    qtbot.waitUntil(lambda: len(session.documents.all) == len(wanted))
    qtbot.waitUntil(lambda: session.index.state is IndexState.LOADED)
    assert names(session) == wanted
    assert session.request.name == shown


def test_a_file_behind_is_opened_but_not_announced(two: Session, qtbot: QtBot, small: Path) -> None:
    switched: list[bool] = []
    two.opened.connect(lambda _: switched.append(two.documents.switching))
    two.open_tab(request(small.with_name("medium.shard")), front=False)
    qtbot.waitUntil(lambda: len(two.documents.all) == 3)
    assert two.request.name == "one.shard"
    assert switched == []
    two.documents.show(two.documents.all[2])
    assert switched == [False]
    qtbot.waitUntil(lambda: two.index.state is IndexState.LOADED)


def test_nothing_comes_to_the_front_over_a_question(two: Session, qtbot: QtBot, small: Path) -> None:
    two.documents.may_show = lambda: False
    two.open_tab(request(small.with_name("medium.shard")))
    qtbot.waitUntil(lambda: len(two.documents.all) == 3)
    assert two.request.name == "one.shard"


# --- switching ---


def test_everything_known_of_a_document_is_found_again(two: Session, qtbot: QtBot) -> None:
    first, second = two.documents.all
    two.documents.show(first)
    key = str(two.shard.objects.keys[0])
    two.verification.start(Depth.INDEX)
    qtbot.waitUntil(lambda: two.verification.report is not None)
    two.lookup.start(key)
    qtbot.waitUntil(lambda: two.lookup.walk.steps > 2)
    two.lookup.go_to_step(2)
    two.select_span(Span("", 72, 80))
    two.select_span(Span("", 4500, 4540))
    qtbot.waitUntil(lambda: two.selection.complete)
    two.references.find()
    qtbot.waitUntil(lambda: two.references.question is not None and two.references.question.references is not None)
    report, question, highlights, arrows = (
        two.verification.report,
        two.references.question,
        two.lookup.highlights,
        two.lookup.arrows,
    )
    two.documents.show(second)
    assert (
        two.verification.report,
        two.references.question,
        two.lookup.walk.key,
        two.lookup.highlights,
        two.lookup.arrows,
    ) == (None, None, "", (), ())
    assert not two.selector.can_go_back
    two.documents.show(first)
    assert two.verification.report is report
    assert two.references.question is question
    assert (two.lookup.highlights, two.lookup.arrows) == (highlights, arrows)
    assert (two.lookup.walk.key, two.lookup.walk.step) == (key, 2)
    assert two.selection.span == Span("", 4500, 4540)
    two.selector.back()
    assert two.selection.span == Span("", 72, 80)


def test_jobs_that_only_feed_the_screen_end_with_a_switch(two: Session, qtbot: QtBot) -> None:
    """A job without a title is cancelled when its document is parked."""
    started, ended, taken = threading.Event(), threading.Event(), list[object]()

    def work(_: Shard, job: Job) -> str:
        started.set()
        while not job.cancelled:
            ended.wait(0.01)
        job.check()
        return "late"

    two.ask(work, taken.append, key="screen")
    qtbot.waitUntil(started.is_set)
    two.documents.show(two.documents.all[0])
    qtbot.waitUntil(lambda: not two.jobs.open_jobs)
    two.documents.show(two.documents.all[1])
    assert taken == []


def test_a_lookup_that_was_not_answered_is_answered_on_return(two: Session, qtbot: QtBot) -> None:
    first, second = two.documents.all
    two.documents.show(first)
    key = str(two.shard.objects.keys[0])
    two.lookup.start(key)
    two.documents.show(second)
    two.documents.show(first)
    qtbot.waitUntil(lambda: two.lookup.walk.steps > 0)
    assert two.lookup.walk.key == key


def test_a_parked_file_that_changes_is_noticed_on_return(
    session: Session, qtbot: QtBot, small: Path, tmp_path: Path
) -> None:
    path = tmp_path / "changing.shard"
    shutil.copy(small, path)
    open_in(session, qtbot, path)
    beside(session, qtbot, small)
    path.write_bytes(b"something else")
    os.utime(path, ns=(1, 1))
    assert session.document.trouble is None
    session.documents.show(session.documents.all[0])
    qtbot.waitUntil(lambda: session.document.trouble is not None)
    session.documents.show(session.documents.all[1])
    assert session.document.trouble is None
    assert session.documents.all[0].troubled


# --- closing ---


def test_closing_shows_the_tab_beside(two: Session, qtbot: QtBot, small: Path) -> None:
    beside(two, qtbot, small.with_name("medium.shard"))
    two.documents.show(two.documents.all[1])
    two.close()
    assert two.request.name == "medium.shard"
    two.close()
    assert two.request.name == "small.shard"
    two.close()
    assert two.shard is None
    assert two.documents.all == []


def test_a_parked_document_is_closed_after_its_last_job(two: Session, qtbot: QtBot) -> None:
    gate, first, second = threading.Event(), *two.documents.all
    two.documents.show(first)
    shard, verify = two.shard, two.shard.verify
    shard.verify = lambda *given, **named: gate.wait(60) and verify(*given, **named)
    two.verification.start(Depth.INDEX)
    two.documents.show(second)
    two.documents.close_document(first)
    assert shard.source.read(0, 1) == b"S"
    gate.set()
    qtbot.waitUntil(lambda: not two.jobs.open_jobs)
    with pytest.raises(SourceError, match="closed"):
        shard.source.read(0, 1)
    assert two.verification.report is None


def test_a_closed_tab_is_reopened_with_its_selection(two: Session, qtbot: QtBot) -> None:
    two.select_span(Span("", 16, 24))
    two.close()
    two.close()
    assert two.documents.can_reopen
    with qtbot.waitSignal(two.opened):
        two.documents.reopen()
    assert two.request.name == "small.shard"
    with qtbot.waitSignal(two.opened):
        two.documents.reopen()
    assert two.request.name == "one.shard"
    assert two.selection.span == Span("", 16, 24)
    assert not two.documents.can_reopen


def test_a_result_for_a_closed_document_is_dropped(two: Session, qtbot: QtBot) -> None:
    first, second = two.documents.all
    two.documents.show(first)
    got: list[str] = []
    dropped, kept = two.documents.when_shown(got.append), two.documents.when_shown(got.append, closed=True)
    two.documents.show(second)
    dropped("parked")
    assert got == []
    two.documents.close_document(first)
    dropped("dropped")
    kept("kept")
    assert got == ["kept"]
