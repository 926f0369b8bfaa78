"""Step-by-step view of a lookup."""
