"""Extracting objects into files: dialog, job and result."""
