"""Xet xorbs: the containers of chunks that MDB shards point at."""

from shardcore.format import Format, lazily

FORMAT = Format(
    name="xorb",
    title="Xet xorb",
    suffixes=(".xorb",),
    detect=lazily("shardcore.formats.xorb.shard:detect"),
    open=lazily("shardcore.formats.xorb.shard:open_shard"),
    infer=lazily("shardcore.formats.xorb.shard:infer"),
)
