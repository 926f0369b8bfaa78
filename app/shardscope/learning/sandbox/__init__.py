"""Sandbox: changes in memory, the checks that detect them, and copies."""
