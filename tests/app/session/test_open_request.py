"""How something is opened: kept for reloading, and safe from chunks that kill a decoder; bytes as text."""

from __future__ import annotations

import ast
import base64
import multiprocessing
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytestqt.qtbot import QtBot

from shardcore import RemoteOptions
from shardcore.teaching.resource_paths import resources
from shardscope.session.display_text import MAX_BYTES, CopyAs, TooMuchToCopy, check_size, copied
from shardscope.session.jobs import Jobs
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import IndexState, Session
from tests.app.conftest import open_in

BARE_SPEC = """{"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 0, "hash": "murmurhash3_x86_128",
 "minishard_bits": 4, "shard_bits": 0, "minishard_index_encoding": "gzip", "data_encoding": "gzip"}"""


@pytest.fixture
def decoders() -> Callable[[], int]:
    """The number of decoder processes that were started here and run."""
    before = multiprocessing.active_children()
    return lambda: sum(one.name == "decoder" and one not in before for one in multiprocessing.active_children())


def read_first(session: Session, qtbot: QtBot) -> bytes:
    """Reads the first object in a job."""
    shard = session.shard
    got: list[bytes] = []
    session.jobs.submit(lambda _: shard.read(shard.objects.ref(0)), done=lambda data, _: got.append(data))
    qtbot.waitUntil(lambda: bool(got))
    return got[0]


def test_lines_of_cards_have_no_secrets() -> None:
    store = RemoteOptions(endpoint_url="https://me:word@store.example.org", access_key="AK", secret_key="word")
    xorbs = {"xorbs": "https://x.example.org/xorbs/?X-Amz-Signature=word"}
    how = OpenRequest("s3://b/a.mdb", options=xorbs, remote=store).opened_with()
    line = " ".join(how.words) + how.arguments
    assert "word" not in line
    assert "AK" not in line
    assert "https://store.example.org" in line
    assert "https://x.example.org/xorbs/" in line


def test_reloading_opens_the_same_way(session: Session, qtbot: QtBot, data: Path) -> None:
    request = OpenRequest(str(data / "neuroglancer" / "bare_shard" / "0.shard"), "neuroglancer", {"spec": BARE_SPEC})
    with qtbot.waitSignal(session.opened):
        session.open(request)
    assert session.request is request
    before = session.shard
    with qtbot.waitSignal(session.opened):
        session.reload()
    assert session.shard is not before
    assert session.request == request
    assert "given specification" in session.shard.why


def test_a_failure_carries_the_request(session: Session, qtbot: QtBot, data: Path) -> None:
    request = OpenRequest(str(data / "neuroglancer" / "bare_shard" / "0.shard"), options={"spec": "[]"})
    with qtbot.waitSignal(session.documents.failed) as caught:
        session.open(request)
    failure = caught.args[0]
    assert failure.request is request
    assert failure.uri == request.uri


def test_the_decoder_ends_with_the_shard(
    session: Session, qtbot: QtBot, data: Path, decoders: Callable[[], int]
) -> None:
    """Chunks are decompressed in another process; closing the shard leaves none."""
    open_in(session, qtbot, data / "bloscpack" / "meta_1.blp")
    assert decoders() == 0
    assert read_first(session, qtbot)
    assert decoders() == 1
    session.close()
    qtbot.waitUntil(lambda: decoders() == 0 and not session.jobs.open_jobs)


def test_the_decoder_ends_with_the_window(qtbot: QtBot, data: Path, decoders: Callable[[], int]) -> None:
    jobs = Jobs()
    session = Session(jobs)
    open_in(session, qtbot, data / "bloscpack" / "meta_1.blp")
    assert session.index.state is IndexState.LOADED
    read_first(session, qtbot)
    session.close()
    assert jobs.shutdown()
    assert decoders() == 0
    assert jobs.open_jobs == ()


def test_files_go_beside_what_is_open_and_home_for_samples(tmp_path: Path) -> None:
    assert OpenRequest(str(tmp_path / "a.shard")).folder == tmp_path
    for uri in (str(resources() / "samples" / "swh" / "small.shard"), "s3://bucket/a.shard"):
        assert OpenRequest(uri).folder == Path.home()


@given(st.binary(max_size=200))
def test_every_form_can_be_read_back(data: bytes) -> None:
    assert bytes.fromhex(copied(data, CopyAs.HEX)) == data
    body = copied(data, CopyAs.C).split("{")[1]
    assert bytes(int(byte, 16) for byte in re.findall(r"0x[0-9a-f]{2}", body)) == data
    assert ast.literal_eval(copied(data, CopyAs.PYTHON).split("=", 1)[1].strip()) == data
    assert base64.b64decode(copied(data, CopyAs.BASE64)) == data


def test_too_much_is_refused() -> None:
    check_size(MAX_BYTES)
    with pytest.raises(TooMuchToCopy, match=r"16 MiB can be copied; extract"):
        check_size(MAX_BYTES + 1)
