"""The format `xorb`: containers of compressed chunks, referenced by MDB shards."""

from shardcore.model.options import Option, OptionPurpose, OptionType
from shardcore.shards.format import Format, lazily
from shardcore.writing.declaration import Dial, Instead, KeyRule, Without, Writes

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
        dial=Dial("compression", "Compression of each chunk.", ("none", "lz4", "bg4", "auto"), "auto"),
        codecs={"none": {"compression": "none"}},
        usual_codec="auto: none, lz4 or bg4",
        without={
            "append": Without(
                Instead.BESIDE, "A xorb is named by the hash of its chunks, so new chunks go into a new xorb."
            ),
            "delete": Without(Instead.NEVER, "Shards refer to chunks by number, so none can be removed."),
        },
    ),
    options=(
        Option(
            "compression",
            OptionType.CHOICE,
            "Compression of chunks; auto keeps the smallest result per chunk; default: auto.",
            OptionPurpose.WRITE,
            default="auto",
            choices=("auto", "none", "lz4", "bg4"),
        ),
        Option(
            "cut",
            OptionType.FLAG,
            "Cut inputs into chunks; with `no`, each input is one chunk; default: yes.",
            OptionPurpose.WRITE,
            default=True,
        ),
        Option("chunks", OptionType.JSON, "Uncompressed sizes of the content's chunks, in bytes.", OptionPurpose.FACT),
    ),
    peers=lazily("shardcore.formats.xorb.other_readers:peers"),
    salvage=lazily("shardcore.formats.xorb.salvage:salvage"),
)
