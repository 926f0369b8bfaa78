"""The page cache: who reads what and when, what is told, and what is forgotten."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from shardcore import BytesSource, Runs, SourceError
from shardcore.testing import PatternSource
from shardscope.session.byte_pages import PAGE, PageCache, PageState
from shardscope.session.jobs import Jobs
from tests.app.hex_samples import DATA, SIZE, SampleReader


def coloured(pages: PageCache, number: int) -> bool:
    """Whether a page is there with its runs."""
    page = pages.get("", number)
    return page is not None and page.runs is not None


def test_pages_come_with_bytes_and_runs(qtbot: QtBot, pages: PageCache, reader: SampleReader) -> None:
    told: list[tuple[object, object]] = []
    pages.changed.connect(lambda *what: told.append(what))
    assert pages.state("", 0) is PageState.MISSING
    pages.want("", [0])
    assert pages.state("", 0) is PageState.LOADING
    pages.want("", [0])
    qtbot.waitUntil(lambda: coloured(pages, 0))
    page = pages.get("", 0)
    assert page.data == DATA[:PAGE]
    assert (page.runs.start[0], page.runs.stop[-1]) == (0, PAGE)
    assert told == [("", 0), ("", 0)]
    assert reader.reads == [(0, PAGE)]
    assert pages.state("", 0) is PageState.LOADED


def test_the_next_screen_is_fetched_ahead(qtbot: QtBot, pages: PageCache, reader: SampleReader) -> None:
    pages.want("", [0], ahead=1, pages=3)
    qtbot.waitUntil(lambda: coloured(pages, 1))
    pages.want("", [0], ahead=-1, pages=3)
    pages.want("", [2], ahead=1, pages=3)
    qtbot.waitUntil(lambda: coloured(pages, 2))
    assert sorted(reader.reads) == [(0, PAGE), (PAGE, 2 * PAGE), (2 * PAGE, SIZE)]


def test_pages_that_left_the_screen_are_not_read(qtbot: QtBot, jobs: Jobs, reader: SampleReader) -> None:
    reader.source = BytesSource(bytes(100 * PAGE))
    pages = PageCache(jobs)
    pages.use(reader)
    reader.held.clear()
    for number in range(90):
        pages.want("", [number])
    assert pages.state("", 89) is PageState.LOADING
    # Those that a thread has taken already cannot be stopped.
    qtbot.waitUntil(lambda: sum(pages.state("", n) is PageState.LOADING for n in range(90)) <= 13)
    assert pages.state("", 89) is PageState.LOADING
    reader.held.set()
    qtbot.waitUntil(lambda: coloured(pages, 89))
    qtbot.waitUntil(lambda: not jobs.open_jobs)
    assert len(reader.reads) <= 13
    assert pages.loaded("") == [(89 * PAGE, 90 * PAGE)]


def test_coming_back_to_a_cancelled_page(qtbot: QtBot, jobs: Jobs, pages: PageCache, reader: SampleReader) -> None:
    reader.held.clear()
    pages.want("", [0])
    qtbot.waitUntil(lambda: any(job.started for job in jobs.open_jobs))
    pages.want("", [2])
    pages.want("", [0])
    reader.held.set()
    qtbot.waitUntil(lambda: coloured(pages, 0))


def test_failures_are_kept(qtbot: QtBot, pages: PageCache, reader: SampleReader) -> None:
    def fail(start: int, stop: int) -> None:
        raise SourceError("gone")

    reader.failure = fail
    pages.want("", [0])
    qtbot.waitUntil(lambda: pages.state("", 0) is PageState.FAILED)
    page = pages.get("", 0)
    assert (page.error, page.data) == ("gone", b"")
    pages.want("", [0])
    assert len(reader.reads) == 1
    assert pages.loaded("") == []
    reader.failure = lambda start, stop: None
    pages.use(reader)
    pages.want("", [0])
    qtbot.waitUntil(lambda: coloured(pages, 0))


def test_bytes_without_colours_are_shown(
    qtbot: QtBot, pages: PageCache, reader: SampleReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def fail(start: int, stop: int, source: str = "") -> Runs:
        asked.append(start)
        raise SourceError("no index")

    monkeypatch.setattr(reader, "runs", fail)
    told: list[object] = []
    pages.changed.connect(lambda *what: told.append(what))
    pages.want("", [0])
    qtbot.waitUntil(lambda: len(told) == 2)
    pages.want("", [0])
    assert pages.state("", 0) is PageState.LOADED
    assert asked == [0]


def test_colours_are_refreshed_after_the_index(qtbot: QtBot, pages: PageCache, reader: SampleReader) -> None:
    pages.want("", [0])
    qtbot.waitUntil(lambda: coloured(pages, 0))
    before = pages.get("", 0)
    pages.refresh_runs()
    assert coloured(pages, 0)
    pages.want("", [0])
    qtbot.waitUntil(lambda: (page := pages.get("", 0)) is not None and page.runs is not before.runs)  # type: ignore[union-attr]
    assert len(reader.reads) == 1


def test_another_shard_clears_everything(qtbot: QtBot, pages: PageCache, reader: SampleReader) -> None:
    reader.held.clear()
    pages.want("", range(3))
    other = SampleReader(BytesSource(b"other"))
    with qtbot.waitSignal(pages.cleared):
        pages.use(other)
    reader.held.set()
    pages.want("", [0])
    qtbot.waitUntil(lambda: coloured(pages, 0))
    assert pages.bytes_at("", 0, 5) == b"other"
    assert pages.state("", 1) is PageState.MISSING


def test_memory_is_bounded(qtbot: QtBot, jobs: Jobs) -> None:
    pages = PageCache(jobs, budget=5 * PAGE)
    pages.use(SampleReader(PatternSource(2**60)))
    for number in range(20):
        pages.want("", [number])
        qtbot.waitUntil(lambda number=number: coloured(pages, number))
    assert pages.loaded("") == [(16 * PAGE, 20 * PAGE)]
