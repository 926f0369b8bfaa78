"""Request log: a waterfall of the requests and their cost."""
