"""Promises of the source that is open only while it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardcore.errors import SourceChanged, SourceError
from shardcore.sources.base import Source
from shardcore.sources.local import LocalFolder, OnDemandSource
from shardcore.testing import SourceContract


class TestOnDemandSource(SourceContract):
    def opened(self, tmp_path: Path) -> Source:
        (tmp_path / "file").write_bytes(self.data)
        return OnDemandSource(LocalFolder(tmp_path), "file")

    def test_a_replaced_file_is_noticed(self, tmp_path: Path) -> None:
        source = self.opened(tmp_path)
        assert source.read(0, 2) == b"\0\1"
        other = tmp_path / "other"
        other.write_bytes(bytes(len(self.data)))
        other.replace(tmp_path / "file")
        for use in (lambda: source.read(0, 2), source.check_unchanged, lambda: source.read_many([(0, 1)])):
            with pytest.raises(SourceChanged):
                use()
        (tmp_path / "file").unlink()
        with pytest.raises(SourceError):
            source.read(0, 2)

    def test_closed_is_closed(self, tmp_path: Path) -> None:
        source = self.opened(tmp_path)
        source.close()
        with pytest.raises(SourceError, match="closed"):
            source.read(0, 1)

    def test_many_sources_hold_no_files(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(self.data)
        import resource

        allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(allowed, 256), most))
        try:
            sources = [OnDemandSource(LocalFolder(tmp_path), "file") for _ in range(300)]
            assert {source.read(5, 6) for source in sources} == {b"\5"}
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
