"""Xet MDB shards: an index of files, xorbs and chunks."""

from shardcore.model.options import Option, OptionPurpose, OptionType
from shardcore.shards.format import Detail, Format, lazily
from shardcore.writing.declaration import KeyRule, Writes

FORMAT = Format(
    name="mdb",
    title="Xet MDB shard",
    folder_title="Xet MDB folder",
    specification="https://huggingface.co/docs/xet/shard",
    suffixes=(".mdb",),
    detect=lazily("shardcore.formats.mdb.shard:detect"),
    open=lazily("shardcore.formats.mdb.shard:open_shard"),
    folder_names=("*.mdb", "shard-cache", "shards", "xet"),
    detect_folder=lazily("shardcore.formats.mdb.folder:detect_folder"),
    open_folder=lazily("shardcore.formats.mdb.folder:open_folder"),
    writes=Writes(
        create=lazily("shardcore.formats.mdb.writer:MdbWriter"),
        purpose="Files cut into chunks by their content, each chunk stored once, in xorbs beside an index of them.",
        cannot="It keeps no names: a file is found by its hash; one shard has 64 MiB at most, a store has several.",
        keys=KeyRule.NONE,
        check_count=lazily("shardcore.formats.mdb.writer:check_count"),
        folder=True,
        members=("xet/shard-cache/*.mdb", "xet/xorbs/shards/*.mdb"),
        settings=("expiry",),
        checksum=lambda _: "blake3",
        uncompressed={"compression": "none"},
    ),
    edits={"rekey": lazily("shardcore.formats.mdb.rekey:rekey")},
    options=(
        Option("xorbs", OptionType.FOLDER, "The folder that holds the xorbs.", flag="DIR"),
        Option(
            "form",
            OptionType.CHOICE,
            "full, with lookup tables; minimal, as the server side keeps it; upload, as it travels; default: full.",
            OptionPurpose.WRITE,
            default="full",
            choices=("full", "minimal", "upload"),
        ),
        Option(
            "compression",
            OptionType.CHOICE,
            "How chunks are compressed: auto, what gives the fewest bytes for each; default: auto.",
            OptionPurpose.WRITE,
            default="auto",
            choices=("auto", "none", "lz4", "bg4"),
        ),
        Option(
            "xorbs",
            OptionType.TEXT,
            "The folder for xorbs, each named default.<hash>; default: xorbs beside the shard.",
            OptionPurpose.WRITE,
            path=True,
        ),
        Option(
            "expiry",
            OptionType.TEXT,
            "Until when clients use the shard: an ISO date, Unix seconds, or none; default: none.",
            OptionPurpose.WRITE,
        ),
        Option(
            "key",
            OptionType.TEXT,
            "The HMAC key under which chunk hashes are stored, 64 hex digits; default: no key.",
            OptionPurpose.WRITE,
        ),
        Option(
            "created",
            OptionType.TEXT,
            "When the shard was made: an ISO date or Unix seconds; default: not recorded.",
            OptionPurpose.WRITE,
        ),
        Option(
            "key",
            OptionType.TEXT,
            "The HMAC key under which the chunk hashes are put, 64 hex digits; default: as they are.",
            OptionPurpose.REKEY,
        ),
        Option(
            "expiry",
            OptionType.TEXT,
            "Until when clients use the new shard: an ISO date, Unix seconds, or none; default: as it is.",
            OptionPurpose.REKEY,
        ),
    ),
    begins=(b"HFRepoMetaData\0",),
    details={
        "codec": Detail("stored", "in a {}"),
        "verified": Detail("range hashes", yes="one for each segment", no="none"),
        "eligible": Detail("deduplication", yes="global: eligible", no="global: not eligible"),
        "keyed": Detail("hash stored", yes="under the HMAC key of the footer", no="as it is"),
        "chunk": Detail("place in xorb", "chunk {:,}"),
        "start": Detail("uncompressed offset", "{:#x}"),
        "segments": Detail("segments", "chunks {start:,}..{end:,} of xorb {xorb}, {bytes:,} bytes"),
    },
    summary={
        "footer.materialized_bytes": Detail("file contents", unit="byte"),
        "footer.stored_bytes": Detail("in xorbs", unit="byte"),
    },
    salvage=lazily("shardcore.formats.mdb.salvage:salvage"),
)
