"""One open file with all that the window knows of it. No Qt here."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from shardcore import Objects, Report, Shard, Span
from shardscope.session.highlights import Highlight, ReferenceQuery
from shardscope.session.lookup_steps import TraceWalk
from shardscope.session.open_request import OpenRequest
from shardscope.session.selection import History, Selection

_numbers = itertools.count(1)


class IndexState(Enum):
    NONE = "none"
    LOADING = "loading"
    LOADED = "loaded"
    FAILED = "failed"


@dataclass(eq=False, repr=False)
class Document:
    """One open file, and the scope of its jobs. It keeps all of this while another document is shown.

    Attributes:
        number: Order of opening, which is the order of the tabs.
        shard: None while nothing is open in it.
        fresh: Whether it was not shown yet; then `select` are the bytes to select.
        typed: While it is shown: the shard with bytes that are being typed, which jobs read instead.
        listing: The objects, once their number is known, so that `len` does not read.
        trouble: Error of its source, which was changed or became unavailable.
        held: Whether changes of the file are ignored, since the program writes it.
        agreed: Reads of many bytes to which the user agreed.
        caret: Start of the last selected bytes; stays when nothing is selected.
        pointed: Bytes highlighted instead of those of the lookup step.
        views: State of the views, by name, while it is not shown; likewise `unsaved`.
        mail: Results of its jobs, to deliver when it is shown.
    """

    request: OpenRequest = field(default_factory=lambda: OpenRequest(""))
    number: int = field(default_factory=lambda: next(_numbers))
    shard: Shard | None = None
    fresh: bool = True
    select: Span | None = None
    typed: Shard | None = None
    listing: Objects | None = None
    index: IndexState = IndexState.NONE
    trouble: BaseException | None = None
    held: bool = False
    agreed: set[str] = field(default_factory=set)
    selection: Selection = field(default_factory=Selection)
    caret: Span | None = None
    history: History = field(default_factory=History)
    walk: TraceWalk = field(default_factory=TraceWalk)
    pointed: tuple[Highlight, ...] = ()
    question: ReferenceQuery | None = None
    report: Report | None = None
    unsaved: bool = False
    views: dict[str, object] = field(default_factory=dict)
    mail: list[Callable[[], object]] = field(default_factory=list)

    def reset(self) -> None:
        """Forget all but the request and the number."""
        vars(self).update(vars(Document(self.request, self.number)))

    @property
    def troubled(self) -> bool:
        return self.trouble is not None or (self.shard is not None and self.shard.damage is not None)
