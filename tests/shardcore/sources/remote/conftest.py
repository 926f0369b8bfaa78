"""The servers of these tests: those of `tests/remote`."""

from tests.remote.conftest import s3, server

__all__ = ["s3", "server"]
