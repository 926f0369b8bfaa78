"""Data Easy Store, shards of documents by uid and date, large ones in separate files: name, options, entry points."""

from shardcore.model.options import Option, OptionPurpose, OptionType, written
from shardcore.shards.format import Detail, Format, lazily
from shardcore.writing.declaration import KeyRule, Writes

FORMAT = Format(
    name="des",
    title="Data Easy Store",
    folder_title="DES archive",
    specification="https://github.com/dariuszduszynski/DES/blob/HEAD/docs/FORMAT.md",
    suffixes=(".des",),
    detect=lazily("shardcore.formats.des.detection:detect"),
    open=lazily("shardcore.formats.des.zones:open_shard"),
    folder_names=("*.des",),
    detect_folder=lazily("shardcore.formats.des.zones:detect_folder"),
    open_folder=lazily("shardcore.formats.des.zones:open_folder"),
    locate=lazily("shardcore.formats.des.routing:locate"),
    writes=Writes(
        create=lazily("shardcore.formats.des.writer:DesWriter"),
        purpose="Business documents by uid and date, many per shard; large ones are stored in separate files.",
        cannot="Without a sidecar, small contents have no checksum. Objects cannot be added to a written shard.",
        keys=KeyRule.PATH,
        key_form="any text of up to 65,535 bytes in UTF-8",
        check_key=lazily("shardcore.formats.des.writer:check_uid"),
        folder=True,
        members=("*.des", "*.meta"),
        settings=("sidecar",),
        checksum=lazily("shardcore.formats.des.writer:checksum_of"),
        uncompressed={"codec": "none"},
    ),
    edits={"tombstone": lazily("shardcore.formats.des.tombstones:tombstone")},
    options=(
        Option("deleted", OptionType.FLAG, "Include tombstoned (deleted) objects.", flag=""),
        Option("date", OptionType.TEXT, "Search only shards of this date (YYYY-MM-DD).", flag="DATE"),
        Option(
            "n_bits",
            OptionType.INTEGER,
            "Number of bits of a shard number, 4 to 16; default: inferred from the file names.",
            names_format=True,
        ),
        # Hidden in the window, which asks about each store instead.
        Option(
            "zones",
            OptionType.TEXT,
            "The zones file to open; its stores are trusted.",
            path=True,
            hidden=True,
            flag="FILE",
        ),
        Option("date", OptionType.TIME, "created_at of the object, ISO 8601 (date or time).", OptionPurpose.LOCATE),
        Option("n_bits", OptionType.INTEGER, "Number of bits of a shard number, 4 to 16.", OptionPurpose.LOCATE),
        Option("zones", OptionType.TEXT, "Zones file: its path, address or text.", OptionPurpose.LOCATE, path=True),
        written(
            "codec",
            OptionType.CHOICE,
            "Codec of contents; default: none.",
            default="none",
            choices=("none", "zstd", "lz4"),
        ),
        written("level", OptionType.INTEGER, "Level of the codec: zstd 1 to 22, default: 3; lz4 0 to 16."),
        written("threshold", OptionType.SIZE, "Longer contents become BigFiles; default: 10M.", "10M"),
        written("version", OptionType.CHOICE, "Layout of the entries; default: 2.", "2", ("2", "1")),
        written("skip", OptionType.TEXT, "Suffixes of uids whose contents are not compressed, such as .jpg,.zip."),
        written("n_bits", OptionType.INTEGER, "Folder: number of bits of a shard number, 4 to 16; default: 8.", 8),
        written(
            "max_bytes",
            OptionType.SIZE,
            "Folder: maximum of uncompressed bytes per shard; default: 1,000,000,000.",
            default=1_000_000_000,
        ),
        written(
            "date",
            OptionType.TIME,
            "created_at of objects that have none, in ISO 8601; a folder requires it.",
            proposed="now",
        ),
        written("sidecar", OptionType.FLAG, "Write a sidecar (.meta) with checksums per shard."),
        written("keep_date", OptionType.FLAG, "Also store created_at in the metadata.", proposed=True),
        Option("meta", OptionType.JSON, "Metadata of the object, a JSON object.", OptionPurpose.FACT),
        Option(
            "created_at", OptionType.TIME, "Creation time in ISO 8601; a folder routes by its date.", OptionPurpose.FACT
        ),
        Option(
            "codec", OptionType.CHOICE, "Codec of the content.", OptionPurpose.FACT, choices=("none", "zstd", "lz4")
        ),
    ),
    marks=(b"DES2",),
    details={
        "key_hex": Detail("key in hex"),
        "checksum": Detail("digest", "{checksum_algo} {}"),
        "checksum_algo": Detail(),
        "created_at": Detail("created"),
        "compressed_size": Detail(),
        "uncompressed_size": Detail(),
        "flags": Detail(),
    },
    summary={"dataset.n_bits": Detail("routing", "{} bits of the uid's number")},
    salvage=lazily("shardcore.formats.des.salvage:salvage"),
)
