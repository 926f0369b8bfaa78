"""Where the parts of each kind of figure lie."""
