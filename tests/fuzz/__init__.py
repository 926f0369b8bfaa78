"""Random damage for readers, writers and the window; see `tests.fuzz.__main__`."""
