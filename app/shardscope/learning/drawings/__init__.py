"""Drawings of the open file and of lookups, with their controls."""
