"""Software Heritage Read Shard: many small objects, found through a perfect hash function."""

from shardcore.format import Format
from shardcore.formats.swh.shard import detect, open_shard
from shardcore.formats.swh.writer import SwhWriter
from shardcore.options import Option, OptionType, Purpose

FORMAT = Format(
    name="swh",
    title="Software Heritage Read Shard",
    suffixes=(".shard",),
    detect=detect,
    open=open_shard,
    create=SwhWriter,
    options=(
        Option("seed", OptionType.INTEGER, "The first seed tried for the hash function, 0 to 2^32 - 1.", Purpose.WRITE),
    ),
)
