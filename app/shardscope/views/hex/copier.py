"""Copies selected bytes: read and written as text by a job, put on the clipboard when they are ready."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from shardcore import Cancelled, Source, Span
from shardcore.model.copy_forms import OpenedWith
from shardcore.model.number_words import plural
from shardcore.model.text import shown
from shardscope.session.copy_bytes import CopyAs, TooMuchToCopy, check_size, copied
from shardscope.session.error_words import plain_words
from shardscope.session.jobs import Job
from shardscope.views.hex.state import HexState
from shardscope.widgets.clipboard import copy_lines

LineForm = Callable[[str, Span, OpenedWith], str]
"""Bytes as a command or as lines of a program: from where they are, which they are, and the name of the format."""


class HexCopier(QObject):
    message = Signal(object)
    failed = Signal(object)

    def __init__(self, state: HexState) -> None:
        super().__init__(state)
        self._state = state

    def copy(self, form: CopyAs = CopyAs.SEEN) -> None:
        span, rows = self._state.selection.span, self._state.layout
        if not span.size:
            return
        try:
            check_size(span.size)
        except TooMuchToCopy as error:
            self.failed.emit(str(error))
            return

        def work(source: Source, job: Job) -> str:
            data = source.read(span.start, span.stop)
            job.check()
            return copied(data, form, start=span.start, width=rows.width, lead=rows.lead, digits=rows.digits)

        def done(text: str | None, error: BaseException | None) -> None:
            if text is not None:
                copy_lines(text)
                self.message.emit(self.tr("{0} copied {1}").format(plural(span.size, "byte"), form.value))
            elif not isinstance(error, Cancelled):
                self.failed.emit(self.tr("Nothing was copied: {0}").format(plain_words(error)))

        self._state.pages.read(span.source, work, key=("copy", id(self)), title="", done=done)

    def copy_line(self, form: LineForm, uri: str, how: OpenedWith) -> None:
        if text := form(uri, self._state.selection.span, how):
            copy_lines(text)
            self.message.emit(self.tr("{0} copied").format(shown(text.splitlines()[-1].strip())))

    def copy_text(self, text: str) -> None:
        copy_lines(text)
        self.message.emit(self.tr("{0} copied").format(text))
