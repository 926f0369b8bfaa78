"""The references to the selected bytes, as a list of links."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from shardcore.model.number_words import plural
from shardcore.model.text import without_marks
from shardcore.operations.references import Lead, Leads
from shardscope.session.error_words import plain_words
from shardscope.session.highlights import Question
from shardscope.session.words import grouped, short_name, source_words
from shardscope.widgets.wrap_text import WrapText

SHOWN = 12
"""Leads that are listed; others are counted."""


class LeadsForm(QWidget):
    """The question as a link, and the answer below it. `followed` carries the `Span` of a lead that was clicked.

    Attributes:
        ask: Asks.
        clear: Takes list and arrows away.
        links: The leads, as links.
    """

    followed = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("inspectorLeadsForm")
        self.setAccessibleName(self.tr("Find references"))
        self.ask = WrapText(self.tr("Find references"), link=True)
        self.ask.setObjectName("inspectorLeads")
        self.ask.setToolTip(self.tr("The fields, entries and slots that point to the selected bytes (Ctrl+Shift+W)"))
        self.clear = WrapText(self.tr("Clear list and arrows"), link=True)
        self.clear.setObjectName("inspectorLeadsClear")
        self.clear.setToolTip(self.tr("Remove the list and the arrows (Esc)"))
        self.told = WrapText(tone="muted")
        self.links: list[WrapText] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(5)
        self._column.addWidget(self.ask)
        self._column.addWidget(self.told)
        self._column.addWidget(self.clear)
        self._parts: list[QWidget] = []
        self.show_question(None)

    def show_question(self, question: Question | None) -> None:
        """Shows the answer to a question; None shows that none was asked."""
        for part in self._parts:
            self._column.removeWidget(part)
            part.setParent(None)
            part.deleteLater()
        self._parts, self.links = [], []
        self.told.setVisible(question is not None)
        self.clear.setVisible(question is not None)
        if question is None:
            return
        self.told.set_tone("error" if question.error is not None else "muted")
        if question.error is not None:
            self.told.set_text(plain_words(question.error))
        elif question.leads is None:
            self.told.set_text(self.tr("Searching …"))
        else:
            self._show(question, question.leads)

    def _show(self, question: Question, leads: Leads) -> None:
        span = question.span
        within = f" of {source_words(span.source)}" if span.source else ""
        place = f"{span.start:,} … {span.stop:,}{within}"
        count = plural(len(leads.found) + leads.more, "reference", "references") if leads.found else "No references"
        text = self.tr("{0} to {1}.").format(count, place)
        if not leads.complete:
            text += " " + self.tr("Read the index to see all.")
        self.told.set_text(text)
        for lead in leads.found[:SHOWN]:
            self._add(lead)
        left_out = len(leads.found) + leads.more - len(self.links)
        if left_out > 0:
            self._put(WrapText(self.tr("… and {0} more").format(f"{left_out:,}"), tone="muted"))

    def _add(self, lead: Lead) -> None:
        names = " › ".join(short_name(name) for name in lead.names[-3:]) or f"{lead.span.start:,}"
        link = WrapText(f"→ {names} · {lead.span.start:,} … {lead.span.stop:,}", link=True)
        link.setToolTip(self.tr("Go there"))
        link.clicked.connect(lambda: self.followed.emit(lead.span))
        self.links.append(link)
        self._put(link)
        self._put(WrapText(grouped(without_marks(lead.why)), tone="muted"))

    def _put(self, part: QWidget) -> None:
        self._column.insertWidget(self._column.count() - 1, part)
        self._parts.append(part)
        part.show()
