"""Network of Qt in a bundle: two windows talk through a local socket, which needs no plugin."""

from PyInstaller.utils.hooks.qt import add_qt6_dependencies

hiddenimports, binaries, datas = add_qt6_dependencies(__file__)
binaries = [(source, target) for source, target in binaries if "plugins" not in target]
