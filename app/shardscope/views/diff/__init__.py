"""Comparison of two shards, by objects and by bytes."""
