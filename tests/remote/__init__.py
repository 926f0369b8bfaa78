"""Servers on 127.0.0.1 that behave, and misbehave, as real ones do; what shardcore makes of them."""
