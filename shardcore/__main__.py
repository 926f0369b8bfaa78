"""Entry point: `python -m shardcore` runs the command `shardcore`."""

from shardcore.cli import main

if __name__ == "__main__":
    main()
