"""Choice of the login for a store: anonymous, an AWS profile, or access keys."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from shardcore import RemoteOptions
from shardscope.session.connections import LoginKind, login_kind_of
from shardscope.widgets.option_fields import FieldForm
from shardscope.widgets.plain_text import plain_label


class LoginChoice(QWidget):
    """Radio buttons for the kind of login, with its input fields. The secret key is never stored."""

    changed = Signal()

    def __init__(self, options: RemoteOptions | None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._wanted = options.profile if options is not None and options.profile else ""
        self._group = QButtonGroup(self)
        self.buttons: dict[LoginKind, QRadioButton] = {}
        row = QHBoxLayout()
        row.setSpacing(18)
        for who, words in _words().items():
            button = self.buttons[who] = QRadioButton(words, self)
            self._group.addButton(button)
            row.addWidget(button)
        row.addStretch(1)
        self.profile = QComboBox(self)
        self.access_key, self.secret_key, self.token = (QLineEdit(self) for _ in range(3))
        self.pages = {
            LoginKind.ANONYMOUS: self._anonymous(),
            LoginKind.PROFILE: self._profiles(),
            LoginKind.KEYS: self._keys(options),
        }
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addLayout(row)
        for page in self.pages.values():
            column.addWidget(page)
        self._group.idToggled.connect(self._toggled)
        self.buttons[login_kind_of(options)].setChecked(True)
        self.setFocusProxy(self.buttons[login_kind_of(options)])

    def _anonymous(self) -> QWidget:
        text = self.tr("Requests are not signed: for public data.")
        label = plain_label(text, wrap=True)
        label.setForegroundRole(label.palette().ColorRole.PlaceholderText)
        label.setAlignment(Qt.AlignmentFlag.AlignTop)
        return label

    def _profiles(self) -> QWidget:
        page = QWidget(self)
        self.profile.setObjectName("profile")
        self.profile.currentIndexChanged.connect(lambda _: self.changed.emit())
        FieldForm(page).add(self.tr("&Profile"), self.profile)
        self.set_profiles(())
        return page

    def _keys(self, options: RemoteOptions | None) -> QWidget:
        page = QWidget(self)
        form = FieldForm(page, spacing=6)
        fields = (
            (self.tr("&Access key"), self.access_key, "accessKey"),
            (self.tr("&Secret key"), self.secret_key, "secretKey"),
            (self.tr("Session &token"), self.token, "sessionToken"),
        )
        for words, field, name in fields:
            field.setObjectName(name)
            field.textChanged.connect(lambda _: self.changed.emit())
            form.add(words, field)
        for field in (self.secret_key, self.token):
            field.setEchoMode(QLineEdit.EchoMode.Password)
        self.token.setPlaceholderText(self.tr("For temporary keys only"))
        self.secret_key.setToolTip(self.tr("Kept in memory until the window closes; never stored"))
        self.access_key.setText(options.access_key or "" if options is not None else "")
        return page

    @property
    def who(self) -> LoginKind:
        return next(who for who, button in self.buttons.items() if button.isChecked())

    @property
    def complete(self) -> bool:
        return self.who is not LoginKind.KEYS or bool(self._text(self.access_key) and self._text(self.secret_key))

    def choose(self, who: LoginKind) -> None:
        self.buttons[who].setChecked(True)

    def set_profiles(self, names: tuple[str, ...]) -> None:
        self.profile.blockSignals(True)
        self.profile.clear()
        self.profile.addItem(self.tr("Default (from the environment)"), "")
        for name in names:
            self.profile.addItem(name, name)
        if self._wanted and self._wanted not in names:
            self.profile.addItem(self._wanted, self._wanted)
        self.profile.setCurrentIndex(max(self.profile.findData(self._wanted), 0))
        self.profile.blockSignals(False)

    def filled(self) -> dict[str, str | bool | None]:
        if self.who is LoginKind.ANONYMOUS:
            return {"anonymous": True}
        if self.who is LoginKind.PROFILE:
            name = self.profile.currentData()
            return {"profile": name} if name else {"anonymous": False}
        return {
            "access_key": self._text(self.access_key) or None,
            "secret_key": self._text(self.secret_key) or None,
            "session_token": self._text(self.token) or None,
        }

    def _toggled(self, _: int, on: bool) -> None:
        if on:
            self._choose()

    def _choose(self) -> None:
        for who, page in self.pages.items():
            page.setVisible(who is self.who)
        self.changed.emit()

    @staticmethod
    def _text(field: QLineEdit) -> str:
        return field.text().strip()


def _words() -> dict[LoginKind, str]:
    translate = QCoreApplication.translate
    return {
        LoginKind.ANONYMOUS: translate("LoginChoice", "A&nonymous"),
        LoginKind.PROFILE: translate("LoginChoice", "Pro&file"),
        LoginKind.KEYS: translate("LoginChoice", "&Keys"),
    }
