"""Compares the notarizer's speed with plain sending of prepared batches: `python
tools/bench_notarizer.py [PAIRS]`.

Needs TALLYSTICK_URL and TALLYSTICK_API_KEY. The two measurements of a pair follow each other, with
one batch in flight. Compare the ratios, because other load on the machine changes both
measurements.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import httpx2

from tallystick import Tallystick
from tallystick.notarizer import open_spool

RECORDS = 20_000
BATCH = 1_000


def payload(i: int) -> dict[str, Any]:
    return {'i': i, 'tool': 'search', 'arguments': {'query': 'price of copper', 'pages': [1, 2, 3]}, 'text': 'x' * 200}


def bare(client: Tallystick) -> None:
    made: list[Any] = [{'type': 'generic/1', 'payload': payload(i), 'occurredAt': '2026-11-28T00:00:00.000Z'} for i in range(BATCH)]
    body = json.dumps({'records': made}, separators=(',', ':'))
    headers = {'authorization': f'Bearer {os.environ["TALLYSTICK_API_KEY"]}', 'content-type': 'application/json'}
    with httpx2.Client(headers=headers) as http:
        for _ in range(RECORDS // BATCH):
            http.post(os.environ['TALLYSTICK_URL'] + '/v1/records/batch', content=body).raise_for_status()


def notarizer(client: Tallystick) -> None:
    with client.notarizer() as made:
        record(made)


def spool(client: Tallystick) -> None:
    with tempfile.TemporaryDirectory() as directory, client.notarizer(spool=open_spool(directory)) as made:
        record(made)


def record(made: Any) -> None:
    for i in range(RECORDS):
        made.ready()
        made.record(payload(i))


def rate(run: Callable[[Tallystick], None], client: Tallystick) -> float:
    began = time.perf_counter()
    run(client)
    return RECORDS / (time.perf_counter() - began)


def main(pairs: int) -> None:
    client = Tallystick()
    bare(client)  # a first run, which is not measured
    for name, run in (('notarizer', notarizer), ('notarizer with a spool', spool)):
        found = [(rate(bare, client), rate(run, client)) for _ in range(pairs)]
        ratios = [own / base for base, own in found]
        base, own = (statistics.median(column) for column in zip(*found, strict=True))
        print(f'{name}: {own:,.0f} records/s, bare batches {base:,.0f}; ratios {", ".join(f"{ratio:.0%}" for ratio in sorted(ratios))}')


if __name__ == '__main__':
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
