"""Software Heritage Read Shard: many small objects, found through a perfect hash function."""

from shardcore.format import Format, lazily
from shardcore.options import Option, OptionType, Purpose

FORMAT = Format(
    name="swh",
    title="Software Heritage Read Shard",
    suffixes=(".shard",),
    detect=lazily("shardcore.formats.swh.shard:detect"),
    open=lazily("shardcore.formats.swh.shard:open_shard"),
    detect_folder=lazily("shardcore.formats.swh.folder:detect_folder"),
    open_folder=lazily("shardcore.formats.swh.folder:open_folder"),
    create=lazily("shardcore.formats.swh.writer:SwhWriter"),
    options=(
        Option(
            "seed",
            OptionType.INTEGER,
            "The first seed tried for the hash function, 0 to 2^32 - 1; 1 unless given.",
            Purpose.WRITE,
        ),
    ),
    begins=(b"SWHShard",),
)
