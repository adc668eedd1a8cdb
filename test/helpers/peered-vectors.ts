import { identityOf, makePeers, type PeeredChains, statementOf } from './peered-chains.ts'
import { digestOf, makeChain, makeId, makeSigner } from './test-chain.ts'
import { makeGated } from './test-gated.ts'

const HASH = 'ab'.repeat(32)

function shared(peers: PeeredChains) {
  const gated = peers.create()
  peers.receive(peers.guest, gated.last())
  return gated
}

/**
 * Makes the guest receive an entry of the home about one of the guest's own records: its creation, or that it is
 * shared.
 */
function foreign(peers: PeeredChains, kind: 'record-shared' | 'record-created', record: string): void {
  const { home, guest, peer } = peers
  const share = [{ peer, documents: 'digests' }]
  if (kind === 'record-created') peers.receive(guest, makeGated(home, { share }, { record }).last())
  else {
    const subjects = [{ name: record, sha256: HASH }]
    peers.receive(guest, home.append({ kind, subjects, predicate: { ...home.acting(), record, share } }))
  }
}

/** Test vectors. `side`: the ledger whose export is verified. */
export const PEERED: readonly (readonly [
  name: string,
  code: string | null,
  side: 'home' | 'guest',
  build: (peers: PeeredChains) => void,
])[] = [
  [
    'a record that is shared by another than its principal',
    'actor_not_entitled',
    'home',
    (p) => {
      const gated = makeGated(p.home)
      p.share(gated, p.home.acting(gated.performer, gated.performerKey))
    },
  ],
  [
    'a record that has ended, shared by another than its principal',
    'actor_not_entitled',
    'home',
    (p) => {
      const gated = makeGated(p.home)
      gated.cancel()
      p.share(gated, p.home.acting(gated.performer, gated.performerKey))
    },
  ],
  [
    'a record that has ended, shared by its principal',
    null,
    'home',
    (p) => {
      const gated = makeGated(p.home)
      gated.cancel()
      p.share(gated)
    },
  ],
  [
    'a record that was notarized and is shared',
    'subject_unknown',
    'home',
    (p) => {
      const { subject: record, digest } = p.home.notarize().documents[0]!
      p.share({ about: { name: record, sha256: digest }, record })
    },
  ],
  [
    'a record of this ledger that another one shares',
    'not_home',
    'guest',
    (p) => foreign(p, 'record-shared', makeGated(p.guest).record),
  ],
  [
    'a record of a batch of this ledger that another one shares',
    'not_home',
    'guest',
    (p) => foreign(p, 'record-shared', p.guest.notarizeBatch(2).documents[1]!.subject),
  ],
  [
    'a record of a batch of this ledger that another one creates',
    'not_home',
    'guest',
    (p) => foreign(p, 'record-created', p.guest.notarizeBatch(2).documents[1]!.subject),
  ],
  [
    'a handshake with a key that the ledger has replaced',
    'definition_mismatch',
    'home',
    ({ home }) => {
      const made = makePeers({ apart: true, of: { home } })
      home.rotateServerKey(makeSigner())
      made.add(home)
    },
  ],
  [
    'a handshake with a key that the ledger has taken up',
    null,
    'home',
    ({ home }) => {
      home.rotateServerKey(makeSigner())
      makePeers({ apart: true, of: { home } }).add(home)
    },
  ],
  [
    'the other half of a handshake once more',
    'transition_refused',
    'home',
    (p) => {
      const half = p.guest.lines.find(({ kind }) => kind === 'peer-added')!
      p.receive(p.home, half, { received: { seq: half.seq + 100 } })
    },
  ],
  [
    'a peering that ends before it is answered',
    null,
    'home',
    ({ home }) => {
      const made = makePeers({ apart: true, of: { home } })
      made.add(home)
      made.change(home, 'peer-revoked')
    },
  ],
  [
    'a peering that ends while it is suspended',
    null,
    'home',
    (p) => {
      p.change(p.home, 'peer-suspended')
      p.change(p.home, 'peer-revoked')
    },
  ],
  [
    'a rotation of a peer to a key under another kid',
    'kid_mismatch',
    'guest',
    (p) => {
      const line = p.home.rotateServerKey(makeSigner())
      const newKey = { ...(statementOf(line).predicate['newKey'] as object), kid: HASH }
      p.rotate(p.guest, line, { predicate: { newKey } })
    },
  ],
  [
    'an end of another peering',
    'received_mismatch',
    'guest',
    (p) => p.receive(p.guest, p.change(p.home, 'peer-revoked', { name: makeId('peer'), sha256: HASH })),
  ],
  [
    'an offer to another peering that is taken',
    'offer_mismatch',
    'home',
    (p) => {
      const gated = shared(p)
      p.take(gated, p.offer(gated, 'record-activated', { peer: makeId('peer') }))
    },
  ],
  [
    'an offer to another peering that is refused',
    'offer_mismatch',
    'home',
    (p) => p.refuse(p.offer(shared(p), 'record-activated', { peer: makeId('peer') })),
  ],
  [
    'an offer of another record that is taken',
    'offer_mismatch',
    'home',
    (p) => {
      const [gated, other] = [shared(p), shared(p)]
      p.take(gated, p.offer(other, 'record-activated'))
    },
  ],
  [
    'an offer that is taken as one of another peering',
    'offer_mismatch',
    'guest',
    (p) => {
      const gated = shared(p)
      const { seq, leaf } = p.offer(gated, 'record-activated')
      const offer = { peer: makeId('peer'), ledger: p.guest.ledger, seq, leaf }
      p.receive(p.guest, p.take(gated, p.guest.lines[seq]!, { offer }))
    },
  ],
  [
    'an offer to one ledger that another one takes',
    'offer_mismatch',
    'guest',
    (p) => {
      const gated = shared(p)
      const third = makeChain()
      const [peer, inviter] = [makeId('peer'), identityOf(third)]
      p.add(
        p.guest,
        { inviter, counterpart: HASH },
        { name: peer, sha256: digestOf({ peer, ...p.terms, inviter }) },
      )
      const { kind, subjects, predicate } = statementOf(gated.last())
      const share = [{ peer, documents: 'whole' }]
      const copy = third.append({ kind, subjects, predicate: { ...predicate, ...third.acting(), share } })
      p.receive(p.guest, copy, { by: peer })
      const { seq, leaf } = p.offer(gated, 'record-activated', { peer })
      const offer = { peer, ledger: p.guest.ledger, seq, leaf }
      p.receive(p.guest, p.take(gated, p.guest.lines[seq]!, { offer }))
    },
  ],
  [
    'an erasure of what came, by another name',
    'erasure_of_nothing',
    'guest',
    (p) => {
      const created = shared(p).last()
      const { digest } = created.documents[0]!
      const subjects = [{ name: makeId('rec'), sha256: digest }]
      const predicate = { ...p.home.acting(), seq: created.seq, code: 'gdpr' }
      p.receive(p.guest, p.home.append({ kind: 'payload-erased', subjects, predicate }))
    },
  ],
  [
    'an entry that came twice, under a key that was replaced',
    'key_not_current',
    'guest',
    (p) => {
      const line = shared(p).last()
      p.rotate(p.guest, p.home.rotateServerKey(makeSigner()))
      p.receive(p.guest, line, { received: { seq: line.seq + 100 } })
    },
  ],
  [
    'an entry under another key, while the peering is suspended',
    'key_not_current',
    'guest',
    (p) => {
      p.change(p.guest, 'peer-suspended')
      p.home.rotateServerKey(makeSigner())
      p.receive(p.guest, p.create().last())
    },
  ],
]
