"""The asynchronous client. `_sync` is made of it by python/tools/generate.py; `io.py` alone is written for each."""
