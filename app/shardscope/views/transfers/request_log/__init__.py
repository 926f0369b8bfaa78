"""The request tape: a waterfall of what was asked of another machine, and what it cost."""
