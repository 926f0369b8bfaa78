"""Saves what is on the screen: `screen_grab.py OUT.png`."""

from __future__ import annotations

import sys

from PySide6.QtGui import QGuiApplication


def main() -> int:
    application = QGuiApplication(sys.argv[:1])
    return 0 if application.primaryScreen().grabWindow(0).save(sys.argv[1]) else 1


if __name__ == "__main__":
    sys.exit(main())
