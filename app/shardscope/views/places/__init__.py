"""Locations that can be opened: files, folders, stores, samples."""
