"""*Is it in here?*: asks whether a file is among the objects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject

from shardscope.session.error_words import plain_words
from shardscope.session.jobs import JobPriority, Pool
from shardscope.session.object_rows import Sought, seek_file
from shardscope.session.session import Session


class FileSeeker(QObject):
    """Seeks one file after the other, and selects the object that it is.

    Args:
        session: What is open.
        note: Takes what is to be told: that it is looked for, then how that ended.
        parent: The panel.
    """

    def __init__(self, session: Session, note: Callable[[str], object], parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self._note = note

    def seek(self, path: Path) -> None:
        """Asks about a file; reading it, and the objects, is a job."""
        if self._session.shard is None:
            return
        # It ends with a look at all objects, unless a key tells.
        self._session.with_index(self.tr("Looking for {0}").format(path.name), lambda: self._seek(path))

    def _seek(self, path: Path) -> None:
        def take(found: Sought) -> None:
            tell(found.how)
            if found.ref is not None:
                self._session.select_row(found.ref.row)

        def tell(words: object) -> None:
            if job is not None:
                job.note = str(words)
            self._session.message.emit(str(words))
            self._note(str(words))

        self._note(self.tr("looking for {0} …").format(path.name))
        job = self._session.ask(
            lambda shard, job: seek_file(shard, path, job.progress),
            take,
            failed=lambda error: tell(plain_words(error)),
            key=("seek", self),
            pool=Pool.CPU,
            priority=JobPriority.SCAN,
            title=self.tr("Is {0} in here?").format(path.name),
        )
