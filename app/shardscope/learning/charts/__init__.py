"""Charts of the open file: byte shares, object sizes, load."""
