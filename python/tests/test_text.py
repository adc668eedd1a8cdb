"""Hidden and bidirectional characters (test/vectors/hidden.json). test/sdk/plain.test.ts has the same tests."""

import json

from oracle import ROOT

from tallystick._text import HIDDEN, plain
from tallystick.verify.report import quoted

VECTORS = json.loads((ROOT / 'test' / 'vectors' / 'hidden.json').read_text(encoding='utf-8'))


def test_every_character_of_the_table_is_hidden_and_no_other() -> None:
    listed = set[int]()
    for each in VECTORS['hidden']:
        first, last = (int(code, 16) for code in each.split('-'))
        listed.update(range(first, last + 1))
    assert {code for code in range(0x110000) if HIDDEN.match(chr(code))} == listed


def test_texts_are_shown_and_quoted() -> None:
    for text, shown, in_line in VECTORS['texts']:
        assert plain(text) == shown
        assert plain(shown) == shown
        assert quoted(text) == in_line
