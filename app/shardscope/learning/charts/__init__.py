"""Charts of the open file: bytes per purpose, sizes of objects, and number of objects per slot, xorb or file."""
