"""Codecs for shard files: read, explain, look up, verify and write them. No Qt, ever.

The public names are stated in `__init__.pyi`. Each is loaded from its module when it is first used: `import shardcore`
alone loads next to nothing.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = "0.1.0"
