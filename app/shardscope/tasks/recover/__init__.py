"""Recovering objects of a damaged file."""
