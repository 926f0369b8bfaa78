"""Bounded decompression, JSON, pictures, Draco, and the hashes, chunks and xorbs of Xet."""
