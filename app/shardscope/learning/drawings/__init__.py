"""Drawings of the open file and of lookups: shown, played with, saved."""
