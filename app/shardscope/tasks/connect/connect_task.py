"""Opening of remote addresses: the dialog of connection options, saved ones, and retries with other options."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from shardcore import Cancelled, Folder, RemoteOptions, RequestLog, Shard, ShardError, Source, UsageError
from shardcore.model.text import plural, shown_lines
from shardcore.shards.registry import folder_marks
from shardcore.shards.viewer_link import Layer, layer_address, layers_of
from shardcore.sources.location import source_of
from shardcore.sources.remote.address import Address, is_address, is_viewer_link, parse_address, shown_address
from shardscope.session.connections import (
    ENDPOINTS,
    Connections,
    LoginKind,
    as_anonymous,
    described,
    in_store,
    login_kind_of,
)
from shardscope.session.error_messages import error_text
from shardscope.session.jobs import Job, JobPriority, Jobs
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.tasks.confirm_fetch import FetchQuestion
from shardscope.widgets import theme
from shardscope.widgets.option_fields import FieldForm
from shardscope.widgets.plain_text import plain_label
from shardscope.widgets.tick_box import TickBox


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


NAMED = 3
"""Maximum number of names of a listing that are shown."""


@dataclass(frozen=True, slots=True)
class PermissionTest:
    """Result of a test of `Read`, `Ranges` or `List`; `works` is None if it does not apply."""

    what: str
    works: bool | None
    text: str


def probe(uri: str, options: RemoteOptions | None) -> list[PermissionTest]:
    """Test reading, range requests and listing; if opening fails, that is the only result. Call it in a job."""
    request_log, began = RequestLog(), time.monotonic()
    try:
        target = source_of(uri, options, request_log, marks=folder_marks())
    except ShardError as error:
        return [PermissionTest("Read", False, error_text(error))]
    milliseconds = round((time.monotonic() - began) * 1000)
    try:
        if not isinstance(target, Source):
            return [_listing(target)]
        parts = any(record.status == 206 for record in request_log.records)
        return [
            PermissionTest("Read", True, f"{plural(target.size, 'byte')} in {milliseconds:,} ms"),
            PermissionTest("Ranges", parts, "supported" if parts else "not supported: the whole file was fetched"),
            _listing(target.folder),
        ]
    finally:
        target.close()


def _listing(folder: Folder | None) -> PermissionTest:
    # Imported late, as below.
    from shardcore.sources.remote.source import RemoteFolder

    if not isinstance(folder, RemoteFolder) or not folder.listable:
        return PermissionTest("List", None, "not supported by web servers; other files are opened by name")
    try:
        entries = folder.first_page()
    except ShardError as error:
        return PermissionTest("List", False, error_text(error))
    names = [f"{entry.name}/" if entry.is_folder else entry.name for entry in entries]
    if not names:
        return PermissionTest("List", True, "the folder is empty")
    more = ", …" if len(names) > NAMED else ""
    count = "1,000 or more names" if len(names) >= 1000 else plural(len(names), "name")
    return PermissionTest("List", True, f"{count}: {', '.join(names[:NAMED])}{more}")


def profiles() -> list[str]:
    # Imported late: it takes long, and local files do not need it.
    from shardcore.sources.remote.s3 import profiles as named

    return named()


SIGNS = {True: "✔", False: "✖", None: "·"}


class AddressDialog(QDialog):
    """Dialog for an address and its connection options; `chosen` carries the `OpenRequest`."""

    chosen = Signal(object)

    def __init__(
        self, request: OpenRequest, connections: Connections, jobs: Jobs, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("addressSheet")
        self.setWindowTitle(self.tr("Open address"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self._jobs = jobs
        self._request = request
        options = request.remote or connections.connection_for(request.uri)
        self._connections = connections
        self._filled_for = ""
        self._link = ""
        self._endpoint_chosen = bool(options is not None and options.endpoint_url)
        self.address = QLineEdit(request.shown, self)
        self.layer = QComboBox(self)
        self.understood = QLabel(self)
        self.who = LoginChoice(options, self)
        self.endpoint = QComboBox(self)
        self.region = QLineEdit(options.region or "" if options is not None else "", self)
        self.path_style = TickBox(self.tr("Path-st&yle addressing (endpoint/bucket/key)"), self)
        self.pays = TickBox(self.tr("&Requester pays (requester pays: you are billed for requests and transfer)"), self)
        self.allowed = QLabel(self)
        self.test = QPushButton(self.tr("&Test connection"), self)
        self.buttons = QDialogButtonBox(self)
        self.open_button = self.buttons.addButton(self.tr("&Open"), QDialogButtonBox.ButtonRole.AcceptRole)
        self.buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        self.buttons.addButton(self.test, QDialogButtonBox.ButtonRole.ActionRole)
        self._name(options)
        self._lay_out()
        self._connect()
        if connections.needs_keys(request.uri):
            self.who.choose(LoginKind.KEYS)
        self._check()
        (self.who if request.uri else self.address).setFocus()
        jobs.submit(
            lambda _: tuple(profiles()), key=("profiles", self), priority=JobPriority.SCREEN, done=self._profiled
        )

    def _name(self, options: RemoteOptions | None) -> None:
        self.address.setObjectName("address")
        self.address.setPlaceholderText(self.tr("s3://bucket/key   https://…   gs://…   hf://…   precomputed://…"))
        self.address.setMinimumWidth(300)
        self.layer.setObjectName("layer")
        self.layer.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.understood.setObjectName("understood")
        self.endpoint.setObjectName("endpoint")
        self.endpoint.setEditable(True)
        for name, url in self._endpoints():
            self.endpoint.addItem(name, url)
        self.endpoint.setCurrentIndex(0)
        line = self.endpoint.lineEdit()
        if line is not None:
            line.setAccessibleName(self.tr("Endpoint"))
            line.textEdited.connect(lambda _: setattr(self, "_endpoint_chosen", True))
        if options is not None and options.endpoint_url:
            self.endpoint.setEditText(options.endpoint_url)
        self.region.setPlaceholderText(self.tr("Detected automatically"))
        self.path_style.setChecked(options is not None and options.addressing == "path")
        self.pays.setChecked(options is not None and options.requester_pays)
        self.pays.setToolTip(self.tr("Required by the owners of some buckets"))
        self.allowed.setObjectName("allowed")
        for label in (self.understood, self.allowed):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.allowed.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)

    def _lay_out(self) -> None:
        page = QWidget(self)
        form = self._form = FieldForm(page)
        form.setContentsMargins(18, 16, 18, 12)
        form.add(self.tr("A&ddress"), self.address)
        form.add(self.tr("&Layer"), self.layer)
        form.add("", self.understood)
        form.add(self.tr("Sign in"), self.who)
        form.add(self.tr("&Endpoint"), self.endpoint)
        form.add(self.tr("Re&gion"), self.region)
        form.add("", self.path_style)
        form.add("", self.pays)
        form.add(self.tr("Permissions"), self.allowed)
        # On a small screen the fields scroll; the buttons stay visible.
        scroll = self._scroll = QScrollArea(self)
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(page)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(scroll, 1)
        self.buttons.setContentsMargins(18, 4, 18, 14)
        column.addWidget(self.buttons)
        self.resize(620, 320)

    def _fit(self) -> None:
        parent = self.parentWidget()
        self._form.activate()
        wish = self._form.totalHeightForWidth(self.width()) + self.buttons.sizeHint().height()
        room = parent.window().height() - 40 if parent is not None else wish
        self.resize(self.width(), min(wish, max(room, 320)))

    @staticmethod
    def _say(label: QLabel, text: str) -> None:
        label.setText(shown_lines(text))
        # A form layout reserves two lines for wrapping text.
        label.setMaximumHeight(max(label.heightForWidth(480), 0))

    def _permit(self, text: str) -> None:
        self._say(self.allowed, text)
        self._form.setRowVisible(self.allowed, bool(text))
        self._fit()

    def _connect(self) -> None:
        self.address.textChanged.connect(lambda _: self._check())
        self.who.changed.connect(self._check)
        self.endpoint.editTextChanged.connect(lambda _: self._check())
        self.endpoint.activated.connect(self._preset)
        self.layer.currentIndexChanged.connect(lambda _: self._check())
        self.region.textChanged.connect(lambda _: self._check())
        self.path_style.toggled.connect(lambda _: self._check())
        self.pays.toggled.connect(lambda _: self._check())
        self.test.clicked.connect(self.try_it)
        self.buttons.accepted.connect(self._accept)
        self.buttons.rejected.connect(self.reject)

    # --- what was filled in ---

    @property
    def uri(self) -> str:
        """Address including the signature that the field hides; for a Neuroglancer link, that of the chosen layer."""
        return self.layer.currentData() if self.layer.count() else self._typed

    @property
    def _typed(self) -> str:
        text = self.address.text().strip()
        return self._request.uri if text == self._request.shown else text

    @property
    def parsed(self) -> Address | None:
        try:
            return parse_address(self.uri) if is_address(self.uri) else None
        except ShardError:
            return None

    @property
    def endpoint_url(self) -> str:
        text = self.endpoint.currentText().strip()
        return next((one.url for one in ENDPOINTS if one.name == text), text)

    def options(self) -> RemoteOptions:
        values: dict[str, Any] = dict(self.who.filled())
        return RemoteOptions(
            endpoint_url=self.endpoint_url or None,
            region=self.region.text().strip() or None,
            requester_pays=self.pays.isChecked(),
            addressing="path" if self.path_style.isChecked() else None,
            **values,
        )

    @property
    def request(self) -> OpenRequest:
        """Request built from the fields; web servers get no connection options."""
        parsed = self.parsed
        signed = parsed is not None and in_store(parsed)
        return replace(self._request, uri=self.uri, remote=self.options() if signed else None)

    def _check(self) -> None:
        self._list_layers()
        parsed = self.parsed
        problem = ""
        if parsed is None and self.address.text().strip():
            problem = self._no_address()
        signed = parsed is not None and in_store(parsed)
        for part in (self.who, self.endpoint, self.region, self.path_style, self.pays):
            # Web servers need no options.
            self._form.setRowVisible(part, signed or parsed is None)
        if signed and not problem:
            try:
                self.options()
            except UsageError as error:
                problem = error_text(error)
            if any(word in self.endpoint_url for word in ("ACCOUNT", "REGION")):
                problem = self.tr("replace ACCOUNT or REGION in the endpoint")
        text = f"✖ {problem}" if problem else self._described(parsed)
        self._say(self.understood, text)
        self._fill_way(parsed)
        fine = parsed is not None and not problem and (self.who.complete or not signed)
        for button in (self.open_button, self.test):
            button.setEnabled(fine)
        self._permit("")

    def _no_address(self) -> str:
        text = self.address.text().strip()
        if not is_address(text):
            return self.tr("not an address: start with s3://, gs://, https://, hf:// or precomputed://")
        try:
            parse_address(layer_address(self._typed) if is_viewer_link(self._typed) else text)
        except ShardError as error:
            return error_text(error)
        return ""

    def _described(self, parsed: Address | None) -> str:
        if parsed is None:
            return self.tr("Paste an S3/GCS URI, a URL, or a Neuroglancer layer link.")
        store = shown_address(self.endpoint_url).rstrip("/") if parsed.in_store else ""
        return f"✔ {described(parsed)}, at {store}" if store else f"✔ {described(parsed)}"

    def _list_layers(self) -> None:
        link = self._typed if is_viewer_link(self._typed) else ""
        if link != self._link:
            self._link = link
            found: tuple[Layer, ...] = ()
            with suppress(UsageError):
                found = layers_of(link) if link else ()
            with QSignalBlocker(self.layer):
                self.layer.clear()
                for one in found:
                    kind = f" ({one.kind})" if one.kind else ""
                    self.layer.addItem(f"{one.name}{kind}: {shown_address(one.address)}", one.address)
        self._form.setRowVisible(self.layer, self.layer.count() > 0)

    def _endpoints(self) -> list[tuple[str, str]]:
        usual, *known = ((one.name, one.url) for one in ENDPOINTS)
        used = [(url, url) for url in self._connections.endpoints if url not in {one.url for one in ENDPOINTS}]
        return [usual, *used, *known]

    def _fill_way(self, parsed: Address | None) -> None:
        """Fill in the options saved for the bucket, else those of the last bucket, unless the user chose others."""
        written = self.uri.partition(":")[0].lower()
        place = f"{written} {parsed.scheme}://{parsed.place}" if parsed is not None else ""
        if parsed is None or place == self._filled_for:
            return
        self._filled_for, first = place, not self._filled_for
        known = self._connections.connection_for(self.uri)
        if known is None and not self._endpoint_chosen:
            # A new bucket is probably in the store of the last one; its name is not sent before *Open*.
            known = self._connections.default_options(self.uri) or RemoteOptions(region=parsed.region or None)
        if known is not None and not (first and self._request.remote is not None):
            self.endpoint.setEditText(known.endpoint_url or ENDPOINTS[0].name)
            self.region.setText(known.region or "")
            self.path_style.setChecked(known.addressing == "path")
            self.pays.setChecked(known.requester_pays)

    def _preset(self, number: int) -> None:
        self._endpoint_chosen = True
        url = self.endpoint.itemData(number)
        chosen = next((one for one in ENDPOINTS if one.url == url), None)
        self.endpoint.setEditText(url or ENDPOINTS[0].name)
        self.path_style.setChecked(chosen.path_style if chosen is not None else self.path_style.isChecked())

    def _profiled(self, names: tuple[str, ...] | None, error: BaseException | None) -> None:
        if names is not None:
            self.who.set_profiles(names)

    # --- trying and opening ---

    def try_it(self) -> Job:
        request = self.request
        self.test.setEnabled(False)
        self._permit(self.tr("Testing …"))
        return self._jobs.submit(
            lambda _: probe(request.uri, request.remote),
            key=("probe", self),
            priority=JobPriority.SCREEN,
            done=self._tried,
        )

    def _tried(self, found: Sequence[PermissionTest] | None, error: BaseException | None) -> None:
        self.test.setEnabled(True)
        if found is not None:
            self._permit("\n".join([f"{SIGNS[one.works]} {one.what}: {one.text}" for one in found]))
            self._scroll.ensureWidgetVisible(self.allowed)
        elif not isinstance(error, Cancelled):
            self._permit(f"✖ {error_text(error)}")

    def _accept(self) -> None:
        self.chosen.emit(self.request)
        self.accept()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "understood"):
            sheet = f"color: {theme.of(self).muted.name()};"
            if sheet != self.understood.styleSheet():
                self.understood.setStyleSheet(sheet)


class ConnectTask(QObject):
    """Shows the address dialog; saves connection options of opened addresses, without credentials."""

    def __init__(self, session: Session, settings: Settings, window: QWidget) -> None:
        super().__init__(window)
        self._session = session
        self._settings = settings
        self._window = window
        self.agreeing = FetchQuestion(session, settings, window)
        self.connections = Connections(settings.connections)
        session.reach = self.connections.connection_for
        session.opened.connect(self._opened)

    def ask(
        self,
        request: OpenRequest | None = None,
        who: LoginKind | None = None,
        *,
        chosen: Callable[[OpenRequest], object] | None = None,
    ) -> AddressDialog:
        sheet = AddressDialog(request or OpenRequest(""), self.connections, self._session.jobs, self._window)
        if who is not None:
            sheet.who.choose(who)
        sheet.chosen.connect(chosen or self._session.open_tab)
        sheet.open()
        return sheet

    def try_anonymous(self, request: OpenRequest) -> None:
        self._session.open_tab(request.with_remote(as_anonymous(request.remote)))

    def has_to_ask(self, uri: str) -> bool:
        """Return whether the dialog is needed: keys are missing, or store or layer must be chosen."""
        if is_viewer_link(uri):
            with suppress(UsageError):
                return len(layers_of(uri)) > 1
        return self.connections.needs_keys(uri) or self.connections.is_ambiguous(uri)

    def _opened(self, shard: Shard) -> None:
        request = self._session.request
        way: RemoteOptions | None = request.remote
        if request.is_remote and (way is not None or self.connections.is_ambiguous(request.uri)):
            self.connections.remember(request.uri, way or RemoteOptions())
            self._settings.connections = self.connections.kept
