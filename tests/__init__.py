"""Tests: the tree mirrors the packages; `tests/data` holds the samples and how each was made."""
