"""The page of the format."""

from pathlib import Path
from typing import ClassVar

from shardcore.codecs.xet import xorb_layout as layout
from shardcore.model.record import Record
from shardcore.testing import PageContract


class TestXorbPage(PageContract):
    page: ClassVar = Path(__file__).parents[4] / "docs" / "formats" / "xorb.md"
    layouts: ClassVar = {found.name: found for found in vars(layout).values() if isinstance(found, Record)}
