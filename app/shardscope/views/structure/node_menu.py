"""Context menu of a node of the tree: copy, go to, follow, look up, extract."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QMenu, QTreeView

from shardcore import Node, Span
from shardcore.model.copy_forms import explain_command, explain_line, node_json
from shardcore.model.details import headline
from shardcore.model.node import ExternalBytes, nearest_row
from shardscope.session.session import Session
from shardscope.widgets.clipboard import copy_lines, copy_text
from shardscope.widgets.picture import add_picture

translate = QCoreApplication.translate


@dataclass(frozen=True)
class NodeMenuActions:
    """Actions of the context menu of the tree.

    Attributes:
        look_up: Looks up the object of a row.
        extract: Extracts the object of a row.
        elsewhere: Goes to bytes of another file.
        collapse_all: Leaves what is directly in the root.
    """

    look_up: Callable[[int], object]
    extract: Callable[[int], object]
    elsewhere: Callable[[ExternalBytes], object]
    collapse_all: Callable[[], object]


def node_menu(tree: QTreeView, session: Session, deeds: NodeMenuActions, path: tuple[Node, ...]) -> QMenu:
    """The menu of a node.

    Args:
        tree: Where it was asked for.
        session: What is open.
        deeds: What the tree does.
        path: The nodes from the root down to it.
    """
    menu = QMenu(tree)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    if path:
        _going(menu, session, deeds, path)
        menu.addSeparator()
        _copying(menu, session, path)
        menu.addSeparator()
    index = tree.currentIndex()
    menu.addAction(translate("NodeMenu", "E&xpand"), lambda: tree.expand(index)).setEnabled(
        index.isValid() and not tree.isExpanded(index)
    )
    menu.addAction(translate("NodeMenu", "&Collapse"), lambda: tree.collapse(index)).setEnabled(
        index.isValid() and tree.isExpanded(index)
    )
    menu.addAction(translate("NodeMenu", "Collapse &all"), deeds.collapse_all)
    menu.addSeparator()
    add_picture(menu, tree, "structure", session.say)
    return menu


def _going(menu: QMenu, session: Session, deeds: NodeMenuActions, path: tuple[Node, ...]) -> None:
    node, row = path[-1], nearest_row(path)

    def go(span: Span | None) -> None:
        if span is not None:
            session.select_span(span)

    def add(text: str, act: Callable[[], object], enabled: bool) -> None:
        menu.addAction(text, act).setEnabled(enabled)

    add(translate("NodeMenu", "&Select bytes"), lambda: session.select_node(path), bool(node.span.size))
    add(translate("NodeMenu", "&Follow pointer"), lambda: go(node.target), node.target is not None)

    def ask() -> None:
        session.select_node(path)
        session.ask_leads()

    add(translate("NodeMenu", "Find &references"), ask, bool(node.span.size))
    if node.decoded:
        add(translate("NodeMenu", "Show &decoded bytes"), lambda: go(Span(node.decoded, 0, 1)), True)
    # A field leads into another file where its record does.
    elsewhere = next((each.elsewhere for each in reversed(path[-2:]) if each.elsewhere is not None), None)
    if elsewhere is not None:
        add(translate("NodeMenu", "Go to {0}").format(elsewhere.text), lambda: deeds.elsewhere(elsewhere), True)
    number = -1 if row is None else row
    add(translate("NodeMenu", "Go to &object"), lambda: session.select_row(number), row is not None)
    add(translate("NodeMenu", "&Look up object"), lambda: deeds.look_up(number), row is not None)
    there = row is not None and not session.request.sandbox
    add(translate("NodeMenu", "&Extract object…"), lambda: deeds.extract(number), there)


def _copying(menu: QMenu, session: Session, path: tuple[Node, ...]) -> None:
    node, request = path[-1], session.request
    names = (path[0].name.rstrip("/").rpartition("/")[2], *(each.name for each in path[1:]))
    whole = node.value.hex() if isinstance(node.value, bytes) else node.value
    value = headline(node) if whole is None else str(whole)

    def add(where: QMenu, text: str, copied: Callable[[], str], put: Callable[[str], None] = copy_text) -> None:
        where.addAction(text, lambda: put(copied()))

    if value:
        add(menu, translate("NodeMenu", "Copy &value"), lambda: value, copy_lines)
    add(menu, translate("NodeMenu", "Copy &name"), lambda: node.name)
    add(menu, translate("NodeMenu", "Copy &path"), lambda: " › ".join(names))
    add(menu, translate("NodeMenu", "Copy &offset"), lambda: f"{node.span.start:#x}")
    forms = menu.addMenu(translate("NodeMenu", "Copy &as"))
    add(forms, "&JSON", lambda: json.dumps(node_json(node), indent=2), copy_lines)
    if node.span.size and not request.sandbox:
        how = request.again()
        # Of a sandbox, a line would read the file on disk.
        add(
            forms,
            translate("NodeMenu", "&shardcore command"),
            lambda: explain_command(request.shown, node.span, how),
        )
        add(
            forms,
            translate("NodeMenu", "&Python line"),
            lambda: explain_line(request.shown, node.span, how),
        )
