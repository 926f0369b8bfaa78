"""Bounded decompression, JSON text, and the hashes, chunks and xorbs of Xet."""
