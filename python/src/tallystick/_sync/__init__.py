# Made by `npm run python -- generate`; not to be edited.
"""The client's methods and transport. python/tools/generate.py makes the synchronous ones from the asynchronous ones.

Only `io.py` is written separately for each.
"""
