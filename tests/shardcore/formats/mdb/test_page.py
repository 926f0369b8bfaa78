"""The page of the format."""

from pathlib import Path
from typing import ClassVar

from shardcore.formats.mdb import layout
from shardcore.record import Record
from shardcore.testing import PageContract


class TestMdbPage(PageContract):
    """`docs/formats/mdb.md`."""

    page: ClassVar = Path(__file__).parents[4] / "docs" / "formats" / "mdb.md"
    layouts: ClassVar = {found.name: found for found in vars(layout).values() if isinstance(found, Record)}
