"""Start of the programs in a bundle: the command line where it is called `shardcore`, else the window."""

import multiprocessing
import os
import sys
from pathlib import Path

# Decoders and workers are processes of this same program: they end in here, before anything else is imported.
multiprocessing.freeze_support()

# The libraries of the bundle are for this process, not for the programs of the system that it starts.
before = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
if before is not None:
    os.environ["LD_LIBRARY_PATH"] = before
else:
    os.environ.pop("LD_LIBRARY_PATH", None)

if Path(sys.argv[0]).stem == "shardcore":
    from shardcore.cli import main
else:
    from shardscope.__main__ import main

sys.exit(main())
