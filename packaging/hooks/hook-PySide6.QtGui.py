"""Plugins of Qt in a bundle: those of windows on a desktop; widgets are painted without OpenGL."""

from pathlib import PurePath

from PyInstaller.utils.hooks.qt import add_qt6_dependencies

FOLDERS = {"egldeviceintegrations", "generic", "wayland-graphics-integration-client", "xcbglintegrations"}
# The theme of GTK brings GTK along; the dialogs of a desktop come from its portal.
PLUGINS = ("qgtk3", "qeglfs", "qlinuxfb", "qminimal", "qvkkhrdisplay", "qvnc", "qicns", "qtga", "qtiff", "qwbmp")


def is_kept(source: str) -> bool:
    """Return whether a file is a library, or a plugin that the window uses."""
    path = PurePath(source)
    return path.parent.name not in FOLDERS and not path.name.removeprefix("lib").startswith(PLUGINS)


hiddenimports, binaries, datas = add_qt6_dependencies(__file__)
binaries = [(source, target) for source, target in binaries if is_kept(source)]
