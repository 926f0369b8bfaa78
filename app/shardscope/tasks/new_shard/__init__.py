"""Creation of shards by packing files or converting a shard, with a plan of the new shard before it is written."""
