"""Hex view and its panel."""
