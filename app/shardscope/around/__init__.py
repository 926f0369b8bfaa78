"""What stands around the bytes: address, path, search, overview, legend."""
