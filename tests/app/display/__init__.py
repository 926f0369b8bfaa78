"""Tests in a real X display: programs of their own, driven by a mouse."""
