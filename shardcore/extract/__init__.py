"""Taking objects out into files: how, under which names, what is there already, and a manifest of it all."""

from shardcore.extract.files import ANY_SIZE, Extracted, extract, files_of, write_object
from shardcore.extract.manifest import MANIFEST, Manifest
from shardcore.extract.names import MAX_NAME_BYTES, Names
from shardcore.extract.options import ALL_PARTS, AS_USUAL, NO_PARTS, Conflict, ExtractOptions

__all__ = [
    "ALL_PARTS",
    "ANY_SIZE",
    "AS_USUAL",
    "MANIFEST",
    "MAX_NAME_BYTES",
    "NO_PARTS",
    "Conflict",
    "ExtractOptions",
    "Extracted",
    "Manifest",
    "Names",
    "extract",
    "files_of",
    "write_object",
]
