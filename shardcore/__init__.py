"""Codecs for shard files: read, explain, look up, verify and write them. Never imports Qt.

The public names are declared in `__init__.pyi`. Each is loaded from its module when it is first used, so that
`import shardcore` alone is fast.
"""

from functools import cache
from importlib import import_module

__version__ = "0.1.0"


@cache
def _modules():
    with open(f"{__path__[0]}/__init__.pyi", encoding="utf-8") as stub:
        return {words[-1]: words[1] for words in map(str.split, stub) if words[:1] == ["from"]}


def __getattr__(name):
    if name == "__all__":
        return [*_modules()]
    if name not in _modules():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, getattr(import_module(_modules()[name], __name__), name))


def __dir__():
    return [*_modules(), "__version__"]
