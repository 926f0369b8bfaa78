"""Extraction of objects into files: options, names, existing files, manifest."""

from shardcore.operations.description import ALL_PARTS, ANY_SIZE, AS_USUAL, NO_PARTS, Conflict, ExtractOptions
from shardcore.operations.extraction.files import (
    MANIFEST,
    Extracted,
    extract_objects,
    files_of,
    write_object,
)
from shardcore.operations.extraction.names import MAX_NAME_BYTES, Names
from shardcore.operations.extraction.selection import Extraction, extract, extract_each

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
    "Extraction",
    "Names",
    "extract",
    "extract_each",
    "extract_objects",
    "files_of",
    "write_object",
]
