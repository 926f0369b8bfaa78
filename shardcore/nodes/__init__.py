"""What the tree, the colours and "what is this byte?" read: sections, nodes and runs."""
