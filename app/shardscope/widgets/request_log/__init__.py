"""Request log of the open shard: table model and costs."""
