"""Folders of stores with very many names: each page of a listing is requested once, and work begins with the first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest

import shardcore
from shardcore import RemoteOptions
from shardcore.cli.program import run
from shardcore.sources.location import folder_of
from tests.remote.servers import ManyKeysServer
from tests.remote.serving import Answer

NAMES = tuple(f"20261103_{number >> 8:02X}_{number & 255:04X}.des" for number in range(5500))
PAGES = 6
ABOVE = 2
"""Listings of the folder above, in which copies of objects are looked for."""


@pytest.fixture(scope="module")
def des(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("des") / "20261103_0A_0000.des"
    with shardcore.create(path, format="des", codec="none", sidecar=False) as writer:
        writer.add("document", b"hello")
    return path.read_bytes()


@pytest.fixture
def store(des: bytes) -> Iterator[ManyKeysServer]:
    with ManyKeysServer("/bucket/many/", NAMES, des) as server:
        yield server


def options(server: ManyKeysServer) -> RemoteOptions:
    return RemoteOptions(endpoint_url=server.url, addressing="path", anonymous=True)


def test_members_arrive(store: ManyKeysServer) -> None:
    with shardcore.open("s3://bucket/many/", remote=options(store)) as found:
        assert [member.name for member in islice(found.arriving(), 900)] == list(NAMES[:900])
        assert not found.listed
        assert found.member(NAMES[5]).format == "des"
        assert store.listings <= 1 + ABOVE
        assert [member.name for member in found.arriving()] == list(NAMES)
        assert found.listed
        assert store.listings <= PAGES + ABOVE


def test_ls_shows_the_first(store: ManyKeysServer, capsys: pytest.CaptureFixture[str]) -> None:
    remote = ["--no-sign-request", "--endpoint-url", store.url, "--addressing", "path"]
    assert run(["ls", "s3://bucket/many/", "--limit", "5", *remote]) == 0
    assert capsys.readouterr().out.count("document") == 5
    assert store.listings <= 1 + ABOVE


def test_a_folder_of_something_else() -> None:
    with ManyKeysServer("/bucket/many/", [f"photo-{number:05}.jpg" for number in range(5500)], b"x" * 64) as server:
        with pytest.raises(shardcore.NotAShard):
            shardcore.open("s3://bucket/many/", remote=options(server))
        assert server.listings <= PAGES + 4


def test_a_page_that_fails(store: ManyKeysServer) -> None:
    """A listing that broke off continues with the missing page."""
    folder = folder_of("s3://bucket/many/", RemoteOptions(**{**vars(options(store)), "retries": 0}))
    try:
        assert len(next(folder.pages())) == 1000
        answer, store.answer = store.answer, lambda request: Answer(500)
        with pytest.raises(shardcore.RemoteError):
            folder.list()
        store.answer = answer
        folder._opened.remote._lost = None  # the session gave the store up
        assert len(folder.list()) == len(NAMES)
        assert store.listings == PAGES + 1
    finally:
        folder.close()
