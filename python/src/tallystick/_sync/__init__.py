# Made by `npm run python -- generate`; not to be edited.
"""The client in one of its two flavours: one is made of the other by python/tools/generate.py; `io.py` alone is written for each."""
