# Made by `npm run python:generate`; not to be edited.
"""The methods of the client, answering a RawResponse."""

from __future__ import annotations

from .client import Tallystick, TallystickOperator
from .raw_call import raw
from .resources.agents import Agents
from .resources.audits import Audits
from .resources.batches import Batches
from .resources.checkpoints import Checkpoints
from .resources.entries import Entries
from .resources.events import Events
from .resources.health import Health
from .resources.keys import Keys
from .resources.ledgers import Ledger, Ledgers
from .resources.peers import Peers
from .resources.records import Records
from .resources.retention import Holds, Retention
from .resources.statements import Statements
from .resources.types import RecordTypes
from .resources.webhooks import Webhooks


class AgentsWithRawResponse:
    def __init__(self, wrapped: Agents) -> None:
        self.register = raw(wrapped.register)
        self.get = raw(wrapped.get)
        self.register_signing_key = raw(wrapped.register_signing_key)
        self.revoke_signing_key = raw(wrapped.revoke_signing_key)
        self.disable = raw(wrapped.disable)


class AuditsWithRawResponse:
    def __init__(self, wrapped: Audits) -> None:
        self.start = raw(wrapped.start)
        self.get = raw(wrapped.get)
        self.run = raw(wrapped.run)


class BatchesWithRawResponse:
    def __init__(self, wrapped: Batches) -> None:
        self.notarize = raw(wrapped.notarize)


class CheckpointsWithRawResponse:
    def __init__(self, wrapped: Checkpoints) -> None:
        self.latest = raw(wrapped.latest)
        self.get = raw(wrapped.get)
        self.consistency = raw(wrapped.consistency)
        self.consistency_receipt = raw(wrapped.consistency_receipt)


class EntriesWithRawResponse:
    def __init__(self, wrapped: Entries) -> None:
        self.first_since = raw(wrapped.first_since)
        self.proof = raw(wrapped.proof)
        self.receipt = raw(wrapped.receipt)


class EventsWithRawResponse:
    def __init__(self, wrapped: Events) -> None:
        self.page = raw(wrapped.page)


class HealthWithRawResponse:
    def __init__(self, wrapped: Health) -> None:
        self.live = raw(wrapped.live)
        self.ready = raw(wrapped.ready)


class KeysWithRawResponse:
    def __init__(self, wrapped: Keys) -> None:
        self.create = raw(wrapped.create)
        self.get = raw(wrapped.get)
        self.rotate = raw(wrapped.rotate)
        self.revoke = raw(wrapped.revoke)
        self.set_rate_limit = raw(wrapped.set_rate_limit)
        self.set_otlp = raw(wrapped.set_otlp)


class LedgerWithRawResponse:
    def __init__(self, wrapped: Ledger) -> None:
        self.get = raw(wrapped.get)


class LedgersWithRawResponse:
    def __init__(self, wrapped: Ledgers) -> None:
        self.create = raw(wrapped.create)
        self.get = raw(wrapped.get)
        self.freeze = raw(wrapped.freeze)
        self.unfreeze = raw(wrapped.unfreeze)
        self.issue_key = raw(wrapped.issue_key)
        self.set_rate_limit = raw(wrapped.set_rate_limit)
        self.set_tiles = raw(wrapped.set_tiles)
        self.get_restore = raw(wrapped.get_restore)
        self.acknowledge_restore = raw(wrapped.acknowledge_restore)


class PeersWithRawResponse:
    def __init__(self, wrapped: Peers) -> None:
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


class RecordsWithRawResponse:
    def __init__(self, wrapped: Records) -> None:
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


class RetentionWithRawResponse:
    def __init__(self, wrapped: Retention) -> None:
        self.set_rule = raw(wrapped.set_rule)
        self.rules = raw(wrapped.rules)
        self.preview = raw(wrapped.preview)


class HoldsWithRawResponse:
    def __init__(self, wrapped: Holds) -> None:
        self.set = raw(wrapped.set)
        self.lift = raw(wrapped.lift)


class StatementsWithRawResponse:
    def __init__(self, wrapped: Statements) -> None:
        self.register = raw(wrapped.register)
        self.get = raw(wrapped.get)
        self.receipt = raw(wrapped.receipt)
        self.set_policy = raw(wrapped.set_policy)
        self.policy = raw(wrapped.policy)


class RecordTypesWithRawResponse:
    def __init__(self, wrapped: RecordTypes) -> None:
        self.register = raw(wrapped.register)
        self.get = raw(wrapped.get)
        self.preview = raw(wrapped.preview)
        self.preview_definition = raw(wrapped.preview_definition)


class WebhooksWithRawResponse:
    def __init__(self, wrapped: Webhooks) -> None:
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


class TallystickWithRawResponse:
    def __init__(self, wrapped: Tallystick) -> None:
        self.key_document = raw(wrapped.key_document)
        self.records = RecordsWithRawResponse(wrapped.records)
        self.batches = BatchesWithRawResponse(wrapped.batches)
        self.types = RecordTypesWithRawResponse(wrapped.types)
        self.agents = AgentsWithRawResponse(wrapped.agents)
        self.keys = KeysWithRawResponse(wrapped.keys)
        self.ledger = LedgerWithRawResponse(wrapped.ledger)
        self.entries = EntriesWithRawResponse(wrapped.entries)
        self.events = EventsWithRawResponse(wrapped.events)
        self.checkpoints = CheckpointsWithRawResponse(wrapped.checkpoints)
        self.audits = AuditsWithRawResponse(wrapped.audits)
        self.webhooks = WebhooksWithRawResponse(wrapped.webhooks)
        self.peers = PeersWithRawResponse(wrapped.peers)
        self.statements = StatementsWithRawResponse(wrapped.statements)
        self.retention = RetentionWithRawResponse(wrapped.retention)
        self.holds = HoldsWithRawResponse(wrapped.holds)
        self.health = HealthWithRawResponse(wrapped.health)


class TallystickOperatorWithRawResponse:
    def __init__(self, wrapped: TallystickOperator) -> None:
        self.ledgers = LedgersWithRawResponse(wrapped.ledgers)
        self.health = HealthWithRawResponse(wrapped.health)
