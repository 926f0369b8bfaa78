"""How something is opened: kept for reloading, and safe from chunks that kill a decoder."""

from __future__ import annotations

import multiprocessing
import shutil
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from shardcore import ExternalMissing, RemoteOptions
from shardcore.progress import no_progress
from shardcore.teaching.assets import resources
from shardscope.session.jobs import Jobs
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import IndexState, OpenFailure, Session
from tests.app.conftest import open_in

BARE_SPEC = """{"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 0, "hash": "murmurhash3_x86_128",
 "minishard_bits": 4, "shard_bits": 0, "minishard_index_encoding": "gzip", "data_encoding": "gzip"}"""


def decoders() -> list[str]:
    """The names of the decoder processes that run."""
    return [process.name for process in multiprocessing.active_children() if process.name == "decoder"]


def read_first(session: Session, qtbot: QtBot) -> bytes:
    """Reads the first object in a job."""
    shard = session.shard
    assert shard is not None
    got: list[bytes] = []
    session.jobs.submit(lambda _: shard.read(shard.objects.ref(0)), done=lambda data, _: got.append(data))
    qtbot.waitUntil(lambda: bool(got), timeout=20_000)
    return got[0]


def test_lines_of_cards_have_no_secrets() -> None:
    """What was chosen stands in lines that people copy; logins, signatures and keys do not."""
    store = RemoteOptions(endpoint_url="https://me:word@store.example.org", access_key="AK", secret_key="word")
    xorbs = {"xorbs": "https://x.example.org/xorbs/?X-Amz-Signature=word"}
    how = OpenRequest("s3://b/a.mdb", options=xorbs, remote=store).again()
    line = " ".join(how.words) + how.arguments
    assert "word" not in line
    assert "AK" not in line
    assert "https://store.example.org" in line
    assert "https://x.example.org/xorbs/" in line


def test_reloading_opens_the_same_way(session: Session, qtbot: QtBot, data: Path) -> None:
    """Reload uses format and specification again."""
    request = OpenRequest(str(data / "neuroglancer" / "bare_shard" / "0.shard"), "neuroglancer", {"spec": BARE_SPEC})
    with qtbot.waitSignal(session.opened):
        session.open(request)
    assert session.request is request
    before = session.shard
    with qtbot.waitSignal(session.opened):
        session.reload()
    assert session.shard is not before
    assert session.shard is not None
    assert session.request == request
    assert "specification given" in session.shard.why


def test_a_failure_carries_the_request(session: Session, qtbot: QtBot, data: Path) -> None:
    """What could not be opened can be tried again the same way."""
    request = OpenRequest(str(data / "neuroglancer" / "bare_shard" / "0.shard"), options={"spec": "[]"})
    with qtbot.waitSignal(session.failed) as caught:
        session.open(request)
    failure = caught.args[0]
    assert isinstance(failure, OpenFailure)
    assert failure.request is request
    assert failure.uri == request.uri


def test_the_decoder_ends_with_the_shard(session: Session, qtbot: QtBot, data: Path) -> None:
    """Chunks are decompressed in a process of their own, and closing the shard leaves none, not even a zombie."""
    open_in(session, qtbot, data / "bloscpack" / "meta_1.blp")
    assert decoders() == []
    assert read_first(session, qtbot)
    assert len(decoders()) == 1
    session.close()
    qtbot.waitUntil(lambda: decoders() == [] and not session.jobs.open_jobs, timeout=10_000)


def test_the_decoder_ends_with_the_window(qtbot: QtBot, data: Path) -> None:
    """Closing the shard and stopping the jobs at once leaves no process, either."""
    jobs = Jobs()
    session = Session(jobs)
    open_in(session, qtbot, data / "bloscpack" / "meta_1.blp")
    assert session.index_state is IndexState.LOADED
    read_first(session, qtbot)
    session.close()
    assert jobs.shutdown()
    assert decoders() == []
    assert jobs.open_jobs == ()


def test_companions_are_used(data: Path, tmp_path: Path) -> None:
    """A shard without its companions beside it serves contents from the folder that was named."""
    shard_file = next((data / "mdb" / "cas" / "shards").glob("7dc9*.mdb"))
    alone = tmp_path / shard_file.name
    shutil.copy(shard_file, alone)
    with OpenRequest(str(alone), options={"xorbs": str(data / "mdb" / "cas" / "xorbs")}).open(no_progress) as shard:
        shard.load_index()
        assert len(shard.read(shard.objects.ref(0))) == 204_000
    with OpenRequest(str(alone)).open(no_progress) as shard:
        shard.load_index()
        with pytest.raises(ExternalMissing):
            shard.read(shard.objects.ref(0))


def test_files_go_beside_what_is_open_and_home_for_samples(tmp_path: Path) -> None:
    """Nothing is proposed to be written into the folder of the program, or of another machine."""
    assert OpenRequest(str(tmp_path / "a.shard")).folder == tmp_path
    for uri in (str(resources() / "samples" / "swh" / "small.shard"), "s3://bucket/a.shard"):
        assert OpenRequest(uri).folder == Path.home()
