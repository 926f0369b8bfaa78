"""Comparison of formats: size of the same objects in each, and the cost of one lookup."""
