# Made by `npm run python -- generate`; not to be edited.
"""The methods of the client, by what they are about. Each names the route that it calls."""
