"""A lookup, walked step by step."""
