"""Codecs for shard files: read, explain, look up, verify and write them. No Qt, ever.

The public names come from the modules below when they are first used: `import shardcore` alone loads next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shardcore.errors import (
        BadChecksum,
        BadMagic,
        BudgetSpent,
        Cancelled,
        ClockSkewed,
        ConnectionFailed,
        CredentialsRefused,
        ExternalMissing,
        Forbidden,
        FormatError,
        HostUnknown,
        KeyAbsent,
        LimitExceeded,
        NoSuchObject,
        NotAShard,
        ProxyFailed,
        RangeRefused,
        Remedy,
        RemoteError,
        ServerFailed,
        ShardError,
        SourceChanged,
        SourceError,
        StoreUntrusted,
        TimedOut,
        TlsFailed,
        Truncated,
        Unsupported,
        UsageError,
        WrongRegion,
    )
    from shardcore.model.drawing import Control, Drawing, Item, Sketch
    from shardcore.model.finding import Depth, Finding, Report, Severity
    from shardcore.model.keys import Key
    from shardcore.model.node import Node
    from shardcore.model.objects import ObjectColumns, ObjectRef, Objects, ObjectSlice, State
    from shardcore.model.record import Columns, Field, FieldRole, Record
    from shardcore.model.runs import Runs
    from shardcore.model.section import Section, SectionRole
    from shardcore.model.span import Span
    from shardcore.operations.convert import KeyChoice, convert, extract
    from shardcore.operations.edit import EditResult, append, delete, rekey, tombstone, truncate, undo
    from shardcore.operations.extraction import Conflict, Extracted, Extraction, ExtractOptions
    from shardcore.operations.pack import Packed, pack
    from shardcore.shards.dataset import DataSet, Member
    from shardcore.shards.registry import Detection, create, detect, open
    from shardcore.shards.shard import Shard
    from shardcore.shards.trace import Step, Trace
    from shardcore.sources.base import Folder, Source
    from shardcore.sources.local import FileSource, LocalFolder
    from shardcore.sources.memory import BytesSource
    from shardcore.sources.remote.options import RemoteOptions
    from shardcore.sources.remote.request_log import Request, RequestLog
    from shardcore.teaching.drawing.notebook import picture_of
    from shardcore.writing.in_place import Rewrite
    from shardcore.writing.plan import Plan, PlannedFile, WrittenFile
    from shardcore.writing.undo import purge
    from shardcore.writing.writer import Sized, Writer

__version__ = "0.1.0"

__all__ = [
    "BadChecksum",
    "BadMagic",
    "BudgetSpent",
    "BytesSource",
    "Cancelled",
    "ClockSkewed",
    "Columns",
    "Conflict",
    "ConnectionFailed",
    "Control",
    "CredentialsRefused",
    "DataSet",
    "Depth",
    "Detection",
    "Drawing",
    "EditResult",
    "ExternalMissing",
    "ExtractOptions",
    "Extracted",
    "Extraction",
    "Field",
    "FieldRole",
    "FileSource",
    "Finding",
    "Folder",
    "Forbidden",
    "FormatError",
    "HostUnknown",
    "Item",
    "Key",
    "KeyAbsent",
    "KeyChoice",
    "LimitExceeded",
    "LocalFolder",
    "Member",
    "NoSuchObject",
    "Node",
    "NotAShard",
    "ObjectColumns",
    "ObjectRef",
    "ObjectSlice",
    "Objects",
    "Packed",
    "Plan",
    "PlannedFile",
    "ProxyFailed",
    "RangeRefused",
    "Record",
    "Remedy",
    "RemoteError",
    "RemoteOptions",
    "Report",
    "Request",
    "RequestLog",
    "Rewrite",
    "Runs",
    "Section",
    "SectionRole",
    "ServerFailed",
    "Severity",
    "Shard",
    "ShardError",
    "Sized",
    "Sketch",
    "Source",
    "SourceChanged",
    "SourceError",
    "Span",
    "State",
    "Step",
    "StoreUntrusted",
    "TimedOut",
    "TlsFailed",
    "Trace",
    "Truncated",
    "Unsupported",
    "UsageError",
    "Writer",
    "WrittenFile",
    "WrongRegion",
    "__version__",
    "append",
    "convert",
    "create",
    "delete",
    "detect",
    "extract",
    "open",
    "pack",
    "picture_of",
    "purge",
    "rekey",
    "tombstone",
    "truncate",
    "undo",
]

# The same for the interpreter: the modules, and the names that come from them.
_NAMES = {
    "operations.convert": "KeyChoice convert extract",
    "shards.dataset": "DataSet Member",
    "model.drawing": "Control Drawing Item Sketch",
    "teaching.drawing.notebook": "picture_of",
    "operations.edit": "EditResult append delete rekey tombstone truncate undo",
    "errors": "BadChecksum BadMagic BudgetSpent Cancelled ClockSkewed ConnectionFailed CredentialsRefused "
    "ExternalMissing Forbidden FormatError HostUnknown KeyAbsent LimitExceeded NoSuchObject NotAShard ProxyFailed "
    "RangeRefused Remedy RemoteError ServerFailed ShardError SourceChanged SourceError StoreUntrusted TimedOut "
    "TlsFailed Truncated Unsupported UsageError WrongRegion",
    "operations.extraction": "Conflict ExtractOptions Extracted Extraction",
    "model.finding": "Depth Finding Report Severity",
    "model.keys": "Key",
    "model.node": "Node",
    "model.runs": "Runs",
    "model.section": "Section SectionRole",
    "model.objects": "ObjectColumns ObjectRef Objects ObjectSlice State",
    "operations.pack": "Packed pack",
    "model.record": "Columns Field FieldRole Record",
    "shards.registry": "Detection create detect open",
    "shards.shard": "Shard",
    "sources.base": "Folder Source",
    "sources.local": "FileSource LocalFolder",
    "sources.memory": "BytesSource",
    "sources.remote.options": "RemoteOptions",
    "sources.remote.request_log": "Request RequestLog",
    "model.span": "Span",
    "shards.trace": "Step Trace",
    "writing.in_place": "Rewrite",
    "writing.plan": "Plan PlannedFile WrittenFile",
    "writing.undo": "purge",
    "writing.writer": "Sized Writer",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}


if not TYPE_CHECKING:  # or a name that is not there would pass for one

    def __getattr__(name: str) -> Any:
        """A public name on its first use."""
        module = _MODULE_OF.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{module}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """The public names, also those that nobody has used yet."""
    return sorted({*globals(), *__all__})
