"""Extraction of objects into files: options, names, existing files, manifest."""

from shardcore.operations.description import ALL_PARTS as ALL_PARTS
from shardcore.operations.description import AS_USUAL as AS_USUAL
from shardcore.operations.description import NO_PARTS as NO_PARTS
from shardcore.operations.description import Conflict as Conflict
from shardcore.operations.description import ExtractOptions as ExtractOptions
from shardcore.operations.extraction.files import MANIFEST as MANIFEST
from shardcore.operations.extraction.files import Extracted as Extracted
from shardcore.operations.extraction.files import extract_objects as extract_objects
from shardcore.operations.extraction.files import files_of as files_of
from shardcore.operations.extraction.files import write_object as write_object
from shardcore.operations.extraction.names import Names as Names
from shardcore.operations.extraction.selection import Extraction as Extraction
from shardcore.operations.extraction.selection import extract as extract
from shardcore.operations.extraction.selection import extract_each as extract_each
