"""Loading of the index of the current document, and upper bounds of the bytes that an operation fetches."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from shardcore import DataSet, Depth, Shard, Source
from shardscope.session.documents import Documents, IndexState

AUTO_INDEX_BYTES = 64 * 1024 * 1024
"""Maximum size in bytes of a local index that is loaded right after opening."""

FAR_INDEX_BYTES = 1 << 20
"""Maximum size in bytes of a remote index that is loaded right after opening; else only visible rows are read."""

AUTO_MEMBERS = 16
"""Maximum number of remote shards of a data set whose indexes are loaded right after opening."""


class DocumentIndex(QObject):
    changed = Signal(object)
    loaded = Signal()
    """The index was read, or bytes were typed: views must show the nodes and objects again."""

    def __init__(self, documents: Documents) -> None:
        super().__init__(documents)
        self._documents = documents
        documents.begun.connect(self._begin)

    @property
    def state(self) -> IndexState:
        return self._documents.current.index

    @property
    def missing(self) -> bool:
        return self._documents.current.shard is not None and self.state in (IndexState.NONE, IndexState.FAILED)

    @property
    def loads_at_once(self) -> bool:
        document = self._documents.current
        shard, most = document.shard, FAR_INDEX_BYTES if document.request.is_remote else AUTO_INDEX_BYTES
        if shard is None or index_size(shard) is None or shard.index_cost > most:
            return False
        return not isinstance(shard, DataSet) or shard.folder.lists_cheaply or len(shard.members) <= AUTO_MEMBERS

    @property
    def bytes_ahead(self) -> int:
        """Upper bound of the bytes that loading the index reads; 0 if it is loaded or the bound is unknown."""
        shard = self._documents.current.shard
        return 0 if shard is None or shard.loaded else index_size(shard) or 0

    def want(self) -> None:
        if self._documents.current.shard is not None:
            what = self.tr("Reading the index")
            self._documents.with_consent(what, self.bytes_ahead, self.load, much=AUTO_INDEX_BYTES)

    def with_consent(self, what: str, go: Callable[[], object]) -> None:
        """Call `go`, which reads the index; the user is asked first if that fetches many bytes from a remote source."""
        self._documents.with_consent(what, self.bytes_ahead, go)

    def load(self, *, title: str = "Reading the index") -> None:
        if self._documents.current.shard is None or self.state in (IndexState.LOADING, IndexState.LOADED):
            return
        self._set(IndexState.LOADING)

        def failed(error: BaseException) -> None:
            self._set(IndexState.FAILED)
            self._documents.report_error(self.tr("Cannot read the index"), error)

        job = self._documents.ask(
            lambda shard, job: shard.load_index(job.progress),
            lambda _: self._done(),
            failed=failed,
            stopped=lambda: self._set(IndexState.NONE),
            key=("index", self),
            title=title,
        )
        if job is not None:
            job.background = True

    def _begin(self) -> None:
        shard = self._documents.current.shard
        if shard is not None and shard.loaded:
            self._done()
        elif self.loads_at_once:
            self.load(title="")

    def _done(self) -> None:
        self._set(IndexState.LOADED)
        self.refresh()

    def _set(self, state: IndexState) -> None:
        self._documents.current.index = state
        self.changed.emit(state)

    def refresh(self) -> None:
        document = self._documents.current
        shard = document.typed or document.shard
        document.listing = shard.listing if shard is not None else None
        self.loaded.emit()

    def announce(self) -> None:
        self.changed.emit(self.state)
        if self.state is IndexState.LOADED:
            self.loaded.emit()


# --- upper bounds of the bytes that an operation fetches; computed without reading ---


def missing_of(source: Source) -> int:
    return source.size - sum(stop - start for start, stop in source.loaded(0, source.size))


def index_size(shard: Shard) -> int | None:
    """Return an upper bound of the bytes for reading the index; None if a folder must be listed to know it."""
    return None if isinstance(shard, DataSet) and not shard.listed else shard.index_bytes


def whole(shard: Shard) -> int:
    if shard.source is not None:
        return missing_of(shard.source)
    if isinstance(shard, DataSet) and shard.listed:
        return shard.size or 0
    return 0


def verifying(shard: Shard, depth: Depth) -> int:
    if depth is Depth.CONTENT:
        return whole(shard)
    if depth is Depth.STRUCTURE or shard.loaded:
        return 0
    return index_size(shard) or 0
