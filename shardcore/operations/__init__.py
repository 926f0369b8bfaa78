"""Operations on shards: pack, convert, edit, extract, recover, search."""
