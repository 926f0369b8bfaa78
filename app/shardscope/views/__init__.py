"""Views of a shard: bytes, structure, objects, inspector, lookup, findings, places and jobs."""
