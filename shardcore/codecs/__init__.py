"""Decoders with limits: compression, JSON, images, Draco, and the hashes, chunks and xorbs of Xet."""
