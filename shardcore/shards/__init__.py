"""Opened shards and data sets, and the registry of formats."""
