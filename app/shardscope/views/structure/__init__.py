"""Structure of a file as a tree."""
