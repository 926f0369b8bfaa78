"""The structure of a file as a tree."""
