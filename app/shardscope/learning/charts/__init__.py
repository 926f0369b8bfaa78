"""The charts of what is open: byte budget, object sizes, entropy, load."""
