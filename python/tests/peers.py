"""Two forged ledgers that share records."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from forge import SCOPES, Chain, digest_of


class Pair:
    def __init__(self, name: str = 'peers') -> None:
        self.home, self.guest = Chain(name + ' home'), Chain(name + ' guest')
        self.boss = self.home.api_key(self.home.agent('boss'), SCOPES)
        self.helper = self.guest.api_key(self.guest.agent('helper'), SCOPES)
        self.remote = f'{self.guest.led}/{self.helper[0]}'
        self.peer = self.home.id('peer')
        self._shake()

    def _identity(self, chain: Chain) -> dict[str, Any]:
        return {
            'ledger': chain.led,
            'url': f'https://{chain.name.replace(" ", "-")}.example',
            'origin': chain.origin,
            'genesis': chain.genesis,
            'envelopeKey': chain.server.public(),
        }

    def _shake(self) -> None:
        said: dict[str, Any] = {
            'tokenHash': sha256(b'token').hexdigest(),
            'inviter': self._identity(self.home),
            'invited': self._identity(self.guest),
        }
        self.handshake = digest_of({'peer': self.peer, **said})
        at = self.home.add('peer-added', [(self.peer, self.handshake)], said)
        other = {'counterpart': self.home.lines[at].leaf().hex(), **said}
        self.receive(self.home, self.guest, self.guest.add('peer-added', [(self.peer, self.handshake)], other))

    def claim(self, sender: Chain, seq: int) -> dict[str, Any]:
        line = sender.lines[seq]
        assert line.statement is not None
        predicate = line.statement['predicate']
        kind = line.statement['predicateType'].split('/')[-2]
        event = 'from' in predicate or kind == 'record-created'
        return {
            'ledger': sender.led,
            'seq': seq,
            'leaf': line.leaf().hex(),
            'kind': kind,
            'record': predicate.get('record'),
            'version': predicate['version'] if event else None,
        }

    def receive(self, receiver: Chain, sender: Chain, seq: int) -> int:
        claim = self.claim(sender, seq)
        subject = (f'{sender.led}/{seq}', claim['leaf'])
        said = {'peer': self.peer, 'received': claim}
        return receiver.add('entry-received', [subject], said, received=sender.lines[seq].envelope())

    def last(self, chain: Chain) -> int:
        return len(chain.lines) - 1

    def create(self, **more: Any) -> str:
        share = [{'peer': self.peer, 'documents': 'whole'}]
        record = self.home.create(self.boss, {'do': 'it'}, share=share, **more)
        self.receive(self.guest, self.home, self.last(self.home))
        return record

    def offer(self, record: str, step: str, evidence: Any = None) -> int:
        previous, version, _ = self.home.heads[record]
        subjects = [(record, self.home.payloads[record])]
        said: dict[str, Any] = {'peer': self.peer, 'record': record, 'step': step, 'version': version + 1, 'previous': previous}
        documents = []
        if step == 'completion-submitted':
            completion = self.guest.id('cmp')
            digest, document = self.guest.document(completion, evidence)
            subjects.append((completion, digest))
            documents.append(document)
            said['completion'] = completion
        return self.guest.add('step-offered', subjects, said, self.helper, documents=documents)

    def taking(self, seq: int) -> tuple[dict[str, Any], bytes]:
        line = self.guest.lines[seq]
        return {'peer': self.peer, 'ledger': self.guest.led, 'seq': seq, 'leaf': line.leaf().hex()}, line.envelope()

    def take(self, record: str, seq: int, to: str) -> None:
        """Adds the home's step that accepts an offer, and the guest's entry that receives this step.
        """
        offer, envelope = self.taking(seq)
        statement = self.guest.lines[seq].statement
        assert statement is not None
        kind = statement['predicate']['step']
        previous, version, state = self.home.heads[record]
        subjects = [(subject['name'], subject['digest']['sha256']) for subject in statement['subject']]
        said: dict[str, Any] = {'record': record, 'version': version + 1, 'previous': previous, 'from': state, 'to': to, 'offer': offer}
        documents = [dict(document) for document in self.guest.lines[seq].documents]
        if 'completion' in statement['predicate']:
            said['completion'] = statement['predicate']['completion']
            self.home.completions[record] = subjects[1]
        said['actor'] = self.remote
        self.home.add(kind, subjects, said, None, documents=documents, received=envelope)
        self.home.heads[record] = (self.home.lines[-1].leaf().hex(), version + 1, to)
        self.receive(self.guest, self.home, self.last(self.home))

    def refuse(self, record: str, seq: int) -> None:
        subject = (f'{self.guest.led}/{seq}', self.guest.lines[seq].leaf().hex())
        said = {'peer': self.peer, 'record': record, 'code': 'state_conflict', 'received': self.claim(self.guest, seq)}
        self.home.add('offer-refused', [subject], said, received=self.guest.lines[seq].envelope())
        self.receive(self.guest, self.home, self.last(self.home))

    def rotate(self) -> None:
        """Rotates the home's envelope key."""
        self.home.rotate(self.home.name + ' envelopes 2')
        seq = self.last(self.home)
        said = {'newKey': self.home.server.public(), 'received': self.claim(self.home, seq)}
        self.guest.add('peer-key-rotated', [(self.peer, self.handshake)], said, received=self.home.lines[seq].envelope())
