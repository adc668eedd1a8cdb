"""Trees of RFC 9162 with SHA-256: hashes, paths, growing trees (docs/formats/chain-and-checkpoints.md)."""

from hashlib import sha256

from .errors import Refused

EMPTY_ROOT = sha256(b'').digest()


def leaf_hash(data: bytes) -> bytes:
    return sha256(b'\x00' + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b'\x01' + left + right).digest()


def genesis(ledger_uuid: bytes) -> bytes:
    return sha256(b'tallystick-chain-v1' + ledger_uuid).digest()


def link(before: bytes, leaf: bytes) -> bytes:
    return sha256(b'\x02' + before + leaf).digest()


class Tree:
    """A tree that grows leaf by leaf. Stores the roots of its perfect subtrees, largest first."""

    __slots__ = ('peaks', 'size')

    def __init__(self, size: int = 0, peaks: list[bytes] | None = None) -> None:
        self.size = size
        self.peaks: list[bytes] = peaks if peaks is not None else []

    def add(self, leaf: bytes) -> None:
        size = self.size
        while size & 1:
            leaf = node_hash(self.peaks.pop(), leaf)
            size >>= 1
        self.peaks.append(leaf)
        self.size += 1

    def root(self) -> bytes:
        if not self.peaks:
            return EMPTY_ROOT
        root = self.peaks[-1]
        for peak in reversed(self.peaks[:-1]):
            root = node_hash(peak, root)
        return root


def root_of(leaves: list[bytes]) -> bytes:
    tree = Tree()
    for leaf in leaves:
        tree.add(leaf)
    return tree.root()


def root_by_path(leaf: bytes, index: int, size: int, path: list[bytes]) -> bytes:
    """Returns the root that a path leads to (RFC 9162 §2.1.3.2). Raises Refused."""
    if not 0 <= index < size:
        raise Refused('merkle_range', f'leaf {index} is not one of {size} leaves')
    if any(len(sibling) != 32 for sibling in path):
        raise Refused('merkle_path', 'a hash of the path does not have 32 bytes')
    node, last, root = index, size - 1, leaf
    for sibling in path:
        if last == 0:
            raise Refused('merkle_path', f'the path has {len(path)} hashes, too many for {size} leaves')
        if node & 1 or node == last:
            root = node_hash(sibling, root)
            while not node & 1 and node:
                node >>= 1
                last >>= 1
        else:
            root = node_hash(root, sibling)
        node >>= 1
        last >>= 1
    if last:
        raise Refused('merkle_path', f'the path has {len(path)} hashes, too few for {size} leaves')
    return root


def check_inclusion(leaf: bytes, index: int, size: int, path: list[bytes], root: bytes) -> None:
    if root_by_path(leaf, index, size, path) != root:
        raise Refused('merkle_path', f'the path from leaf {index} of {size} leads to another root than expected')


def root_by_consistency(first: int, second: int, path: list[bytes], first_root: bytes) -> bytes:
    """Returns the root of `second` leaves that begin with the tree of `first` (RFC 9162 §2.1.4.2). Raises Refused."""
    if not 1 <= first <= second:
        raise Refused('merkle_range', f'the first size, {first}, must be from 1 to the second size, {second}')
    if any(len(node) != 32 for node in path):
        raise Refused('merkle_path', 'a hash of the path does not have 32 bytes')
    ends = f'from {first} to {second} leaves'
    if first == second:
        if path:
            raise Refused('merkle_path', f'the path {ends} has {len(path)} hashes, which are too many')
        return first_root
    nodes = list(path)
    if first & (first - 1) == 0:
        nodes.insert(0, first_root)
    if not nodes:
        raise Refused('merkle_path', f'a path {ends} needs at least one hash')
    at, last = first - 1, second - 1
    while at & 1:
        at >>= 1
        last >>= 1
    old = new = nodes[0]
    for node in nodes[1:]:
        if last == 0:
            raise Refused('merkle_path', f'the path {ends} has {len(path)} hashes, which are too many')
        if at & 1 or at == last:
            old = node_hash(node, old)
            new = node_hash(node, new)
            while not at & 1 and at:
                at >>= 1
                last >>= 1
        else:
            new = node_hash(new, node)
        at >>= 1
        last >>= 1
    if last:
        raise Refused('merkle_path', f'the path {ends} has {len(path)} hashes, which are too few')
    if old != first_root:
        raise Refused('merkle_path', f'the path {ends} does not start at the smaller root')
    return new


def check_consistency(first: int, second: int, path: list[bytes], first_root: bytes, second_root: bytes) -> None:
    if root_by_consistency(first, second, path, first_root) != second_root:
        raise Refused('merkle_path', f'the path from {first} to {second} leaves leads to another root than expected')
