"""The page of the format."""

from pathlib import Path
from typing import ClassVar

from shardcore.formats.swh import layout
from shardcore.testing import PageContract


class TestSwhPage(PageContract):
    page: ClassVar = Path(__file__).parents[4] / "docs" / "formats" / "swh.md"
    layouts: ClassVar = {
        record.name: record
        for record in (
            layout.HEADER,
            layout.OBJECT,
            layout.SLOT,
            layout.HASH_HEAD,
            layout.HASH_TAIL,
            layout.DIRECTORY_ENTRY,
        )
    }
