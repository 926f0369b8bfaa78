"""Xet xorbs: the containers of chunks that MDB shards point at."""

from shardcore.model.options import Option, OptionPurpose, OptionType
from shardcore.shards.format import Format, lazily
from shardcore.writing.declaration import KeyRule, Writes

FORMAT = Format(
    name="xorb",
    title="Xet xorb",
    specification="https://huggingface.co/docs/xet/xorb",
    suffixes=(".xorb",),
    detect=lazily("shardcore.formats.xorb.shard:detect"),
    open=lazily("shardcore.formats.xorb.shard:open_shard"),
    infer=lazily("shardcore.formats.xorb.shard:infer"),
    writes=Writes(
        create=lazily("shardcore.formats.xorb.writer:XorbWriter"),
        purpose="The chunks of files, compressed one by one, for shards (mdb) to point at.",
        cannot="It keeps no names and no files, only their chunks: 8,192 at most, and 64 MiB.",
        keys=KeyRule.NONE,
        checksum=lambda _: "blake3",
        uncompressed={"compression": "none"},
    ),
    options=(
        Option(
            "compression",
            OptionType.CHOICE,
            "How chunks are compressed: auto, what gives the fewest bytes for each; default: auto.",
            OptionPurpose.WRITE,
            default="auto",
            choices=("auto", "none", "lz4", "bg4"),
        ),
        Option(
            "cut",
            OptionType.FLAG,
            "Cut inputs into chunks; with `no`, each is one chunk as it is; default: yes.",
            OptionPurpose.WRITE,
            default=True,
        ),
        Option(
            "chunks", OptionType.JSON, "The bytes of each chunk of a content, a list of numbers.", OptionPurpose.FACT
        ),
    ),
    salvage=lazily("shardcore.formats.xorb.salvage:salvage"),
)
