"""What is converted, and the rule for its keys."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QGridLayout, QLabel, QWidget

from shardcore import Shard
from shardcore.model.number_words import plural
from shardcore.operations.convert import KeyChoice
from shardcore.writing.declaration import KeyRule, Writes
from shardscope.session.open_request import OpenRequest
from shardscope.widgets import theme
from shardscope.widgets.elided import Elided
from shardscope.widgets.plain_text import shown, tip

RULES = (
    (KeyChoice.USUAL, "As usual"),
    (KeyChoice.AS_IS, "As they are"),
    (KeyChoice.SHA256, "sha256 of the content"),
    (KeyChoice.NUMBER, "Numbers"),
    (KeyChoice.NAME, "Names of files"),
)

SENTENCES = {
    KeyChoice.AS_IS: "The text of each key stays; one that does not fit is an error.",
    KeyChoice.SHA256: "The sha256 of each content is its key; equal contents become one object.",
    KeyChoice.NUMBER: "Objects are numbered from 0, in the order of the rows.",
    KeyChoice.NAME: "The key is the name that the object gets as a file when it is extracted.",
}

CONVERTED = {"sha256": "the sha256 of each content is its key", "number": "they are numbered from 0"}


class KeyRules(QWidget):
    """Says what is converted, and asks for the rule; `changed` tells that it is another."""

    changed = Signal()

    def __init__(self, shard: Shard, request: OpenRequest, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.source = Elided(greedy=True, parent=self)
        count = shard.listing
        objects = f", {plural(len(count), 'row')}" if count is not None else ""
        self.source.tell(f"{request.name} ({shard.format}{objects})")
        self.source.setToolTip(tip(request.shown))
        self.rule = QComboBox(self)
        self.rule.setObjectName("keyRule")
        self.rule.setAccessibleName(self.tr("Rule for keys"))
        self.rule.setToolTip(self.tr("Where the keys of the new shard come from"))
        for choice, words in RULES:
            self.rule.addItem(self.tr(words), choice.value)
        self.about = QLabel(self)
        self.about.setTextFormat(Qt.TextFormat.PlainText)
        self.about.setObjectName("keyRuleAbout")
        self.about.setWordWrap(True)
        self.rule.currentIndexChanged.connect(lambda _: self.changed.emit())
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(7)
        grid.setColumnStretch(1, 1)
        label = QLabel(self.tr("&Keys"), self)
        label.setBuddy(self.rule)
        grid.addWidget(QLabel(self.tr("From"), self), 0, 0)
        grid.addWidget(self.source, 0, 1)
        grid.addWidget(label, 1, 0)
        grid.addWidget(self.rule, 1, 1)
        grid.addWidget(self.about, 2, 1)

    @property
    def choice(self) -> KeyChoice:
        """The rule."""
        return KeyChoice(self.rule.currentData())

    def explain(self, writes: Writes) -> None:
        """Says what the rule does in the chosen format."""
        self.rule.setEnabled(writes.keys is not KeyRule.NONE)
        self.about.setText(shown(rule_text(self.choice, writes)))
        self.about.setStyleSheet(f"color: {theme.of(self).muted.name()};")


def rule_text(choice: KeyChoice, writes: Writes) -> str:
    """What a rule does in a format, in a sentence."""
    if writes.keys is KeyRule.NONE:
        return "The format has no keys; a manifest beside it tells what became of each."
    if choice is not KeyChoice.USUAL:
        return SENTENCES[choice]
    if not writes.converted:
        return f"The text of each key stays: a key is {writes.key_form}."
    return f"Keys stay where all of them fit ({writes.key_form}); else {CONVERTED[writes.converted]}."


def pack_keys_text(writes: Writes) -> str:
    """Where the keys of packed files come from, in a sentence."""
    match writes.keys:
        case KeyRule.CONTENT:
            return f"The key of an object is made from its content ({writes.key_form}), or what a manifest says."
        case KeyRule.PATH:
            return "The key of an object is its path below the folder, with /, or what a manifest says."
        case KeyRule.OWN:
            return f"The key of an object is its name without the ending: {writes.key_form}; or what a manifest says."
        case _:
            return "The format has no keys; where a manifest gives some, one beside the shard tells where they went."
