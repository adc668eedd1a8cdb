"""Code that the synchronous and the asynchronous client share. Nothing here waits, reads or writes."""
