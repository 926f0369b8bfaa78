"""The format `mdb`: Xet shards, an index of files, xorbs and chunks."""

from shardcore.model.options import Option, OptionPurpose, OptionType, written
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
        purpose="Files are cut into chunks by content; each chunk is stored once, in xorbs that the shard indexes.",
        cannot="It stores no names: files are found by hash. A shard has at most 64 MiB; a folder can have several.",
        keys=KeyRule.NONE,
        check_count=lazily("shardcore.formats.mdb.writer:check_count"),
        folder=True,
        members=("xet/shard-cache/*.mdb", "xet/xorbs/shards/*.mdb"),
        settings=("expiry",),
        checksum=lambda _: "blake3",
        uncompressed={"compression": "none"},
    ),
    edits={"rekey": lazily("shardcore.formats.mdb.writer:rekey")},
    options=(
        Option("xorbs", OptionType.FOLDER, "Folder that contains the xorbs.", flag="DIR"),
        written(
            "form",
            OptionType.CHOICE,
            "full (with lookup tables), minimal (as stored by servers) or upload (as sent by clients); default: full.",
            default="full",
            choices=("full", "minimal", "upload"),
        ),
        written(
            "compression",
            OptionType.CHOICE,
            "Compression of chunks; auto keeps the smallest result per chunk; default: auto.",
            default="auto",
            choices=("auto", "none", "lz4", "bg4"),
        ),
        written(
            "xorbs",
            OptionType.TEXT,
            "Folder for xorbs, each named default.<hash>; default: xorbs, in the folder of the shard.",
            path=True,
        ),
        written("expiry", OptionType.TEXT, "Expiry for clients: ISO 8601, Unix seconds or none; default: none."),
        written("key", OptionType.TEXT, "HMAC key of the chunk hashes, 64 hex digits; default: no key."),
        written(
            "created",
            OptionType.TIME,
            "Creation time: ISO 8601 or Unix seconds; default: not recorded.",
            proposed="now",
        ),
        Option(
            "key",
            OptionType.TEXT,
            "New HMAC key of the chunk hashes, 64 hex digits; default: unchanged.",
            OptionPurpose.REKEY,
        ),
        Option(
            "expiry",
            OptionType.TEXT,
            "New expiry for clients: ISO 8601, Unix seconds or none; default: unchanged.",
            OptionPurpose.REKEY,
        ),
    ),
    begins=(b"HFRepoMetaData\0",),
    details={
        "codec": Detail("stored", "in a {}"),
        "verified": Detail("range hashes", yes="one for each segment", no="none"),
        "eligible": Detail("deduplication", yes="global: eligible", no="global: not eligible"),
        "keyed": Detail("hash", yes="keyed with the footer's HMAC key", no="not keyed"),
        "chunk": Detail("position in xorb", "chunk {:,}"),
        "start": Detail("uncompressed offset", "{:#x}"),
        "segments": Detail("segments", "chunks {start:,}..{end:,} of xorb {xorb}, {bytes:,} bytes"),
    },
    summary={
        "footer.materialized_bytes": Detail("file contents", unit="byte"),
        "footer.stored_bytes": Detail("in xorbs", unit="byte"),
    },
    salvage=lazily("shardcore.formats.mdb.salvage:salvage"),
)
