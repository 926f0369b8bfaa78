"""What MDB shards and xorbs have in common: hashes, chunks, and how a xorb is written."""
