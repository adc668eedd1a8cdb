# Made by `npm run python:generate`; not to be edited.
# Made by `npm run python:generate`; not to be edited.
"""The client, as it is made of `_sync`."""
