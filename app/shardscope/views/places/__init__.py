"""Locations to open: files, folders, stores, samples."""
