"""What a shard is made of, in numbers: byte budget, object sizes, entropy, load. Data only; who shows it draws it."""
