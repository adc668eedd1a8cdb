"""The two ways in which a verification ends badly: what was read is wrong, or it is nothing that could be read."""


class Refused(Exception):
    """A refusal: the input is not genuine. `code` is one of docs/formats; `seq` the entry that is refused, where it is one."""

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
    """The input is no file of the kind that it should be (exit code 65)."""


class NotAnExport(Unreadable):
    """The input is another file than an export."""

    def __init__(self) -> None:
        super().__init__('not an export: its first line is not {"export":1,…} with the id of a ledger and its keys')


class Unavailable(Unreadable):
    """The input may be genuine, but cannot be read in its present state (exit code 69)."""
