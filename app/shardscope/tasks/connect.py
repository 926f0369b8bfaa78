"""Dialog that opens a remote address, its saved connection options, and confirmation of large downloads."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QMessageBox,
    QRadioButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from shardcore import Folder, RemoteOptions, RequestLog, Shard, ShardError, Source, StoreUntrusted, UsageError
from shardcore.dataclasses import dataclass, replace
from shardcore.model.text import plural, size_text
from shardcore.shards.registry import folder_marks
from shardcore.shards.viewer_link import Layer, layer_address, layers_of
from shardcore.sources.location import source_of
from shardcore.sources.remote.address import Address, is_address, is_viewer_link, parse_address, shown_address
from shardscope.session.connections import (
    ENDPOINTS,
    Connections,
    LoginKind,
    described,
    login_kind_of,
)
from shardscope.session.display_text import error_text
from shardscope.session.documents import CostlyRead
from shardscope.session.jobs import Pool
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.tasks.form import FieldForm
from shardscope.tasks.task_dialog import Role, Task, TaskDialog
from shardscope.widgets import theme
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.layouts import lay, made
from shardscope.widgets.plain_text import plain_label, question_box
from shardscope.widgets.request_costs import Price, money_text, price_called, seconds_text
from shardscope.widgets.tick_box import TickBox
from shardscope.widgets.wrap_text import WrapText

NAMED = 3
"""Maximum number of file names shown by the test of listing a folder."""

SIGNS = {True: "✔", False: "✖", None: "·"}

USUAL_RATE = 12_500_000
"""Assumed download speed in bytes per second (100 Mbit/s)."""


class LoginChoice(QWidget):
    """Radio buttons for the kind of login, with its input fields. The secret key is never stored."""

    changed = Signal()

    def __init__(self, options: RemoteOptions | None, parent: QWidget) -> None:
        super().__init__(parent)
        self._wanted = ""
        self.profile = made(QComboBox(self), "profile", activated=self._edited)
        hidden, secret = QLineEdit.EchoMode.Password, self.tr("Kept in memory until Shardscope quits; never stored")
        self.access_key = made(QLineEdit(self), "accessKey")
        self.secret_key = made(QLineEdit(self), "secretKey", echoMode=hidden, toolTip=secret)
        self.token = made(QLineEdit(self), "sessionToken", echoMode=hidden)
        self.token.setPlaceholderText(self.tr("For temporary keys only"))
        self._keys = self.access_key, self.secret_key, self.token
        words = self.tr("&Access key"), self.tr("&Secret key"), self.tr("Session &token")
        self.edited = False
        for field in self._keys:
            field.textEdited.connect(self._edited)
            field.textChanged.connect(lambda _: self.changed.emit())
        about = plain_label(self.tr("For public data: requests are not signed."), wrap=True, quiet=True)
        about.setAlignment(Qt.AlignmentFlag.AlignTop)
        kinds = (
            (LoginKind.ANONYMOUS, self.tr("A&nonymous"), about),
            (LoginKind.PROFILE, self.tr("Pro&file"), _page(self, (self.tr("&Profile"), self.profile))),
            (LoginKind.KEYS, self.tr("&Keys"), _page(self, *zip(words, self._keys, strict=True))),
        )
        # The room of the largest page is reserved.
        self.pages = QStackedWidget(self)
        for _, _, page in kinds:
            self.pages.addWidget(page)
        self.buttons = {who: QRadioButton(text, self) for who, text, _ in kinds}
        for button in self.buttons.values():
            button.toggled.connect(self._choose)
            button.clicked.connect(self._edited)
        row = lay(QHBoxLayout(), *self.buttons.values(), 1, spacing=18)
        lay(QVBoxLayout(self), row, self.pages, spacing=8)
        self.set_profiles(())
        self.profile.currentIndexChanged.connect(lambda _: self.changed.emit())
        self.fill(options)
        self.setFocusProxy(self.buttons[self.who])

    @property
    def who(self) -> LoginKind:
        return next(who for who, button in self.buttons.items() if button.isChecked())

    @property
    def complete(self) -> bool:
        keys = self.access_key.text().strip() and self.secret_key.text().strip()
        return self.who is not LoginKind.KEYS or bool(keys)

    def choose(self, who: LoginKind) -> None:
        self.buttons[who].setChecked(True)

    def fill(self, options: RemoteOptions | None) -> None:
        self._wanted = options.profile or "" if options is not None else ""
        self.profile.setCurrentIndex(max(self.profile.findData(self._wanted), 0))
        self.fill_keys(options)
        self.choose(login_kind_of(options))

    def fill_keys(self, options: RemoteOptions | None) -> None:
        found = options or RemoteOptions()
        for field, text in zip(self._keys, (found.access_key, found.secret_key, found.session_token), strict=True):
            field.setText(text or "")

    def _edited(self, *_: object) -> None:
        self.edited = True

    def set_profiles(self, names: tuple[str, ...]) -> None:
        names = (*names, self._wanted) if self._wanted and self._wanted not in names else names
        with QSignalBlocker(self.profile):
            self.profile.clear()
            self.profile.addItem(self.tr("Default (from the environment)"), "")
            for name in names:
                self.profile.addItem(name, name)
            self.profile.setCurrentIndex(max(self.profile.findData(self._wanted), 0))

    def filled(self) -> dict[str, str | bool | None]:
        if self.who is LoginKind.ANONYMOUS:
            return {"anonymous": True}
        if self.who is LoginKind.PROFILE:
            name = self.profile.currentData()
            return {"profile": name} if name else {"anonymous": False}
        return {
            "access_key": self.access_key.text().strip() or None,
            "secret_key": self.secret_key.text().strip() or None,
            "session_token": self.token.text().strip() or None,
        }

    def _choose(self, on: bool) -> None:
        if on:
            self.pages.setCurrentIndex(list(self.buttons).index(self.who))
            self.changed.emit()


def _page(parent: QWidget, *rows: tuple[str, QWidget]) -> QWidget:
    page = QWidget(parent)
    form = FieldForm(page, spacing=6)
    for words, field in rows:
        form.add(words, field)
    return page


@dataclass(frozen=True, slots=True)
class PermissionTest:
    """Result of testing one permission: `Read`, `Ranges` or `List`. `works` is None if the test does not apply."""

    what: str
    works: bool | None
    text: str


def probe(uri: str, options: RemoteOptions | None) -> list[PermissionTest]:
    """Test reading, range requests and listing, in a job. If opening fails, the error is the only result."""
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
    # Imported late, as in `profiles`.
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


def profiles() -> tuple[str, ...]:
    # Imported late: it takes long, and local files do not need it.
    from shardcore.sources.remote.s3 import profiles as named

    return tuple(named())


class AddressDialog(TaskDialog):
    name = "addressSheet"
    words = "Open address"
    of_file = False
    chosen = Signal(OpenRequest)

    def __init__(self, request: OpenRequest, connections: Connections, session: Session, window: QWidget) -> None:
        super().__init__(session, window)
        options = request.remote or connections.connection_for(request.uri)
        self._request = request
        self._connections = connections
        self._filled_for = self._link = ""
        self._endpoint_chosen = bool(options is not None and options.endpoint_url)
        self._make_fields(options or RemoteOptions())
        self.who = LoginChoice(options, self)
        self.open_button = self.add_button(self.tr("&Open"), self._open, Role.AcceptRole)
        self.test = self.add_button(self.tr("&Test connection"), self._try)
        self.add_close()
        self._form = FieldForm()
        for words, field in (
            (self.tr("A&ddress"), self.address),
            (self.tr("&Layer"), self.layer),
            ("", self.understood),
            (self.tr("Sign in"), self.who),
            (self.tr("&Endpoint"), self.endpoint),
            (self.tr("Re&gion"), self.region),
            ("", self.path_style),
            ("", self.pays),
            (self.tr("Permissions"), self.allowed),
        ):
            self._form.add(words, field)
        self.lay_out([self._form], "addressArea", self.tr("Address and connection"), beside=True, margin=18)
        self.resize(620, 320)
        # Fit while all rows are shown, since the dialog keeps its size when rows are hidden.
        self.fit()
        for signal in (
            self.address.textChanged,
            self.who.changed,
            self.endpoint.editTextChanged,
            self.layer.currentIndexChanged,
            self.region.textChanged,
            self.path_style.toggled,
            self.pays.toggled,
        ):
            signal.connect(self.refresh)
        self.refresh()
        (self.who if request.uri and self.who.isVisibleTo(self) else self.address).setFocus()
        self.address.selectAll()
        self.check(lambda _: profiles(), self.who.set_profiles, lambda _: None, kind="profiles", pool=Pool.IO)

    def _make_fields(self, options: RemoteOptions) -> None:
        hint = self.tr("s3://bucket/key   https://…   gs://…   hf://…   precomputed://…")
        self.address = made(QLineEdit(self._request.shown, self), "address", placeholderText=hint, minimumWidth=300)
        self.layer = made(QComboBox(self), "layer")
        self.layer.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.understood = made(Elided(greedy=True, parent=self), "understood")
        self.allowed = made(WrapText(lines=3), "allowed")
        self.endpoint = made(QComboBox(self), "endpoint", editable=True, activated=self._preset)
        usual, *known = ((one.name, one.url) for one in ENDPOINTS)
        used = [(url, url) for url in self._connections.endpoints if url not in {one.url for one in ENDPOINTS}]
        for name, url in (usual, *used, *known):
            self.endpoint.addItem(name, url)
        if (line := self.endpoint.lineEdit()) is not None:
            line.setAccessibleName(self.tr("Endpoint"))
            line.textEdited.connect(lambda _: self._endpoint_edited())
        self.region = made(QLineEdit(self), placeholderText=self.tr("Detected automatically"))
        self.path_style = TickBox(self.tr("Path-st&yle addressing (endpoint/bucket/key)"), self)
        self.pays = TickBox(self.tr("&Requester pays: you are billed for requests and transfer"), self)
        self.pays.setToolTip(self.tr("Required by the owners of some buckets"))
        self._fill(options)

    def _fill(self, options: RemoteOptions) -> None:
        self.endpoint.setEditText(options.endpoint_url or ENDPOINTS[0].name)
        self.region.setText(options.region or "")
        self.path_style.setChecked(options.addressing == "path")
        self.pays.setChecked(options.requester_pays)

    # --- values of the form ---

    @property
    def uri(self) -> str:
        """Address with the signature that the field hides; for a Neuroglancer link, the address of the chosen layer."""
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
        parsed = self.parsed
        signed = parsed is not None and parsed.store is not None
        return replace(self._request, uri=self.uri, remote=self.options() if signed else None)

    # --- check ---

    def refresh(self, *_: object) -> None:
        self._list_layers()
        parsed = self.parsed
        signed = parsed is not None and parsed.store is not None
        for part in (self.who, self.endpoint, self.region, self.path_style, self.pays):
            self._form.setRowVisible(part, signed or parsed is None)
        problem = self._problem(parsed)
        self.understood.set_text(f"✖ {problem}" if problem else self._described(parsed))
        theme.write_in(self.understood, "error" if problem else "muted")
        self._fill_saved(parsed)
        fine = parsed is not None and not problem and (self.who.complete or not signed)
        for button in (self.open_button, self.test):
            button.setEnabled(fine)
        self.stop("probe")
        self.allowed.set_text(self.tr("Not tested"))

    def _problem(self, parsed: Address | None) -> str:
        text = self.address.text().strip()
        try:
            if parsed is not None:
                if parsed.store is not None:
                    self.options()
                if parsed.store is not None and any(word in self.endpoint_url for word in ("ACCOUNT", "REGION")):
                    return self.tr("replace ACCOUNT or REGION in the endpoint")
            elif text and not is_address(text):
                return self.tr("not an address: start with s3://, gs://, https://, hf:// or precomputed://")
            elif text:
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

    def _fill_saved(self, parsed: Address | None) -> None:
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
            self._fill(known)
            if not self.who.edited:
                self.who.fill(known)
        if self._connections.needs_keys(self.uri) and not self.who.edited:
            self.who.choose(LoginKind.KEYS)

    def _endpoint_edited(self) -> None:
        self._endpoint_chosen = True
        if not self.who.edited:
            # Saved keys are only sent to the store for which they were given.
            self.who.fill_keys(self._connections.options_at(self.uri, self.endpoint_url))

    def _preset(self, number: int) -> None:
        url = self.endpoint.itemData(number)
        chosen = next((one for one in ENDPOINTS if one.url == url), None)
        self.endpoint.setEditText(url or ENDPOINTS[0].name)
        self.path_style.setChecked(chosen.path_style if chosen is not None else self.path_style.isChecked())
        self._endpoint_edited()

    # --- test and result ---

    def _try(self) -> None:
        request = self.request
        # The Return key opens the address, even if the desktop lets it press the focused button.
        if self.test.hasFocus():
            self.open_button.setFocus()
        self.allowed.set_text(self.tr("Testing …"))

        def take(found: Sequence[PermissionTest]) -> None:
            self.allowed.set_text("\n".join([f"{SIGNS[one.works]} {one.what}: {one.text}" for one in found]))
            self.area.ensureWidgetVisible(self.allowed)

        def failed(error: BaseException) -> None:
            self.allowed.set_text(f"✖ {error_text(error)}")

        self.check(lambda _: probe(request.uri, request.remote), take, failed, kind="probe", pool=Pool.IO)

    def _open(self) -> None:
        self.chosen.emit(self.request)
        self.accept()


class ConnectTask(Task):
    """Shows the address dialog; saves connection options of opened addresses, without credentials."""

    def __init__(self, session: Session, settings: Settings, window: QWidget) -> None:
        super().__init__(session, window)
        self._settings = settings
        FetchQuestion(session, settings, window)
        self.connections = Connections(settings.connections)
        session.documents.reach = self.connections.connection_for
        session.opened.connect(self._opened)

    def ask(
        self,
        request: OpenRequest | None = None,
        who: LoginKind | None = None,
        *,
        chosen: Callable[[OpenRequest], object] | None = None,
    ) -> AddressDialog:
        sheet = AddressDialog(request or OpenRequest(""), self.connections, self._session, self._window)
        if who is not None:
            sheet.who.choose(who)
        # Connected first: `_hold` keeps the keys with which the file is then opened.
        sheet.chosen.connect(self._hold)
        sheet.chosen.connect(chosen or self._session.open_tab)
        sheet.open()
        return sheet

    def has_to_ask(self, uri: str) -> bool:
        """Return whether the dialog is needed: keys are missing, or store or layer must be chosen."""
        if is_viewer_link(uri):
            with suppress(UsageError):
                return len(layers_of(uri)) > 1
        return self.connections.needs_keys(uri) or self.connections.is_ambiguous(uri)

    def _hold(self, request: OpenRequest) -> None:
        if request.remote is not None:
            self.connections.hold(request.uri, request.remote)

    def forget_keys(self) -> None:
        self.connections.forget_keys()
        self._session.message.emit(self.tr("Access keys forgotten. Open files keep theirs until they are closed."))

    def _opened(self, _: Shard) -> None:
        request = self._session.request
        if request.is_remote and (request.remote is not None or self.connections.is_ambiguous(request.uri)):
            self.connections.remember(request.uri, request.remote or RemoteOptions())
            self._settings.connections = self.connections.kept


class FetchQuestion(Task):
    """Asks for the confirmations that the session requests, one at a time; closes the question with the file."""

    _question: QMessageBox | None = None

    def __init__(self, session: Session, settings: Settings, window: QWidget) -> None:
        super().__init__(session, window)
        self._settings = settings
        session.costly.connect(self.ask)
        session.documents.untrusted.connect(self.ask_store)
        session.closed.connect(self._drop)

    def ask(self, costly: CostlyRead) -> QMessageBox:
        size = size_text(costly.size)
        yes, text = self.tr("&Fetch {0}").format(size), self.tr("{0} fetches up to {1}.").format(costly.what, size)
        more = cost_text(costly.size, price_called(self._settings.price))
        return self._ask("costly", self.tr("Large download"), text, more, yes, costly.go, costly.refuse)

    def ask_store(self, error: StoreUntrusted, go: Callable[[], object], refuse: Callable[[], object]) -> QMessageBox:
        title = self.tr("Connect?") if error.who else self.tr("Open?")
        yes = self.tr("&Connect") if error.who else self.tr("&Open")
        more = self.tr("The opened file refers to it. Continue only if you trust that file.")
        box = self._ask("untrusted", title, error.question, more, yes, go, refuse)
        # Enter must not agree by accident.
        box.setDefaultButton(QMessageBox.StandardButton.Cancel)
        return box

    def _ask(
        self,
        name: str,
        title: str,
        text: str,
        more: str,
        yes: str,
        go: Callable[[], object],
        refuse: Callable[[], object],
    ) -> QMessageBox:
        self._drop()
        box = self._question = question_box(self._window, name, title, text, more)
        agree = box.addButton(yes, QMessageBox.ButtonRole.AcceptRole)
        box.setDefaultButton(agree)
        box.setEscapeButton(box.addButton(QMessageBox.StandardButton.Cancel))
        box.finished.connect(lambda _: setattr(self, "_question", None))
        # Continue after the box is closed, since documents are not shown while a dialog is open.
        box.finished.connect(lambda _: go() if box.clickedButton() is agree else refuse())
        box.open()
        return box

    def _drop(self) -> None:
        if self._question is not None:
            self._question.reject()


def cost_text(size: int, price: Price) -> str:
    lasts, cost = seconds_text(size / USUAL_RATE), money_text(price.of(1, size))
    return f"About {lasts} at 100 Mbit/s; costs about {cost} ({price.name})."
