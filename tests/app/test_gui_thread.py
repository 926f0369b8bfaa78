"""The guard of these tests finds what it is there for."""

from __future__ import annotations

import threading
from pathlib import Path

from shardcore import FileSource
from shardcore.sources.local import LocalFolder
from shardscope.session.jobs import Jobs
from shardscope.views.inspector.node_details import first_bytes
from shardscope.views.places.places import shards_in
from tests.app.gui_thread import GuiReads, knows_qt


def test_a_read_on_this_thread_is_found(gui_reads: GuiReads, data: Path, jobs: Jobs) -> None:
    """A widget's module that lists a folder here is found, with the calls; on another thread it may."""
    folder = LocalFolder(data / "swh")
    job = jobs.submit(lambda job: None)
    shards_in(folder, "small.shard", job)
    assert "LocalFolder.list by views/places/places.py" in gui_reads.found[0]
    gui_reads.found.clear()
    other = threading.Thread(target=shards_in, args=(folder, "small.shard", job))
    other.start()
    other.join()
    assert gui_reads.found == []


def test_modules_without_qt_may_read(gui_reads: GuiReads, data: Path) -> None:
    """What jobs call reads; a test may call it as a job does."""
    with FileSource(data / "swh" / "small.shard") as source:
        assert len(first_bytes(source, 0, 8)) == 8
    assert gui_reads.found == []
    assert knows_qt(shards_in.__code__.co_filename)
    assert not knows_qt(first_bytes.__code__.co_filename)
