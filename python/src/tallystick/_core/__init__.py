"""Everything that the client and its asynchronous twin have in common: nothing here waits, reads or writes."""
