"""Sandbox: changes in memory, a report on the checks that detect them, and saved copies."""
