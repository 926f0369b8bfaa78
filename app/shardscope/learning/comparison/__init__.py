"""The same objects in six formats, side by side."""
