"""Selection in the current document: a job finds the nodes and object of each selection, then views are notified."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

from shardcore import Node, Span
from shardcore.dataclasses import replace
from shardscope.session.display_text import error_text
from shardscope.session.documents import Documents
from shardscope.session.selection import Selection, resolve

LATE_MILLISECONDS = 150
"""Time after which views are notified of a selection although its nodes and object are not found yet."""


class Selector(QObject):
    """Changes the selection of the document at once; `changed` follows when its nodes and object are found."""

    changed = Signal(object)
    """Carries the complete `Selection`; an incomplete one if resolving it takes longer than 150 ms, and on closing."""
    begun = Signal(object)
    """Carries the incomplete `Selection` at once, for views of bytes; other views wait for `changed`."""
    history_changed = Signal()

    def __init__(self, documents: Documents) -> None:
        super().__init__(documents)
        self._documents = documents
        self._ways = (False, False)
        self._late = QTimer(self, singleShot=True, interval=LATE_MILLISECONDS)
        self._late.timeout.connect(lambda: self.changed.emit(self._documents.current.selection))
        documents.arrived.connect(self._arrive)
        documents.closed.connect(self._closed)

    def _arrive(self, select: Span | None) -> None:
        shard = self._documents.current.shard
        assert shard is not None
        span = select or (shard.damage.span if shard.damage is not None else None)
        if span is None:
            self.select_nothing(self)
            return
        if shard.source is not None and not span.source:
            # Findings may be past the end of the file, and a reloaded file may be shorter.
            start = min(span.start, max(shard.source.size - 1, 0))
            span = Span("", start, max(min(span.stop, shard.source.size), start))
        self.select_span(span, self)

    def _closed(self) -> None:
        self._note_ways()
        # Hidden panels must not be shown a selection of the closed file.
        self._announce(self._documents.current.selection)

    def announce(self) -> None:
        self._note_ways()
        document = self._documents.current
        document.selection = chosen = replace(document.selection, origin=self)
        if chosen.complete:
            self.changed.emit(chosen)
        elif not chosen.is_file:
            self._resolve()

    # --- selecting ---

    def select_span(self, span: Span, origin: object = None, *, remember: bool = True) -> None:
        self._select(Selection(span, origin=origin), remember=remember)

    def select_row(self, row: int, origin: object = None) -> None:
        listing = self._documents.current.listing
        if row >= 0 and (listing is None or row < len(listing)):
            self._select(Selection(None, row, origin=origin))

    def select_node(self, path: tuple[Node, ...], origin: object = None) -> None:
        if len(path) == 1:
            self._select(Selection(None, None, path, complete=True, origin=origin))
        elif path:
            self._select(Selection(path[-1].span, None, path, origin=origin))

    def select_nothing(self, origin: object = None) -> None:
        self._select(Selection(complete=True, origin=origin), remember=False)

    def back(self) -> None:
        self._travel(-1)

    def forward(self) -> None:
        self._travel(1)

    @property
    def can_go_back(self) -> bool:
        return self._documents.current.history.can_go(-1)

    @property
    def can_go_forward(self) -> bool:
        return self._documents.current.history.can_go(1)

    def _travel(self, step: int) -> None:
        history = self._documents.current.history
        if history.can_go(step):
            place = history.go(step)
            self._select(replace(place, complete=place.is_file, origin=self), remember=False)

    def _select(self, chosen: Selection, *, remember: bool = True) -> None:
        document = self._documents.current
        if document.shard is None:
            return
        self._set(chosen)
        if remember:
            document.history.add(chosen)
        else:
            document.history.leave(chosen)
        self._note_ways()
        if chosen.complete:
            self._announce(chosen)
        else:
            self.begun.emit(chosen)
            self._resolve()

    def _note_ways(self) -> None:
        ways = self.can_go_back, self.can_go_forward
        if ways != self._ways:
            self._ways = ways
            self.history_changed.emit()

    def _set(self, chosen: Selection) -> None:
        document = self._documents.current
        document.selection = chosen
        if (span := chosen.span) is not None:
            document.caret = Span(span.source, span.start, span.start)

    def _announce(self, chosen: Selection) -> None:
        self._late.stop()
        self.changed.emit(chosen)

    # --- resolving ---

    def resolve_again(self) -> None:
        """Find nodes and object of the selection again, since loading the index or typing bytes may change them."""
        chosen = self._documents.current.selection
        if not chosen.is_file:
            # The row is derived from the bytes, which stay selected.
            row = None if chosen.span is not None and chosen.span.size else chosen.row
            self._documents.current.selection = replace(chosen, row=row, complete=False, path=(), ref=None)
            self._resolve()

    def _resolve(self) -> None:
        document = self._documents.current
        chosen = document.selection

        def take(found: Selection) -> None:
            if document.selection is chosen:
                self._set(found)
                document.history.complete(chosen, found)
                self._announce(found)

        if not self._late.isActive():
            self._late.start()
        self._documents.ask(
            lambda shard, _: resolve(shard, chosen),
            take,
            failed=lambda error: take(replace(chosen, complete=True, error=error_text(error))),
            key=("select", self),
        )
