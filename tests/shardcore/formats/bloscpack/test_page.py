from pathlib import Path
from typing import ClassVar

from shardcore.formats.bloscpack import layout
from shardcore.testing import PageContract


class TestBloscpackPage(PageContract):
    page: ClassVar = Path(__file__).parents[4] / "docs" / "formats" / "bloscpack.md"
    layouts: ClassVar = {
        **{f"header, version {version}": record for version, record in layout.HEADERS.items()},
        **{
            record.name: record
            for record in (
                layout.METADATA_HEADER,
                layout.OFFSET,
                layout.CHUNK_HEADER,
                layout.BLOCK_START,
                layout.STREAM_LENGTH,
            )
        },
    }
