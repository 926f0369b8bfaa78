"""Jobs and pages for the views under test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from shardscope.jobs import Jobs
from shardscope.pages import PageCache
from tests.app.hex_samples import SampleReader


@pytest.fixture
def jobs(qtbot: QtBot) -> Iterator[Jobs]:
    """Pools that are empty again after the test."""
    made = Jobs()
    yield made
    assert made.shutdown()


@pytest.fixture
def reader() -> Iterator[SampleReader]:
    """The sample; reads that are held are let go at the end."""
    made = SampleReader()
    yield made
    made.held.set()


@pytest.fixture
def pages(jobs: Jobs, reader: SampleReader) -> PageCache:
    """A page cache on the sample."""
    made = PageCache(jobs)
    made.use(reader)
    return made
