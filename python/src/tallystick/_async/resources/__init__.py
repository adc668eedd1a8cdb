"""The methods of the client, by what they are about. Each names the route that it calls."""
