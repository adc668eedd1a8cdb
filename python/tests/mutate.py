"""Changes of what was signed: of statements that are signed anew, and of files."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

from forge import Chain, Line, compact, digest_of, export_of, range_of

Mutation = tuple[str, bytes]


def pool_of(lines: list[Line]) -> dict[str, list[Any]]:
    return members_of([line.statement for line in lines])


STRANGE: list[Any] = [
    None,
    True,
    0,
    1,
    -1,
    2**53,
    1.5,
    '',
    'x',
    'system',
    [],
    {},
    'a' * 64,
    '2026-11-20T12:00:00.000Z',
    '\u0001',
    [1],
    {'a': 1},
]


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for name in value:
            found += paths_of(value[name], (*path, name))
    elif isinstance(value, list):
        for index in range(len(value)):
            found += paths_of(value[index], (*path, index))
    return found


def change_one(value: Any, pool: dict[str, list[Any]], chance: random.Random) -> str:
    """Changes one member somewhere in it, in place, and says what it did."""
    path = chance.choice(paths_of(value))
    at = value
    for step in path[:-1]:
        at = at[step]
    last = path[-1]
    how = chance.choice(['pool', 'pool', 'pool', 'strange', 'drop', 'add', 'double', 'near'])
    if how == 'drop':
        del at[last]
    elif how == 'add' and isinstance(at, dict):
        name = chance.choice([*pool])
        at[name] = copy.deepcopy(chance.choice(pool[name]))
        return f'adds {name} beside {path}'
    elif how == 'double' and isinstance(at, list):
        at.append(copy.deepcopy(at[last]))
    elif how == 'near':
        at[last] = near(at[last], chance)
    elif how == 'pool' and isinstance(last, str) and pool.get(last):
        at[last] = copy.deepcopy(chance.choice(pool[last]))
    else:
        at[last] = copy.deepcopy(chance.choice(STRANGE))
    return f'{how} {path}'


def near(value: Any, chance: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + chance.choice([-1, 1])
    if isinstance(value, str) and value:
        at = chance.randrange(len(value))
        return value[:at] + chance.choice('0123456789abcdefZ/:.é ') + value[at + chance.choice([0, 1]) :]
    return [value]


def mend(statement: Any) -> None:
    """Makes digests of definitions fit again, so that what is refused is what they say."""
    try:
        predicate, subject = statement['predicate'], statement['subject'][0]
        kind = statement['predicateType'].split('/')[-2]
        if kind == 'ledger-created':
            subject['digest']['sha256'] = digest_of(predicate['definition'])
        elif kind in ('agent-registered', 'agent-disabled'):
            subject['digest']['sha256'] = digest_of({'agent': predicate['agent'], 'name': predicate['name']})
        elif kind in ('key-created', 'key-revoked'):
            said = {name: predicate[name] for name in ('agent', 'scopes', 'expiresAt')}
            subject['digest']['sha256'] = digest_of({'key': subject['name'], **said})
    except (KeyError, IndexError, TypeError, AttributeError, ValueError):
        pass


def resigned(chain: Chain, chance: random.Random) -> Mutation:
    """The ledger with one statement changed, or its entries in another order, signed and chained anew."""
    about, lines = changed(chain, chance)
    return about, export_of(chain, lines, checkpoint=chance.random() < 0.9)


def range_resigned(chain: Chain, chance: random.Random) -> Mutation:
    """A range of such a ledger, mostly with its statement, and now and then with something else beside it than belongs there."""
    about, lines = changed(chain, chance)
    at = next((seq for seq, line in enumerate(lines) if line.statement is None), 1)
    start = chance.choice([chance.randrange(len(lines)), at, max(at - 1, 0)])
    end = max(start, chance.randrange(at, len(lines)))
    beside = None if chance.random() < 0.8 else {0, *chance.sample(range(len(lines)), 5)}
    return f'{about}, {start} to {end} beside {beside}', range_of(chain, lines, start, end, beside)


def changed(chain: Chain, chance: random.Random) -> tuple[str, list[Line]]:
    lines = copy.deepcopy(chain.lines)
    at = chance.randrange(len(lines))
    how = chance.choice(['change'] * 6 + ['drop', 'double', 'swap', 'signer', 'move', 'received'])
    about = f'{how} {at}'
    if how == 'change' and lines[at].statement is not None:
        about += ' ' + change_one(lines[at].statement, pool_of(lines), chance)
        if chance.random() < 0.7:
            mend(lines[at].statement)
    elif how == 'drop':
        del lines[at]
    elif how == 'double':
        lines.insert(chance.randrange(at, len(lines)) + 1, copy.deepcopy(lines[at]))
    elif how == 'swap':
        other = chance.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif how == 'move':
        lines.insert(chance.randrange(len(lines)), lines.pop(at))
    elif how == 'signer':
        lines[at].signer = chance.choice([*chain.signers.values()])
        lines[at].by_agent = lines[at].signer not in (chain.server, chain.lines[0].signer)
    elif how == 'received':
        others = [line for line in lines if line.received is not None]
        if others:
            chance.choice(others).received = chance.choice(others).received
    return about, lines


def other_half(chain: Chain, chance: random.Random) -> Mutation:
    """A ledger that verifies by itself, mostly, and is not what its peer has seen: cut off, or with an entry less or another one."""
    if chance.random() < 0.4:
        size = chance.randrange(4, len(chain.lines) + 1)
        return f'first {size}', export_of(chain, chain.lines[:size])
    lines = copy.deepcopy(chain.lines)
    at = chance.randrange(3, len(lines))
    if chance.random() < 0.5:
        del lines[at]
        return f'without {at}', export_of(chain, lines)
    predicate = lines[at].statement
    assert predicate is not None
    predicate['predicate']['recordedAt'] = predicate['predicate']['recordedAt'][:-4] + '999Z'
    return f'another {at}', export_of(chain, lines)


def damaged(data: bytes, chance: random.Random) -> Mutation:
    """A file with a few bytes changed, or its lines dropped, doubled or exchanged."""
    how = chance.choice(['flip', 'flip', 'digit', 'cut', 'drop', 'double', 'swap', 'insert', 'splice'])
    if how in ('drop', 'double', 'swap'):
        lines = data.split(b'\n')
        a, b = chance.randrange(len(lines)), chance.randrange(len(lines))
        if how == 'drop':
            del lines[a]
        elif how == 'double':
            lines.insert(b, lines[a])
        else:
            lines[a], lines[b] = lines[b], lines[a]
        return f'{how} {a} {b}', b'\n'.join(lines)
    at = chance.randrange(len(data))
    if how == 'cut':
        return f'cut {at}', data[:at]
    if how == 'insert':
        return f'insert {at}', data[:at] + bytes([chance.randrange(256)]) + data[at:]
    if how == 'splice':
        start, length = chance.randrange(len(data)), chance.randrange(1, 64)
        return f'splice {at}', data[:at] + data[start : start + length] + data[at + length :]
    if how == 'digit':
        at = next((i for i in range(at, len(data)) if chr(data[i]).isalnum()), at)
        return f'digit {at}', data[:at] + chance.choice(b'0123456789abcdefABCDEF').to_bytes() + data[at + 1 :]
    return f'flip {at}', data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]


def json_or_bytes(data: bytes, chance: random.Random) -> Mutation:
    """A document of JSON with one member changed; now and then, bytes."""
    if chance.random() < 0.3:
        return damaged(data, chance)
    value = json.loads(data)
    about = change_one(value, members_of(value), chance)
    return about, compact(value)


def lines(data: bytes, chance: random.Random) -> Mutation:
    """A file of lines with one member of one line changed; now and then, bytes or whole lines."""
    if chance.random() < 0.2:
        return damaged(data, chance)
    parts = data.removesuffix(b'\n').split(b'\n')
    at = chance.randrange(len(parts))
    values = [json.loads(part) for part in parts]
    pool: dict[str, list[Any]] = {}
    for value in values:
        for name, members in members_of(value).items():
            pool.setdefault(name, []).extend(members)
    about = change_one(values[at], pool, chance)
    parts[at] = compact(values[at])
    return f'line {at} {about}', b'\n'.join(parts) + b'\n'


def members_of(value: Any) -> dict[str, list[Any]]:
    """Every value that a member has somewhere, by the member's name: exchanged, it is well-formed and wrong."""
    pool: dict[str, list[Any]] = {}
    stack = [value]
    while stack:
        at = stack.pop()
        if isinstance(at, dict):
            for name, member in at.items():
                pool.setdefault(name, []).append(member)
                stack.append(member)
        elif isinstance(at, list):
            stack.extend(at)
    return pool
