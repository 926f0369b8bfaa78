"""The servers of these tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shardcore.sources.remote import session as remote
from tests.remote.s3 import Place, s3_server
from tests.remote.servers import RangeServer


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries come after short pauses."""
    monkeypatch.setattr(remote, "FIRST_PAUSE", 0.01)


@pytest.fixture
def server() -> Iterator[RangeServer]:
    """A range server that behaves well; put contents on it."""
    with RangeServer() as one:
        yield one


@pytest.fixture(scope="session")
def s3() -> Iterator[Place]:
    """Moto's S3 server with an empty bucket; the same for all tests."""
    with s3_server() as place:
        yield place
