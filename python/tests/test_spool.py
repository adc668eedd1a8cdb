"""Tests the directory of a spool, without a server."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from threading import Thread

from tallystick.notarizer import open_spool
from tallystick.notarizer.items import Item, make_item
from tallystick.notarizer.lines import format_item, format_key
from tallystick.notarizer.segments import Found, SpooledBatch

KEY = 'a' * 32


def item(number: int) -> Item:
    return make_item({'i': number}, now=0).item


def put(spool: Path, numbers: Iterable[int]) -> None:
    inbox = spool / 'inbox'
    inbox.mkdir(exist_ok=True)
    for number in numbers:
        (inbox / f'0000000000000-{number:06d}-{KEY}.ndjson').write_bytes(format_key(KEY) + format_item(item(number)))


def texts(batches: Iterable[SpooledBatch]) -> list[bytes]:
    return [each.text for batch in batches for segment in batch.read() for each in segment.items]


def test_what_is_taken_while_the_inbox_is_adopted_is_kept_beside_it(tmp_path: Path) -> None:
    spool = open_spool(tmp_path)
    for count in (1, 3, 30):
        put(tmp_path, range(count))
        found: list[Found] = []
        adopting = [Thread(target=lambda found=found: found.append(spool.adopt())) for _ in range(2)]
        for thread in adopting:
            thread.start()
        taken = []
        while any(thread.is_alive() for thread in adopting):
            taken.append(spool.begin(KEY, item(99)))
        for thread in adopting:
            thread.join()
        assert [error for each in found for error in each.errors] == []
        assert texts(batch for each in found for batch in each.batches) == [item(number).text for number in range(count)]
        assert texts(taken) == [item(99).text] * len(taken)
    spool.close()


def test_files_of_the_inbox_that_could_not_become_a_batch_become_one_for_the_next_process(tmp_path: Path) -> None:
    spool = open_spool(tmp_path)
    put(tmp_path, range(2))
    in_the_way = tmp_path / '0000000000000001.ndjson.tmp'
    in_the_way.mkdir()
    assert len(spool.adopt().errors) == 1
    in_the_way.rmdir()
    spool.begin(KEY, item(2))
    spool.close()
    following = open_spool(tmp_path)
    assert texts(following.recover().batches) == [item(number).text for number in range(3)]
    following.close()
