"""Open documents of a window: one is shown, the others are parked with their state."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from PySide6.QtCore import QObject, Signal

from shardcore import Cancelled, RequestLog, Shard, Span
from shardcore.sources.remote.address import is_address
from shardscope.session.jobs import Job, JobPriority, Jobs
from shardscope.session.open_request import OpenRequest
from shardscope.session.opened_shard import IndexState, OpenedShard

MOST_CLOSED = 20

MOST_OPEN = 200

_numbers = itertools.count(1)


@dataclass(eq=False)
class Document:
    """One open file. While another tab is shown, `state`, `views` and `mail` (undelivered results of jobs) are kept."""

    request: OpenRequest = field(default_factory=lambda: OpenRequest(""))
    number: int = field(default_factory=lambda: next(_numbers))
    shard: Shard | None = None
    select: Span | None = None
    fresh: bool = True
    unsaved: bool = False
    state: dict[str, Any] = field(default_factory=dict)
    views: dict[str, object] = field(default_factory=dict)
    mail: list[Callable[[], object]] = field(default_factory=list)

    @property
    def troubled(self) -> bool:
        return self.state.get("trouble") is not None or (self.shard is not None and self.shard.damage is not None)


class ViewStateOwner(Protocol):
    def view_state(self) -> object:
        """Return the state; called before the document is parked."""

    def restore_view_state(self, state: object) -> None:
        """Restore a state; called after `opened`."""


def same_place(one: str, other: str) -> bool:
    return one == other or (bool(one and other) and _whole(one) == _whole(other))


def _whole(uri: str) -> str:
    return uri if is_address(uri) else str(Path(uri).absolute())


def _alike(one: OpenRequest, other: OpenRequest) -> bool:
    way = one.remote is None or other.remote is None or one.remote == other.remote
    said = one.format == other.format and dict(one.options) == dict(other.options)
    # Content opened from inside a sandbox does not follow later changes, so other changes are another content.
    changed = one.sandbox == other.sandbox and (not one.inside or one.changes == other.changes)
    return said and way and changed and same_place(one.link, other.link)


class Documents(OpenedShard):
    """Open documents, of which one is shown. Views get the same signals as when one file replaces another.

    Attributes:
        switching: Whether `closed` and `opened` are emitted because a document is parked or shown again.
        may_show: Called before an opened document is shown automatically; False keeps it in the background.
    """

    documents_changed = Signal()
    """Documents were added, removed, moved or changed, or another one is shown."""
    switched = Signal()
    """A parked document is shown again; emitted after all other signals about it."""

    PARKED: tuple[str, ...] = ("index_state", "listing", "trouble", "_agreed", "_held")
    """Attributes that belong to the shown document and are stored when it is parked."""

    def __init__(self, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(jobs, parent)
        self.document = Document()
        self.documents: list[Document] = []
        self.switching = False
        self.may_show: Callable[[], bool] = lambda: True
        self._keepers: dict[str, ViewStateOwner] = {}
        self._unsaved: list[Callable[[], bool]] = []
        self._coming: dict[Document, bool] = {}
        self._errors_due: list[Callable[[], None]] = []
        self._closed_requests: list[tuple[OpenRequest, Span | None]] = []
        jobs.scope = self.document

    # --- what belongs to documents ---

    def keep_view(self, name: str, view: ViewStateOwner) -> None:
        self._keepers[name] = view

    def show_shard(self, shard: Shard) -> bool:
        document = next((one for one in self.documents if one.shard is shard), None)
        if document is not None:
            self.show(document)
        return self.shard is shard

    def add_unsaved(self, unsaved: Callable[[], bool]) -> None:
        self._unsaved.append(unsaved)

    @property
    def unsaved(self) -> bool:
        return any(unsaved() for unsaved in self._unsaved)

    def when_shown(self, deliver: Callable[..., object], *, closed: bool = False) -> Callable[..., None]:
        """Wrap a callback: calls wait while the document is parked; once it is closed, they only run with `closed`."""
        document = self.document

        def arrive(*values: object) -> None:
            if self.document is not document and document in self.documents:
                document.mail.append(partial(deliver, *values))
                self.documents_changed.emit()
            elif self.document is document or closed:
                deliver(*values)

        return arrive

    def _arrived_late(self, shard: Shard, job: Job, deliver: Callable[[], object]) -> None:
        document = next((one for one in self.documents if one.shard is shard), None)
        if document is not None and job.parks:
            document.mail.append(deliver)
            self.documents_changed.emit()

    # --- opening ---

    def open_tab(
        self, request: OpenRequest, select: Span | None = None, *, front: bool = True, agreed: bool = False
    ) -> Job | None:
        """Open a request in a new tab; None if it is open already (then it is shown), or if the user is asked first."""
        there = next((one for one in self.documents if _alike(request, one.request)), None)
        if there is not None:
            if front:
                self.show(there)
                if select is not None and self.document is there:
                    self._arrive(select)
            return None
        coming = next((one for one in self._coming if _alike(request, one.request)), None)
        if coming is not None:
            coming.select = select or coming.select
            self._expect(coming, front=front)
            return None
        if front and self._stays_here(request):
            return self.open(request, select=select, agreed=agreed)
        if not self._can_open_more():
            return None
        return self._open_beside(request, select, front, agreed)

    def _stays_here(self, request: OpenRequest) -> bool:
        """Return whether the request replaces the shown document: the same file, read with other options."""
        same = same_place(request.link, self.request.link) and not self.request.sandbox and not request.sandbox
        return self.shard is not None and not self._coming and same

    def _expect(self, document: Document, *, front: bool) -> None:
        if front:
            self._coming = dict.fromkeys(self._coming, False)
        self._coming[document] = front or self._coming.get(document, False)

    def open_tabs(self, files: Sequence[tuple[OpenRequest, Span | None]], current: int = 0) -> None:
        for number, (request, select) in enumerate(files):
            self.open_tab(request, select, front=number == current)

    def _can_open_more(self) -> bool:
        if len(self.documents) + len(self._coming) < MOST_OPEN:
            return True
        self.say(self.tr("Too many tabs ({0}): close one first").format(MOST_OPEN), failed=True)
        return False

    def _open_beside(self, request: OpenRequest, select: Span | None, front: bool, agreed: bool) -> Job:
        request = self._with_way(request)
        request_log = RequestLog() if request.is_remote else None
        document = Document(request, select=select)
        self._expect(document, front=front)

        def done(found: tuple[Shard, OpenRequest] | None, error: BaseException | None) -> None:
            was_front = self._coming.pop(document)
            self.ended.emit(request.shown)
            if found is not None:
                document.shard, document.request = found
                self._add(document)
                alone = self.shard is None and not any(self._coming.values())
                if alone or (was_front and self.may_show()):
                    self.show(document)
            else:
                self._set_request_log(self.shard.tape if self.shard is not None else None)
                if not isinstance(error, Cancelled):
                    again = partial(self.open_tab, select=select)
                    self._errors_due.append(partial(self._not_opened, request, error, again))
                if self.shard is None and self.documents and not any(self._coming.values()):
                    self.show(self.documents[0])
            # Showing a document removes the notices, so errors are reported afterwards.
            while self._errors_due and not any(self._coming.values()):
                self._errors_due.pop(0)()

        if front:
            self.opening.emit(request.shown)
            if request_log is not None:
                self._set_request_log(request_log)
        return self.jobs.submit(
            self._opener(request, request_log, agreed=agreed),
            key="open",
            priority=JobPriority.SCREEN if front else JobPriority.SELECTED,
            done=done,
            discard=lambda found: found[0].close(),
            scope=document,
        )

    def _add(self, document: Document) -> None:
        at = len(self.documents)
        while at and self.documents[at - 1].number > document.number:
            at -= 1
        self.documents.insert(at, document)
        self.documents_changed.emit()

    def _take(self, shard: Shard, request: OpenRequest) -> None:
        document = self.document
        if document not in self.documents:
            document.number = next(_numbers)
        document.shard, document.request, document.fresh = shard, request, False
        super()._take(shard, request)
        if document in self.documents:
            self.documents_changed.emit()
        else:
            self._add(document)

    # --- switching ---

    def show(self, document: Document) -> None:
        if document is self.document or document not in self.documents or document.shard is None:
            return
        self._park()
        self._bring(document)

    def step(self, by: int) -> None:
        if self.document in self.documents:
            at = self.documents.index(self.document) + by
            self.show(self.documents[at % len(self.documents)])

    def move(self, start: int, stop: int) -> None:
        self.documents.insert(stop, self.documents.pop(start))
        self.documents_changed.emit()

    def _park(self) -> None:
        """Store the state of the shown document and cancel its jobs, except those with `lasting` or `parks`."""
        document = self.document
        self.jobs.cancel_where(lambda job: job.scope is document and not job.lasting and not job.parks)
        if self.shard is None:
            return
        document.views = {name: view.view_state() for name, view in self._keepers.items()}
        document.unsaved = self.unsaved
        document.state = {name: getattr(self, name) for name in self.PARKED}
        self._watch.stop()
        self.shard = None
        self.replacing = self.switching = True
        self._reset()
        self.closed.emit()
        self.replacing = self.switching = False

    def _bring(self, document: Document) -> None:
        shard = document.shard
        assert shard is not None
        self.document = self.jobs.scope = document
        if document.fresh:
            select, document.select = document.select, None
            self._take(shard, document.request)
            self._arrive(select)
            return
        self.shard, self.request = shard, document.request
        self.switching = True
        for name, value in document.state.items():
            setattr(self, name, value)
        self._set_request_log(shard.tape)
        self.opened.emit(shard)
        if shard.source is not None:
            self._watch.start(shard.source)
        for name, state in document.views.items():
            self._keepers[name].restore_view_state(state)
        document.state, document.views, document.unsaved = {}, {}, False
        self._emit_state()
        self.switching = False
        mail, document.mail = document.mail, []
        for deliver in mail:
            deliver()
        self.switched.emit()
        self.documents_changed.emit()
        self.check_source()

    def _emit_state(self) -> None:
        self.index_changed.emit(self.index_state)
        if self.index_state is IndexState.LOADED:
            self.index_loaded.emit()
        if self.trouble is not None:
            self.source_trouble.emit(self.trouble)

    # --- closing ---

    def close(self) -> None:
        if self.shard is not None and self.may_leave(None, self._dismiss):
            self._dismiss()

    def close_document(self, document: Document) -> None:
        """Close a document; one with unsaved changes is shown first, and the user confirms."""
        if document.unsaved:
            self.show(document)
        if document is self.document:
            self.close()
        elif document in self.documents:
            self._drop(document)
            self.documents_changed.emit()

    def close_all(self) -> None:
        for document in [one for one in self.documents if one is not self.document]:
            self._drop(document)
        self._close()
        self.documents.clear()
        self.documents_changed.emit()

    @property
    def unsaved_document(self) -> Document | None:
        return next((one for one in self.documents if one.unsaved and one is not self.document), None)

    def _dismiss(self) -> None:
        document = self.document
        if self.shard is None:
            return
        self._remember(document, self._selected_span())
        at = self.documents.index(document)
        self.documents.remove(document)
        beside = self.documents[min(at, len(self.documents) - 1)] if self.documents else None
        self.replacing = beside is not None
        self._close()
        self.replacing = False
        if beside is not None:
            self._bring(beside)
        else:
            self.document = self.jobs.scope = Document()
        self.documents_changed.emit()

    def _drop(self, document: Document) -> None:
        self.documents.remove(document)
        shard = document.shard
        assert shard is not None
        self._remember(document, self._parked_span(document))
        self.jobs.cancel_all(then=partial(self._release, shard), scope=document)
        document.state, document.views, document.mail = {}, {}, []

    def _selected_span(self) -> Span | None:
        return None

    def _parked_span(self, document: Document) -> Span | None:
        return document.select

    # --- closed tabs ---

    @property
    def can_reopen(self) -> bool:
        return bool(self._closed_requests)

    def reopen(self) -> None:
        if self._closed_requests:
            request, span = self._closed_requests.pop()
            self.open_tab(request, span)
            self.documents_changed.emit()

    def _remember(self, document: Document, span: Span | None) -> None:
        # The changes of a sandbox were dropped, or saved as a copy.
        self._closed_requests.append((document.request.without_changes(), span))
        del self._closed_requests[:-MOST_CLOSED]
