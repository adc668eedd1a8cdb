"""Results of a failed verification: the input is wrong, or cannot be read."""


class Refused(Exception):
    """The input is not genuine. `code` is a code of docs/formats. `seq` is the refused entry, or None
    if no single entry is at fault.
    """

    def __init__(self, code: str, reason: str, seq: int | None = None) -> None:
        super().__init__(code, reason, seq)
        self.code = code
        self.reason = reason
        self.seq = seq

    def at(self, seq: int | None) -> 'Refused':
        if self.seq is None:
            self.seq = seq
        return self

    def __str__(self) -> str:
        return f'{self.code}: {self.reason}'


class Unreadable(Exception):
    """The input is not a file of the expected kind (exit code 65)."""


class NotAnExport(Unreadable):
    """The input is not an export."""

    def __init__(self) -> None:
        super().__init__('not an export: its first line is not {"export":1,…} with the id of a ledger and its keys')


class Unavailable(Unreadable):
    """The input may be genuine, but cannot be read in its present state (exit code 69)."""
