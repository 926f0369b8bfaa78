"""Several documents in one session: opened beside each other, parked with what is known of them, closed, reopened."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from shardcore import Depth, Report, Shard, SourceError, Span
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
    qtbot.waitUntil(lambda: session.index_state in (IndexState.LOADED, IndexState.FAILED))
    return session.document


def names(session: Session) -> list[str]:
    """The names of the documents, in the order of their tabs."""
    return [document.request.name for document in session.documents]


# --- opening ---


def test_what_is_open_already_is_shown_and_not_opened_again(two: Session, small: Path) -> None:
    assert two.open_tab(request(small), Span("", 72, 80)) is None
    assert two.document is two.documents[0]
    assert len(two.documents) == 2
    assert two.selection.span == Span("", 72, 80)


def test_several_files_are_in_the_order_of_the_request(session: Session, qtbot: QtBot, small: Path) -> None:
    paths = [small, small.with_name("one.shard"), small.with_name("medium.shard"), small.with_name("legacy.shard")]
    session.open_tabs([(request(path), None) for path in paths])
    qtbot.waitUntil(lambda: len(session.documents) == 4 and session.shard is not None)
    assert names(session) == [path.name for path in paths]
    assert session.document is session.documents[0]


def test_of_several_files_the_next_is_shown_where_the_first_is_gone(
    session: Session, qtbot: QtBot, small: Path, tmp_path: Path
) -> None:
    session.open_tabs([(request(tmp_path / "gone"), None), (request(small), None)])
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
    qtbot.waitUntil(lambda: len(session.documents) == len(wanted) - 1)
    free.set()
    qtbot.waitUntil(lambda: len(session.documents) == len(wanted))
    qtbot.waitUntil(lambda: session.index_state is IndexState.LOADED)
    assert names(session) == wanted
    assert session.request.name == shown


def test_a_file_behind_is_opened_but_not_announced(two: Session, qtbot: QtBot, small: Path) -> None:
    switched: list[bool] = []
    two.opened.connect(lambda _: switched.append(two.switching))
    two.open_tab(request(small.with_name("medium.shard")), front=False)
    qtbot.waitUntil(lambda: len(two.documents) == 3)
    assert two.request.name == "one.shard"
    assert switched == []
    two.show(two.documents[2])
    assert switched == [False]
    qtbot.waitUntil(lambda: two.index_state is IndexState.LOADED)


def test_nothing_comes_to_the_front_over_a_question(two: Session, qtbot: QtBot, small: Path) -> None:
    two.may_show = lambda: False
    two.open_tab(request(small.with_name("medium.shard")))
    qtbot.waitUntil(lambda: len(two.documents) == 3)
    assert two.request.name == "one.shard"


# --- switching ---


def test_everything_known_of_a_document_is_found_again(two: Session, qtbot: QtBot) -> None:
    first, second = two.documents
    two.show(first)
    key = str(two.shard.objects.keys[0])
    two.verify(Depth.INDEX)
    qtbot.waitUntil(lambda: two.report is not None)
    two.look_up(key)
    qtbot.waitUntil(lambda: two.walk.steps > 2)
    two.go_to_step(2)
    two.select_span(Span("", 72, 80))
    two.select_span(Span("", 4500, 4540))
    qtbot.waitUntil(lambda: two.selection.complete)
    two.find_references()
    qtbot.waitUntil(lambda: two.question is not None and two.question.references is not None)
    report, question, highlights, arrows = two.report, two.question, two.highlights, two.arrows
    two.show(second)
    assert (two.report, two.question, two.walk.key, two.highlights, two.arrows) == (None, None, "", (), ())
    assert not two.can_go_back
    two.show(first)
    assert two.report is report
    assert two.question is question
    assert (two.highlights, two.arrows) == (highlights, arrows)
    assert (two.walk.key, two.walk.step) == (key, 2)
    assert two.selection.span == Span("", 4500, 4540)
    two.back()
    assert two.selection.span == Span("", 72, 80)


def test_views_hear_of_a_switch_as_of_another_file(two: Session) -> None:
    heard: list[object] = []
    two.closed.connect(lambda: heard.append(("closed", two.replacing, two.switching)))
    two.opened.connect(lambda shard: heard.append(("opened", shard.source.name, two.switching)))
    two.index_loaded.connect(lambda: heard.append("index"))
    two.findings_changed.connect(lambda _: heard.append("findings"))
    two.selection_changed.connect(lambda _: heard.append("selection"))
    two.select_span(Span("", 0, 8))
    two.show(two.documents[0])
    heard.clear()
    two.switched.connect(lambda: heard.append(("switched", two.switching)))
    two.show(two.documents[1])
    assert heard[:5] == [("closed", True, True), ("opened", "one.shard", True), "index", "findings", "selection"]
    assert heard[-1] == ("switched", False)


def test_a_verification_of_a_parked_document_arrives_there(two: Session, qtbot: QtBot) -> None:
    gate, first, second = threading.Event(), *two.documents
    two.show(first)
    shard = hold_verifying(two, gate)
    two.verify(Depth.CONTENT)
    (job,) = [one for one in two.jobs.open_jobs if one.title]
    two.show(second)
    assert not job.cancelled
    gate.set()
    qtbot.waitUntil(lambda: job.state.ended and job not in two.jobs.open_jobs)
    assert two.report is None
    assert len(first.mail) == 1
    two.show(first)
    assert two.shard is shard
    assert two.report.depth is Depth.CONTENT
    two.show(second)
    assert two.report is None


def hold_verifying(session: Session, gate: threading.Event) -> Shard:
    """Lets a verification of what is shown wait."""
    shard = session.shard
    verify = shard.verify

    def slow(*arguments: object, **options: object) -> Report:
        assert gate.wait(60)
        return verify(*arguments, **options)  # type: ignore[arg-type]

    shard.verify = slow  # type: ignore[method-assign]
    return shard


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
    two.show(two.documents[0])
    qtbot.waitUntil(lambda: not two.jobs.open_jobs)
    two.show(two.documents[1])
    assert taken == []


def test_a_lookup_that_was_not_answered_is_answered_on_return(two: Session, qtbot: QtBot) -> None:
    first, second = two.documents
    two.show(first)
    key = str(two.shard.objects.keys[0])
    two.look_up(key)
    two.show(second)
    two.show(first)
    qtbot.waitUntil(lambda: two.walk.steps > 0)
    assert two.walk.key == key


def test_a_parked_file_that_changes_is_noticed_on_return(
    session: Session, qtbot: QtBot, small: Path, tmp_path: Path
) -> None:
    path = tmp_path / "changing.shard"
    shutil.copy(small, path)
    open_in(session, qtbot, path)
    beside(session, qtbot, small)
    path.write_bytes(b"something else")
    os.utime(path, ns=(1, 1))
    assert session.trouble is None
    session.show(session.documents[0])
    qtbot.waitUntil(lambda: session.trouble is not None)
    session.show(session.documents[1])
    assert session.trouble is None
    assert session.documents[0].troubled


# --- closing ---


def test_closing_shows_the_tab_beside(two: Session, qtbot: QtBot, small: Path) -> None:
    beside(two, qtbot, small.with_name("medium.shard"))
    two.show(two.documents[1])
    two.close()
    assert two.request.name == "medium.shard"
    two.close()
    assert two.request.name == "small.shard"
    two.close()
    assert two.shard is None
    assert two.documents == []


def test_a_parked_document_is_closed_after_its_last_job(two: Session, qtbot: QtBot) -> None:
    gate, first, second = threading.Event(), *two.documents
    two.show(first)
    shard = hold_verifying(two, gate)
    two.verify(Depth.INDEX)
    two.show(second)
    two.close_document(first)
    assert shard.source.read(0, 1) == b"S"
    gate.set()
    qtbot.waitUntil(lambda: not two.jobs.open_jobs)
    with pytest.raises(SourceError, match="closed"):
        shard.source.read(0, 1)
    assert two.report is None


def test_a_document_with_changes_is_shown_before_it_closes(two: Session) -> None:
    first, _ = two.documents
    two.add_unsaved(lambda: two.document is first)
    asked: list[str] = []
    two.show(first)
    two.show(two.documents[1])
    assert two.unsaved_document is first

    def may_leave(_: OpenRequest | None, __: Callable[[], object]) -> bool:
        asked.append(two.request.name)
        return False

    two.may_leave = may_leave
    two.close_document(first)
    assert asked == ["small.shard"]
    assert len(two.documents) == 2
    two.may_leave = lambda _, __: True


def test_a_closed_tab_is_reopened_with_its_selection(two: Session, qtbot: QtBot) -> None:
    two.select_span(Span("", 16, 24))
    two.close()
    two.close()
    assert two.can_reopen
    with qtbot.waitSignal(two.opened):
        two.reopen()
    assert two.request.name == "small.shard"
    with qtbot.waitSignal(two.opened):
        two.reopen()
    assert two.request.name == "one.shard"
    assert two.selection.span == Span("", 16, 24)
    assert not two.can_reopen


def test_a_result_for_a_closed_document_is_dropped(two: Session, qtbot: QtBot) -> None:
    first, second = two.documents
    two.show(first)
    got: list[str] = []
    dropped, kept = two.when_shown(got.append), two.when_shown(got.append, closed=True)
    two.show(second)
    dropped("parked")
    assert got == []
    two.close_document(first)
    dropped("dropped")
    kept("kept")
    assert got == ["kept"]
