"""Bloscpack, versions 1, 2 and 3, and the bcolz folders that hold such files."""

from shardcore.format import Format, lazily
from shardcore.options import Option, OptionType, Purpose
from shardcore.writing.declared import Dial, Instead, KeyRule, Without, Writes

FORMAT = Format(
    name="bloscpack",
    title="Bloscpack",
    suffixes=(".blp",),
    detect=lazily("shardcore.formats.bloscpack.shard:detect"),
    open=lazily("shardcore.formats.bloscpack.shard:open_shard"),
    head_names=r".+\.blp",
    folder_names=("__rootdirs__", "meta", "*.blp"),
    detect_folder=lazily("shardcore.formats.bloscpack.folder:detect_folder"),
    open_folder=lazily("shardcore.formats.bloscpack.folder:open_folder"),
    writes=Writes(
        create=lazily("shardcore.formats.bloscpack.writer:BloscpackWriter"),
        purpose="One array or dump for each file, compressed in chunks that can be read one by one.",
        cannot="It has no keys: a file holds one content, so that several inputs become a folder of files.",
        keys=KeyRule.NONE,
        folder=True,
        members=("**/*.blp",),
        single=True,
        dial=Dial(
            "chunk_size",
            "Plain bytes of a chunk: what is read at least, and what is compressed together.",
            ("1K", "4K", "16K", "64K", "256K", "1M"),
            "1M",
        ),
        without={"delete": Without(Instead.REMOVE, "A file is one content: to delete that is to remove the file.")},
    ),
    edits={"append": lazily("shardcore.formats.bloscpack.append:append")},
    options=(
        Option(
            "codec",
            OptionType.CHOICE,
            "What compresses; blosclz unless given.",
            Purpose.WRITE,
            default="blosclz",
            choices=("blosclz", "lz4", "lz4hc", "zlib", "zstd"),
        ),
        Option(
            "level", OptionType.INTEGER, "0, nothing is compressed, to 9; 7 unless given.", Purpose.WRITE, default=7
        ),
        Option(
            "shuffle",
            OptionType.CHOICE,
            "Whether bytes are sorted by their place in the element; byte unless given. Bits cannot be: Blosc 2, which "
            "compresses here, lays them out in another way, and readers of Blosc 1 would get wrong bytes.",
            Purpose.WRITE,
            default="byte",
            choices=("byte", "none"),
        ),
        Option(
            "typesize",
            OptionType.INTEGER,
            "Bytes of an element, 1 to 255; those of the array's type, else 8, unless given.",
            Purpose.WRITE,
        ),
        Option(
            "chunk_size",
            OptionType.SIZE,
            "Plain bytes of every chunk but the last, rounded down to whole elements; 1M unless given.",
            Purpose.WRITE,
            default="1M",
        ),
        Option(
            "checksum",
            OptionType.CHOICE,
            "The digest after every chunk; adler32 unless given.",
            Purpose.WRITE,
            default="adler32",
            choices=("None", "adler32", "crc32", "md5", "sha1", "sha224", "sha256", "sha384", "sha512"),
        ),
        Option(
            "offsets",
            OptionType.FLAG,
            "Write a table of where each chunk begins; yes unless given.",
            Purpose.WRITE,
            default=True,
        ),
        Option(
            "spare",
            OptionType.INTEGER,
            "Spare slots in that table, for chunks that are appended later; ten for each chunk unless given.",
            Purpose.WRITE,
        ),
        Option(
            "metadata",
            OptionType.JSON,
            "A file with JSON, or JSON text, that every file stores; an array's own members come first.",
            Purpose.WRITE,
        ),
        Option(
            "metadata_codec",
            OptionType.CHOICE,
            "How the metadata is stored; zlib unless given, and none where zlib makes it longer.",
            Purpose.WRITE,
            default="zlib",
            choices=("none", "zlib"),
        ),
        Option("dtype", OptionType.JSON, "Type of an element of the array, such as <f8.", Purpose.FACT),
        Option("shape", OptionType.JSON, "Elements along each axis of the array, a list.", Purpose.FACT),
        Option(
            "order",
            OptionType.CHOICE,
            "Whether the last axis (C) or the first (F) is fastest.",
            Purpose.FACT,
            choices=("C", "F"),
        ),
        Option("metadata", OptionType.JSON, "Metadata besides that of an array.", Purpose.FACT),
        Option(
            "isolated",
            OptionType.FLAG,
            "Decompress chunks in a process of their own, so that one that kills its decoder kills nothing else.",
            hidden=True,
        ),
    ),
    begins=(b"blpk",),
    peers=lazily("shardcore.formats.bloscpack.peers:peers"),
    salvage=lazily("shardcore.formats.bloscpack.salvage:salvage"),
)
