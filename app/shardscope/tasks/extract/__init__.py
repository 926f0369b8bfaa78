"""Extraction of objects into files: dialog, job, result."""
