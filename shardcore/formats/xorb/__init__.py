"""The format `xorb`: containers of compressed chunks, referenced by MDB shards."""

from shardcore.model.options import Option, OptionPurpose, OptionType, written
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
        purpose="Chunks of files, compressed one by one, that MDB shards refer to.",
        cannot="It stores chunks only, no files and no names: at most 8,192 chunks and 64 MiB.",
        keys=KeyRule.NONE,
        checksum=lambda _: "blake3",
        uncompressed={"compression": "none"},
    ),
    options=(
        written(
            "compression",
            OptionType.CHOICE,
            "Compression of chunks; auto keeps the smallest result per chunk; default: auto.",
            default="auto",
            choices=("auto", "none", "lz4", "bg4"),
        ),
        written(
            "cut",
            OptionType.FLAG,
            "Cut inputs into chunks; with `no`, each input is one chunk; default: yes.",
            default=True,
        ),
        Option("chunks", OptionType.JSON, "Uncompressed sizes of the content's chunks, in bytes.", OptionPurpose.FACT),
    ),
    salvage=lazily("shardcore.formats.xorb.salvage:salvage"),
)
