"""*What is this?* for each part of the window: what it is for and how it is used, in a sentence or two.

A part is named by its object name. What lies in a part and has no words of its own is explained by the part.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QMainWindow, QWidget

translate = QCoreApplication.translate


def sentences() -> Mapping[str, str]:
    """Object name to sentences, in the language of the program."""
    return MappingProxyType(
        {
            "welcome": translate("WhatsThis", "Opens something: a file, a folder, a sample, or what was open before."),
            "sampleList": translate("WhatsThis", "One small file of each format. Return or a click opens it."),
            "recentList": translate("WhatsThis", "What was opened before. Return or a click opens it again."),
            "dropArea": translate(
                "WhatsThis", "Drop a file or folder here, or anywhere on the window, to open it; several to pack them."
            ),
            "topBar": translate(
                "WhatsThis", "Goes back and forward, to a place or a key; finds, looks up, extracts, verifies."
            ),
            "topFind": translate("WhatsThis", "Opens the search in the bytes."),
            "topLookUp": translate("WhatsThis", "Looks up the key in the field, step by step, or asks for one."),
            "topExtract": translate("WhatsThis", "Writes the selected objects to files."),
            "topVerify": translate("WhatsThis", "Checks the file, to one of three depths. What is wrong is listed."),
            "editChip": translate(
                "WhatsThis",
                "Whether the open file may be changed. Files are read-only until you press this, at every open. Then "
                "the menu Edit deletes, appends and truncates; what changes is shown first.",
            ),
            "notices": translate("WhatsThis", "Results of operations and errors, each with the button that helps."),
            "hexPanel": translate(
                "WhatsThis",
                "The bytes of what is open, and all that belongs to them: where they are, and what they mean.",
            ),
            "hexView": translate(
                "WhatsThis",
                "Offset, bytes, text and, where there is room, fields: click one, or its arrow to follow it. Colours "
                "are sections and fields, letters their roles. Arrow keys move, with Shift they select; "
                "Ctrl+Page Down goes to the next section.",
            ),
            "overview": translate(
                "WhatsThis",
                "The whole file on one strip. The frame is what is on the screen; click or drag to go elsewhere.",
            ),
            "addressField": translate(
                "WhatsThis",
                "Goes to a place: an offset (4096, 0x1000), a place from the end (-72), a name (header.version), "
                "a sum of them, or the object of a key.",
            ),
            "breadcrumb": translate(
                "WhatsThis", "The field that owns the selected byte, and what it is part of. Click to select that."
            ),
            "chartsDock": translate(
                "WhatsThis",
                "What the file is made of: what its bytes are for, how large its objects are, how surprising its bytes "
                "are, how full its slots are. Click a bar to go there, drag over several to filter.",
            ),
            "structureDiffers": translate(
                "WhatsThis", "Shows only the fields on which the published page of the format and practice differ."
            ),
            "legend": translate(
                "WhatsThis",
                "What colours and letters of the bytes on the screen mean. Click to go to the next of a kind.",
            ),
            "sourceTabs": translate(
                "WhatsThis", "The stored bytes, and what stretches of them decompress to: one tab each."
            ),
            "hexStatus": translate("WhatsThis", "Where the selection is and how long, in decimal and in hexadecimal."),
            "searchField": translate(
                "WhatsThis", "What to search for in the bytes. Return goes to the next hit, Esc back to the bytes."
            ),
            "searchKind": translate(
                "WhatsThis", "Whether the search is for bytes in hexadecimal, for text or for a number."
            ),
            "hitsDock": translate(
                "WhatsThis",
                "All places that a search in the bytes found: where, as what number or text, and in which field. "
                "A row selects its bytes.",
            ),
            "notesDock": translate(
                "WhatsThis",
                "Notes and bookmarks on bytes, kept for you by the content of the file. Ctrl+B adds one; a row selects "
                "its bytes, F2 edits, Del deletes.",
            ),
            "formatLabel": translate("WhatsThis", "The format of what is open, and how it was recognised."),
            "structureDock": translate(
                "WhatsThis",
                "The file as a tree of sections, records and fields. A row selects its bytes; "
                "selected bytes show their row.",
            ),
            "placesDock": translate(
                "WhatsThis",
                "Where to go next: members of a data set, files beside this one, recent files, samples. Return opens.",
            ),
            "inspectorDock": translate(
                "WhatsThis",
                "What the selected bytes are: meaning, value, where they point to, and the bytes as numbers.",
            ),
            "traceDock": translate(
                "WhatsThis",
                "How a reader finds an object by its key, step by step: which bytes it looks at, and what that costs. "
                "A key that is not there is worth a look, too.",
            ),
            "traceKey": translate("WhatsThis", "The key to look up, as the format writes it. Return starts."),
            "formatPageDock": translate(
                "WhatsThis",
                "The page of the format. The row of the selected field is highlighted; the name of a field selects its "
                "bytes. Dotted words are explained in the glossary.",
            ),
            "lessonsDock": translate(
                "WhatsThis",
                "Lessons that ask before they tell, on the sample or on the file that is open. Click the bytes, type a "
                "number, or choose; Show me gives the answer.",
            ),
            "sandboxDock": translate(
                "WhatsThis",
                "Changes the file in memory: flip bits, overwrite, cut. Shows which checks detect it, and which "
                "objects have wrong bytes. The file on disk is not changed.",
            ),
            "sandboxBanner": translate("WhatsThis", "The bytes are those of a sandbox; the file on disk is as it was."),
            "previewDock": translate(
                "WhatsThis",
                "The content of the selected object: text, table, picture or array. Pointing at a line or an element "
                "highlights its bytes; a click selects them.",
            ),
            "objectsDock": translate(
                "WhatsThis",
                "All objects of the file. Filter them by key, sort by a column, extract them, or "
                "drag them out as files.",
            ),
            "findingsDock": translate(
                "WhatsThis",
                "Checks the file, to one of three depths, and lists what is wrong. A row goes to the place.",
            ),
            "transfersDock": translate(
                "WhatsThis", "What runs now and what has ended, with progress; and the requests to a remote file."
            ),
        }
    )


def explain(window: QMainWindow) -> None:
    """Give the parts of a window their sentences."""
    for name, sentence in sentences().items():
        for part in window.findChildren(QWidget, name):
            part.setWhatsThis(sentence)
    window.menuBar().setWhatsThis(translate("WhatsThis", "Everything that can be done. F1 lists the shortcuts."))
    window.statusBar().setWhatsThis(
        translate("WhatsThis", "What happened last, what runs now, and the format of what is open.")
    )
