# Made by `npm run python:generate`; not to be edited.
"""The methods of the client, answering a RawResponse."""

from __future__ import annotations

from .client import AsyncTallystick, AsyncTallystickOperator
from .raw_call import raw
from .resources.agents import AsyncAgents
from .resources.audits import AsyncAudits
from .resources.batches import AsyncBatches
from .resources.checkpoints import AsyncCheckpoints
from .resources.entries import AsyncEntries
from .resources.events import AsyncEvents
from .resources.health import AsyncHealth
from .resources.keys import AsyncKeys
from .resources.ledgers import AsyncLedger, AsyncLedgers
from .resources.peers import AsyncPeers
from .resources.records import AsyncRecords
from .resources.retention import AsyncHolds, AsyncRetention
from .resources.statements import AsyncStatements
from .resources.types import AsyncRecordTypes
from .resources.webhooks import AsyncWebhooks


class AsyncAgentsWithRawResponse:
    def __init__(self, wrapped: AsyncAgents) -> None:
        self.register = raw(wrapped.register)
        self.get = raw(wrapped.get)
        self.register_signing_key = raw(wrapped.register_signing_key)
        self.revoke_signing_key = raw(wrapped.revoke_signing_key)
        self.disable = raw(wrapped.disable)


class AsyncAuditsWithRawResponse:
    def __init__(self, wrapped: AsyncAudits) -> None:
        self.start = raw(wrapped.start)
        self.get = raw(wrapped.get)
        self.run = raw(wrapped.run)


class AsyncBatchesWithRawResponse:
    def __init__(self, wrapped: AsyncBatches) -> None:
        self.notarize = raw(wrapped.notarize)


class AsyncCheckpointsWithRawResponse:
    def __init__(self, wrapped: AsyncCheckpoints) -> None:
        self.latest = raw(wrapped.latest)
        self.get = raw(wrapped.get)
        self.consistency = raw(wrapped.consistency)
        self.consistency_receipt = raw(wrapped.consistency_receipt)


class AsyncEntriesWithRawResponse:
    def __init__(self, wrapped: AsyncEntries) -> None:
        self.first_since = raw(wrapped.first_since)
        self.proof = raw(wrapped.proof)
        self.receipt = raw(wrapped.receipt)


class AsyncEventsWithRawResponse:
    def __init__(self, wrapped: AsyncEvents) -> None:
        self.page = raw(wrapped.page)


class AsyncHealthWithRawResponse:
    def __init__(self, wrapped: AsyncHealth) -> None:
        self.live = raw(wrapped.live)
        self.ready = raw(wrapped.ready)


class AsyncKeysWithRawResponse:
    def __init__(self, wrapped: AsyncKeys) -> None:
        self.create = raw(wrapped.create)
        self.get = raw(wrapped.get)
        self.rotate = raw(wrapped.rotate)
        self.revoke = raw(wrapped.revoke)
        self.set_rate_limit = raw(wrapped.set_rate_limit)
        self.set_otlp = raw(wrapped.set_otlp)


class AsyncLedgerWithRawResponse:
    def __init__(self, wrapped: AsyncLedger) -> None:
        self.get = raw(wrapped.get)


class AsyncLedgersWithRawResponse:
    def __init__(self, wrapped: AsyncLedgers) -> None:
        self.create = raw(wrapped.create)
        self.get = raw(wrapped.get)
        self.freeze = raw(wrapped.freeze)
        self.unfreeze = raw(wrapped.unfreeze)
        self.issue_key = raw(wrapped.issue_key)
        self.set_rate_limit = raw(wrapped.set_rate_limit)
        self.set_tiles = raw(wrapped.set_tiles)
        self.get_restore = raw(wrapped.get_restore)
        self.acknowledge_restore = raw(wrapped.acknowledge_restore)


class AsyncPeersWithRawResponse:
    def __init__(self, wrapped: AsyncPeers) -> None:
        self.invite = raw(wrapped.invite)
        self.accept = raw(wrapped.accept)
        self.get = raw(wrapped.get)
        self.suspend = raw(wrapped.suspend)
        self.resume = raw(wrapped.resume)
        self.revoke = raw(wrapped.revoke)
        self.set_budget = raw(wrapped.set_budget)
        self.record = raw(wrapped.record)
        self.replay = raw(wrapped.replay)
        self.reconciliation = raw(wrapped.reconciliation)
        self.reconcile = raw(wrapped.reconcile)


