"""Codecs for shard files: read, explain, look up, verify and write them. No Qt, ever."""

from shardcore.dataset import DataSet, Member
from shardcore.errors import (
    BadChecksum,
    BadMagic,
    Cancelled,
    ExternalMissing,
    FormatError,
    KeyAbsent,
    LimitExceeded,
    NotAShard,
    ShardError,
    SourceChanged,
    SourceError,
    Truncated,
    Unsupported,
    UsageError,
)
from shardcore.finding import Depth, Finding, Report, Severity
from shardcore.nodes.node import Node
from shardcore.nodes.runs import Runs
from shardcore.nodes.sections import Section, SectionRole
from shardcore.objects import ObjectColumns, ObjectRef, Objects, State
from shardcore.record import Columns, Field, FieldRole, Record
from shardcore.registry import Detection, create, detect, open
from shardcore.shard import Shard
from shardcore.sources.base import Folder, Source
from shardcore.sources.local import FileSource, LocalFolder
from shardcore.sources.memory import BytesSource
from shardcore.span import Span
from shardcore.trace import Step, Trace
from shardcore.writing.plan import Plan, PlannedFile, WrittenFile
from shardcore.writing.writer import Writer

__version__ = "0.1.0"

__all__ = [
    "BadChecksum",
    "BadMagic",
    "BytesSource",
    "Cancelled",
    "Columns",
    "DataSet",
    "Depth",
    "Detection",
    "ExternalMissing",
    "Field",
    "FieldRole",
    "FileSource",
    "Finding",
    "Folder",
    "FormatError",
    "KeyAbsent",
    "LimitExceeded",
    "LocalFolder",
    "Member",
    "Node",
    "NotAShard",
    "ObjectColumns",
    "ObjectRef",
    "Objects",
    "Plan",
    "PlannedFile",
    "Record",
    "Report",
    "Runs",
    "Section",
    "SectionRole",
    "Severity",
    "Shard",
    "ShardError",
    "Source",
    "SourceChanged",
    "SourceError",
    "Span",
    "State",
    "Step",
    "Trace",
    "Truncated",
    "Unsupported",
    "UsageError",
    "Writer",
    "WrittenFile",
    "__version__",
    "create",
    "detect",
    "open",
]
