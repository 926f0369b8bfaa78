"""Editing of the open file: permission, preview, and the edit."""
