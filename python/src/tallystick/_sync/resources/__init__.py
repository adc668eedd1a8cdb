# Made by `npm run python -- generate`; not to be edited.
"""The client's methods, one module for each kind of resource. Each method names the route that it calls."""
