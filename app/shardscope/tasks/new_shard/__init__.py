"""Creation of shards: packing files and converting shards, with a plan beforehand."""
