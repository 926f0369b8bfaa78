"""How it is printed who leads to a byte."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from shardcore.model.number_words import plural

if TYPE_CHECKING:
    from shardcore.operations.references import Leads


def leads_json(leads: Leads) -> dict[str, Any]:
    """What leads there, and how many others there are."""
    found = [
        {"span": lead.span.to_json(), "names": list(lead.names), "target": lead.target.to_json(), "why": lead.why}
        for lead in leads.found
    ]
    return {"leads": found, "more": leads.more}


def lead_lines(leads: Leads) -> Iterator[str]:
    """The same, for people."""
    if not leads.found:
        yield "Nothing leads here."
        return
    yield "Who leads here:"
    for lead in leads.found:
        names = " › ".join(lead.names)
        yield f"  bytes {lead.span}: {names}" if names else f"  bytes {lead.span}"
        yield f"    {lead.why} → bytes {lead.target}"
    if leads.more:
        yield f"  and {plural(leads.more, 'other')}"
