"""New shards: packing and converting, with a plan beforehand."""
