"""Hostile files made by thought: small ones that would cost a careless reader all memory, all day, or a terminal.

One module for each format, with one function for each file. A function builds its file (or folder) below the folder
it is given and returns what is to be opened; nothing is downloaded or kept in the tree, and all is seeded. A file is
at most 10 MB, unless it is sparse. `tests/hostile/test_bounds.py` runs every command over every one of them within
the bounds that `docs/bounds.md` promises:

    python -m tests.hostile                 all files, all commands, with their figures
    python -m tests.hostile bloscpack -k 1gib

To add one: write a function, put `@hostile(...)` over it, and run the line above. Its docstring says what it attacks.
"""
