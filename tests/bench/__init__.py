"""Our times beside those of the reference implementations: `python -m tests.bench [NAME…]`."""
