"""What becomes of old bytes, told before an edit is made."""

from __future__ import annotations

from shardcore.model.number_words import plural
from shardcore.writing.in_place import Edit
from shardcore.writing.undo import kept_of


def kept_text(edit: Edit, *, keep: bool) -> str:
    """What becomes of the old bytes, and of what can be undone so far, as a part of a sentence.

    Args:
        edit: The edit.
        keep: Whether the old bytes are kept.

    Raises:
        UsageError: What has the name of the journal is something else.
        SourceError: The journal or the file cannot be read.
    """
    journal, earlier = f"{edit.path.name}.undo", kept_of(edit.path)
    if not keep:
        stays = f", but {journal} still has those of an earlier edit" if earlier != 0 else ""
        return f"no copy of the old bytes is kept{stays}"
    if earlier is None:
        return f"the old bytes are kept in {journal}, whose own bytes are about another file and go"
    first = f"; {plural(earlier, 'edit')} before it can be undone afterwards" if earlier else ""
    return f"the old bytes are kept in {journal}{first}"
