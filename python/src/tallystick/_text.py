"""Makes text from outside safe to show. `src/proof/quoted.ts` and `sdk/plain.ts` implement the same
rules.
"""

from __future__ import annotations

import re
from typing import Final
from unicodedata import category

_HIDDEN: Final = (
    '\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd\xad\u034f\u061c\u115f\u1160\u17b4\u17b5'
    '\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a'
    '\U000e0000-\U000e0fff'
)
"""Regular expression class of characters that are invisible or change the direction of text."""
HIDDEN: Final = re.compile(f'[{_HIDDEN}]')

_PICTOGRAPH: Final = (
    '[\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299'
    '\U0001f000-\U0001faff][\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]?'
)
_FLAGS: Final = '|'.join(
    f'\U0001f3f4{"".join(chr(0xE0000 + ord(letter)) for letter in name)}\U000e007f' for name in ('gbeng', 'gbsct', 'gbwls')
)
_EMOJI_OR_HIDDEN: Final = re.compile(f'(?:{_FLAGS}|{_PICTOGRAPH}(?:\u200d{_PICTOGRAPH})*|[#*0-9]\ufe0f\u20e3)|([{_HIDDEN}]+)')
_NAMED_MAX: Final = 3
"""Maximum length of a run of hidden characters in which every character is shown by its code."""
_MARKS_MAX: Final = 4
"""Maximum number of combining marks that are shown on one character. Further marks would be drawn over other lines."""


def plain(text: str) -> str:
    """Makes a text from outside safe for logs and terminals.

    Line breaks, control characters, bidirectional controls and hidden characters become visible marks.
    """
    if text.isascii() and text.isprintable():
        return text
    return _fewer_marks(_EMOJI_OR_HIDDEN.sub(lambda found: found[0] if found[1] is None else _mark_of(found[1]), text))


def escape_hidden(text: str) -> str:
    """Escapes the hidden characters of a JSON text. The JSON value stays the same."""
    return HIDDEN.sub(lambda found: ''.join(f'\\u{unit:04x}' for unit in _units_of(found[0])), text)


def _units_of(char: str) -> list[int]:
    data = char.encode('utf-16-be', 'surrogatepass')
    return [int.from_bytes(data[at : at + 2], 'big') for at in range(0, len(data), 2)]


def _mark_of(hidden: str) -> str:
    names = [f'U+{ord(char):04X}' for char in hidden]
    return f'⟨{" ".join(names)}⟩' if len(names) <= _NAMED_MAX else f'⟨{names[0]} … {len(names)} characters⟩'


def _fewer_marks(text: str) -> str:
    """Replaces combining marks at the beginning of the text. On each character, replaces the marks
    after the first `_MARKS_MAX`.
    """
    shown: list[str] = []
    marks = 0
    room = 0

    def end() -> None:
        if marks > room:
            shown.append(f'⟨{marks - room} combining⟩')

    for char in text:
        if category(char) in ('Mn', 'Me') and not HIDDEN.match(char):
            marks += 1
            if marks <= room:
                shown.append(char)
            continue
        end()
        marks = 0
        room = _MARKS_MAX
        shown.append(char)
    end()
    return ''.join(shown)
