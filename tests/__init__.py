"""Tests, in folders that mirror the packages; `tests/data` has sample files and the scripts that made them."""
