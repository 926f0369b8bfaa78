"""Recovery of the objects of a damaged file."""
