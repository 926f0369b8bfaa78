"""Data Easy Store."""
