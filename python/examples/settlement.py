"""Pays when a ledger signals it: receives webhooks of `signal.emitted`, trusts only signed statements,
and pays once.

    uvicorn --app-dir examples settlement:app --port 8787

WEBHOOK_SECRET and WEBHOOK_PUBLIC_KEY come from the answer that created the endpoint. TALLYSTICK_URL
and TALLYSTICK_API_KEY name the server. Its keys are read only on the first start. SETTLEMENT_FOLDER
is the folder of the stored files.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response

from tallystick import Tallystick
from tallystick.types import DeliveredSignalEvent
from tallystick.webhooks import SignalError, SignalExpiredError, VerifiedSignal, WebhookVerificationError, verify, verify_signal

BODY_BYTES_MAX = 256 * 1024
"""A signal takes a few KiB. Its envelope and the members that repeat it take at most 32 KiB each, before base64."""


class Book:
    """Signals that were acted upon. A signal counts only if its version is higher than the stored
    version of its record. A record is paid at most once.
    """

    def __init__(self, path: Path) -> None:
        self.database = sqlite3.connect(path, check_same_thread=False)
        self.database.execute('create table if not exists settled (record text primary key, version int, paid int)')

    def take(self, signal: VerifiedSignal) -> str:
        with self.database as transaction:
            found = transaction.execute('select version, paid from settled where record = ?', [signal.record]).fetchone()
            version, paid = found or (0, 0)
            if signal.version <= version:
                return 'known, or overtaken'
            pays = signal.decision != 'HOLD'
            row = [signal.record, signal.version, int(paid or pays)]
            transaction.execute('insert or replace into settled values (?, ?, ?)', row)
            # Order the payment here, in the same transaction.
        return 'paid before: somebody must look' if paid else 'paid' if pays else 'held'


def kept_trust(path: Path) -> dict[str, Any]:
    """Returns the ledger's id and the server's keys. The server is trusted only on the first start.

    After a rotation of the keys, signals are refused until a person adds the new key to the file.
    """
    if not path.exists():
        with Tallystick() as tallystick:
            trust = {'ledger': tallystick.ledger.get().id, **tallystick.key_document().to_dict()}
        path.write_text(json.dumps(trust))
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    folder = Path(os.environ.get('SETTLEMENT_FOLDER', 'settlement'))
    folder.mkdir(parents=True, exist_ok=True)
    trust = kept_trust(folder / 'trust.json')
    app.state.trust = {'ledger': trust['ledger'], 'keys': trust['keys']}
    app.state.book = Book(folder / 'book.sqlite')
    yield
    app.state.book.database.close()


app = FastAPI(lifespan=lifespan)


@app.post('/')
async def receive(request: Request) -> Response:
    """Answers 2xx for an event that is handled or ignored. After any other status the server sends the
    event again for more than a day, so that a person can correct the fault.
    """
    if int(request.headers.get('content-length', BODY_BYTES_MAX + 1)) > BODY_BYTES_MAX:
        return Response(status_code=413)
    try:
        webhook = verify(
            await request.body(),
            request.headers,
            secret=os.environ['WEBHOOK_SECRET'],
            public_key=os.environ['WEBHOOK_PUBLIC_KEY'],
        )
        if isinstance(webhook.event, DeliveredSignalEvent):
            signal = verify_signal(webhook, **app.state.trust)
            print(f'{signal.decision} {signal.once}: {app.state.book.take(signal)}', flush=True)
    except SignalExpiredError as error:
        # The signal has expired. The answer is 2xx, because a second delivery of the signal would
        # be too late as well.
        print(f'{error}: somebody must look', flush=True)
    except (WebhookVerificationError, SignalError) as error:
        print(error, flush=True)
        return Response(status_code=400)
    return Response(status_code=204)
