"""Extraction of objects into files: dialog, job and outcome."""
