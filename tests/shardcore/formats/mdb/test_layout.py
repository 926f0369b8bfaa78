"""The bytes of a shard: published vectors built from the layouts, geometry, flavours, the walk."""

from __future__ import annotations

from typing import Any

import pytest

from shardcore.formats.mdb.layout import FILE_HEADER, FOOTER, NO_EXPIRY, file_steps, locate


def footer(**fields: Any) -> bytes:
    at = fields["footer_offset"]
    offsets = {f"{kind}_lookup_offset": at for kind in ("file", "xorb", "chunk")}
    return FOOTER.pack(**(offsets | fields))


@pytest.mark.parametrize(
    ("times", "flavour"),
    [
        ({"shard_creation_timestamp": 5, "shard_key_expiry": 9}, "full"),
        ({"shard_creation_timestamp": 0, "shard_key_expiry": NO_EXPIRY}, "session"),
        ({"shard_creation_timestamp": 0, "shard_key_expiry": 9}, "session"),
    ],
)
def test_flavours_with_tables(times: dict[str, int], flavour: str) -> None:
    fields = {"file_lookup_offset": 96, "file_lookup_num_entry": 1, "xorb_lookup_offset": 108}
    end = footer(cas_info_offset=48, footer_offset=108, **(fields | times))
    data = FOOTER.read_one(end)
    assert locate(308, {"footer_size": 200}, data).flavour == ("full" if flavour == "full" else "session")


def test_steps_do_not_wrap() -> None:
    row = FILE_HEADER.read(FILE_HEADER.pack(num_entries=0xFFFFFFFF, file_flags=0xC0000000))
    assert file_steps(row).tolist() == [2 * 0xFFFFFFFF + 2]
