"""A spool on a full disk: its records can still be sent, and it accepts no record that it could not
send.
"""

from __future__ import annotations

import errno
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ledger import QUICK, URL, Ledger, ledger, needs_server

from tallystick.errors import TallystickError
from tallystick.notarizer import Spool, SpoolError, SpoolInUseError, open_spool
from tallystick.notarizer.items import make_item
from tallystick.notarizer.lines import format_item, format_key
from tallystick.notarizer.reserve import Reserve

__all__ = ['ledger']
FULL = 'free some space, because the disk is full'


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Mounts a small file system. Skips the test where mounting is not allowed."""
    mounted: list[Path] = []

    def make(*, size: int, inodes: int = 10_000) -> Path:
        path = tmp_path / f'disk-{len(mounted)}'
        path.mkdir(mode=0o700)
        options = f'size={size},nr_inodes={inodes},mode=0700'
        if subprocess.run(['mount', '-t', 'tmpfs', '-o', options, 'tmpfs', str(path)], stderr=subprocess.DEVNULL).returncode != 0:
            pytest.skip('a small file system is mounted by root on Linux alone')
        mounted.append(path)
        return path

    yield make
    for path in mounted:
        subprocess.run(['umount', '-l', str(path)], check=False)


def fill(directory: Path) -> None:
    """Fills the disk, as another program would."""
    size = 65_536
    with (directory / 'lost+found').open('ab', buffering=0) as file:
        while size >= 1:
            try:
                if file.write(b'\0' * size) < size:
                    return
            except OSError:
                size //= 2


def open_released(directory: Path) -> Spool:
    """Opens a spool whose notarizer was closed. It owns the spool until its attempt in flight has ended."""
    until = time.monotonic() + 10
    while True:
        try:
            return open_spool(directory)
        except SpoolInUseError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


@needs_server
def test_a_spool_that_has_filled_its_disk_is_emptied_and_takes_records_again(ledger: Ledger, small_disk: Callable[..., Path]) -> None:
    directory = small_disk(size=512 * 1024)
    options: dict[str, Any] = {**QUICK, 'records_per_batch_max': 100, 'on_refused': lambda *_: None}
    away = ledger.connect('http://127.0.0.1:9').notarizer(spool=open_spool(directory), on_error=lambda _: None, **options)
    taken: list[int] = []
    failures = i = 0
    while failures < 50:
        refused = i % 20 == 7
        try:
            away.record(
                {'i': i, 'pad': 'x' * (120 if i % 7 else 3_000)},
                handle=f'h{i}',
                parent_handle=f'h{i - 1}' if i % 3 == 1 else None,
                **({'occurred_at': 'once'} if refused else {}),
            )
            if not refused:
                taken.append(i)
        except SpoolError as error:
            assert FULL in str(error)
            failures += 1
        i += 1
    assert len(taken) > 100
    fill(directory)
    with pytest.raises(TallystickError):
        away.close(0.01)
    fill(directory)

    errors: list[TallystickError] = []
    with ledger.connect(URL).notarizer(spool=open_released(directory), on_error=errors.append, **options) as notarizer:
        notarizer.flush()
        assert ledger.numbers() == taken
        notarizer.record({'i': i})
    assert ledger.numbers() == [*taken, i]
    assert [error for error in errors if isinstance(error, SpoolError)] == []
    refused_lines = (directory / 'refused.ndjson').read_text().splitlines()
    assert {json.loads(line)['record']['payload']['i'] % 20 for line in refused_lines} == {7}
    assert (directory / 'reserve.0').stat().st_size >= 8 * 1024


@needs_server
def test_an_inbox_that_has_filled_its_disk_or_used_up_its_inodes_is_emptied(ledger: Ledger, small_disk: Callable[..., Path]) -> None:
    expected: list[int] = []
    for disk in ({'size': 512 * 1024}, {'size': 8 * 1024 * 1024, 'inodes': 100}):
        directory = small_disk(**disk)
        open_spool(directory).close()
        (directory / 'inbox').mkdir()
        try:
            for _ in range(10_000):
                i = len(expected)
                key = f'{i:032x}'
                path = directory / 'inbox' / f'0000000000000-{i:06d}-{key}.ndjson'
                made = path.with_suffix('.tmp')
                made.write_bytes(format_key(key) + format_item(make_item({'i': i, 'pad': 'x' * 2_000}, handle=f'h{i}', now=0).item))
                made.replace(path)
                expected.append(i)
        except OSError as error:
            assert error.errno == errno.ENOSPC
            made.unlink(missing_ok=True)
        errors: list[TallystickError] = []
        with ledger.client.notarizer(spool=open_spool(directory), on_error=errors.append, **QUICK) as notarizer:
            while notarizer.adopt() > 0:
                notarizer.flush()
        assert [error for error in errors if isinstance(error, SpoolError)] == []
        assert ledger.numbers() == expected


def test_a_reserve_is_given_up_once_and_comes_back(small_disk: Callable[..., Path]) -> None:
    directory = small_disk(size=512 * 1024)
    reserve = Reserve(directory)
    reserve.ensure(100_000)
    fill(directory)
    with pytest.raises(OSError, match='No space'):
        (directory / 'x').write_bytes(b'x' * 4096)
    with pytest.raises(OSError, match='No space'):
        reserve.ensure(200_000)
    reserve.lend(lambda: (directory / 'x').write_bytes(b'x' * 60_000))
    assert 0 < (directory / 'reserve.0').stat().st_size < 16 * 1024, 'as much of it as there is room for'
    (directory / 'x').unlink()
    assert reserve.restore()
    assert (directory / 'reserve.0').stat().st_size == 16 * 1024


def test_a_lock_that_cannot_be_read_for_a_moment_is_not_another_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = open_spool(tmp_path, lock_stale_s=0.2)
    read = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path.name == 'lock':
            raise OSError(errno.EMFILE, 'Too many open files')
        return read(path)

    item = make_item({'i': 0}, now=0).item
    monkeypatch.setattr(Path, 'read_bytes', refuse)
    monkeypatch.setattr(spool._lock, '_seen_at', -1e9)
    with pytest.raises(SpoolError, match='limit of open files of this process') as raised:
        spool.begin('a' * 32, item)
    assert raised.value.retryable
    monkeypatch.undo()
    spool.begin('a' * 32, item)
    spool.close()


def test_a_directory_that_nobody_can_make_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / 'file').write_text('')
    for path in (tmp_path / 'file' / 'spool', Path('/proc/spool'), Path('/proc/spool/deeper')):
        with pytest.raises(SpoolError, match=r'No such file|Not a directory|File exists'):
            open_spool(path)
