"""The optional extension in C (`native.c`): loops that NumPy does far more slowly, with the same results."""

from importlib import import_module
from typing import Any

native: Any
try:
    native = import_module("shardcore.codecs.native")
except ImportError:  # built only where there is a C compiler
    native = None
