"""The asynchronous client. python/tools/generate.py makes `_sync` from it; only `io.py` is written separately for each."""
