"""Recognised content of an object: text, table, picture, array, tensors, archive, shard, or bytes."""
