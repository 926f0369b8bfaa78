"""Codecs for shard files: read, explain, look up, verify and write them. Never imports Qt.

The public names are declared in `__init__.pyi`. Each is loaded from its module when it is first used, so that
`import shardcore` alone is fast.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = "0.1.0"
