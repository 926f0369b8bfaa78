"""`python -m shardcore` is the command `shardcore`."""

from shardcore.cli import main

if __name__ == "__main__":
    main()