class AsyncRecordsWithRawResponse:
    def __init__(self, wrapped: AsyncRecords) -> None:
        self.notarize = raw(wrapped.notarize)
        self.create = raw(wrapped.create)
        self.activate = raw(wrapped.activate)
        self.complete = raw(wrapped.complete)
        self.verdict = raw(wrapped.verdict)
        self.request_revision = raw(wrapped.request_revision)
        self.cancel = raw(wrapped.cancel)
        self.overturn = raw(wrapped.overturn)
        self.share = raw(wrapped.share)
        self.get = raw(wrapped.get)
        self.until = raw(wrapped.until)
        self.tree = raw(wrapped.tree)
        self.proof = raw(wrapped.proof)
        self.receipt = raw(wrapped.receipt)
        self.erase_payload = raw(wrapped.erase_payload)
        self.erase_evidence = raw(wrapped.erase_evidence)
        self.erase_values = raw(wrapped.erase_values)
        self.erase_reason = raw(wrapped.erase_reason)


class AsyncRetentionWithRawResponse:
    def __init__(self, wrapped: AsyncRetention) -> None:
        self.set_rule = raw(wrapped.set_rule)
        self.rules = raw(wrapped.rules)
        self.preview = raw(wrapped.preview)


class AsyncHoldsWithRawResponse:
    def __init__(self, wrapped: AsyncHolds) -> None:
        self.set = raw(wrapped.set)
        self.lift = raw(wrapped.lift)


class AsyncStatementsWithRawResponse:
    def __init__(self, wrapped: AsyncStatements) -> None:
        self.register = raw(wrapped.register)
        self.get = raw(wrapped.get)
        self.receipt = raw(wrapped.receipt)
        self.set_policy = raw(wrapped.set_policy)
        self.policy = raw(wrapped.policy)


class AsyncRecordTypesWithRawResponse:
    def __init__(self, wrapped: AsyncRecordTypes) -> None:
        self.register = raw(wrapped.register)
        self.get = raw(wrapped.get)
        self.preview = raw(wrapped.preview)
        self.preview_definition = raw(wrapped.preview_definition)


class AsyncWebhooksWithRawResponse:
    def __init__(self, wrapped: AsyncWebhooks) -> None:
        self.create = raw(wrapped.create)
        self.get = raw(wrapped.get)
        self.update = raw(wrapped.update)
        self.pause = raw(wrapped.pause)
        self.resume = raw(wrapped.resume)
        self.delete = raw(wrapped.delete)
        self.rotate_secret = raw(wrapped.rotate_secret)
        self.test = raw(wrapped.test)
        self.delivery = raw(wrapped.delivery)
        self.redeliver = raw(wrapped.redeliver)
        self.redeliver_dead = raw(wrapped.redeliver_dead)
        self.recover = raw(wrapped.recover)


class AsyncTallystickWithRawResponse:
    def __init__(self, wrapped: AsyncTallystick) -> None:
        self.key_document = raw(wrapped.key_document)
        self.records = AsyncRecordsWithRawResponse(wrapped.records)
        self.batches = AsyncBatchesWithRawResponse(wrapped.batches)
        self.types = AsyncRecordTypesWithRawResponse(wrapped.types)
        self.agents = AsyncAgentsWithRawResponse(wrapped.agents)
        self.keys = AsyncKeysWithRawResponse(wrapped.keys)
        self.ledger = AsyncLedgerWithRawResponse(wrapped.ledger)
        self.entries = AsyncEntriesWithRawResponse(wrapped.entries)
        self.events = AsyncEventsWithRawResponse(wrapped.events)
        self.checkpoints = AsyncCheckpointsWithRawResponse(wrapped.checkpoints)
        self.audits = AsyncAuditsWithRawResponse(wrapped.audits)
        self.webhooks = AsyncWebhooksWithRawResponse(wrapped.webhooks)
        self.peers = AsyncPeersWithRawResponse(wrapped.peers)
        self.statements = AsyncStatementsWithRawResponse(wrapped.statements)
        self.retention = AsyncRetentionWithRawResponse(wrapped.retention)
        self.holds = AsyncHoldsWithRawResponse(wrapped.holds)
        self.health = AsyncHealthWithRawResponse(wrapped.health)


class AsyncTallystickOperatorWithRawResponse:
    def __init__(self, wrapped: AsyncTallystickOperator) -> None:
        self.ledgers = AsyncLedgersWithRawResponse(wrapped.ledgers)
        self.health = AsyncHealthWithRawResponse(wrapped.health)
