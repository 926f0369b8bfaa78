"""Charts of a shard (byte shares, object sizes, load) as data, without drawing them."""
