"""The client's methods and transport.

python/tools/generate.py makes the synchronous client from the asynchronous one. Only `io.py` is
written by hand for both.
"""
