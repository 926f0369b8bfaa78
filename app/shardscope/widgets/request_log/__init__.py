"""The request log of the open shard: table model, costs and estimates."""
