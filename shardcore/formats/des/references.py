"""References to the BigFiles of a shard."""

from __future__ import annotations

from shardcore.formats.des.file import DesFile
from shardcore.formats.des.layout import BIGFILES
from shardcore.model.references import Reference, ReferenceCollector
from shardcore.model.source_name import SourceName
from shardcore.model.span import Span


def gather(file: DesFile, into: ReferenceCollector) -> None:
    entries, span = file.entries, into.span
    name = SourceName.parse(span.source)
    if name.path.startswith(f"{BIGFILES}/") and not name.stretches:
        rows = entries.rows_of_hash(name.path.rpartition("/")[2].encode("utf-8", "replace"))
        target = Span(span.source, 0, span.stop)
        why = "This entry names the BigFile by its hash."
        into.add_rows(rows.tolist(), lambda row: Reference(entries.span(row), target, why))
