"""Xet xorbs: the containers of chunks that MDB shards point at."""

from shardcore.format import Format
from shardcore.formats.xorb.shard import detect, infer, open_shard

FORMAT = Format(
    name="xorb",
    title="Xet xorb",
    suffixes=(".xorb",),
    detect=detect,
    open=open_shard,
    infer=infer,
)
