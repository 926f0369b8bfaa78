"""The views of a shard: bytes, structure, objects, inspector, lookup, findings, places, transfers."""
