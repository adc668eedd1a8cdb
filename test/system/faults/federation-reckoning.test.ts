import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Entry, type FederationReckoning, Findings, reckonSent } from './federation-reckoning.ts'

const HOME = { name: 'home', ledger: 'led_home' }
const GUEST = { name: 'guest', ledger: 'led_guest' }
const SHARED = { record: 'rec_1', share: [{ peer: 'peer_1', documents: 'whole' }] }

function chain(...said: [kind: string, predicate: object][]): Entry[] {
  return said.map(([kind, predicate], seq) => ({ seq, leaf: `${kind} ${seq}`, kind, predicate }))
}

const SENT = chain(
  ['ledger-created', {}],
  ['peer-added', {}],
  ['record-created', { ...SHARED, version: 1 }],
  ['record-created', { record: 'rec_2', version: 1 }],
  ['record-created', { record: 'rec_3', version: 1, share: [{ peer: 'peer_2', documents: 'whole' }] }],
  ['record-activated', { record: 'rec_1', version: 2 }],
  ['record-activated', { record: 'rec_2', version: 2 }],
  ['server-key-rotated', {}],
  ['record-shared', { record: 'rec_2', share: [{ peer: 'peer_1', documents: 'digests' }] }],
  ['step-offered', { record: 'rec_9', peer: 'peer_1', version: 2 }],
  ['step-offered', { record: 'rec_8', peer: 'peer_2', version: 2 }],
)
const GOOD: [string, object][] = [1, 2, 5, 7, 3, 6, 8].map((seq) => received(seq))
const TAKEN: [string, object] = ['record-activated', { record: 'rec_9', version: 2, offer: named(9) }]

function named(seq: number, leaf = SENT[seq]!.leaf) {
  return { ledger: HOME.ledger, seq, leaf }
}

function received(seq: number, leaf?: string): [string, object] {
  return [
    SENT[seq]!.kind === 'server-key-rotated' ? 'peer-key-rotated' : 'entry-received',
    { received: named(seq, leaf) },
  ]
}

function reckon(...held: [string, object][]): Partial<FederationReckoning> {
  const found = new Findings()
  reckonSent(found, { id: 'peer_1', sender: HOME, receiver: GUEST }, SENT, chain(...held))
  const { findings, ...counts } = found.reckoning()
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
}

test('entries received once and in order are no finding, nor are entries of other peers', () => {
  assert.deepEqual(reckon(...GOOD, TAKEN), { shared: 7, offers: 1 })
  assert.deepEqual(reckon(...GOOD.slice(1), TAKEN), { shared: 7, offers: 1 }, 'a peer-added may be answered')
  assert.deepEqual(reckon(...GOOD, ['offer-refused', { received: named(9) }]), { shared: 7, offers: 1 })
})

test('counts entries that are lost, doubled, out of order, or were never sent', () => {
  for (const at of [1, 2, 3, 4, 5, 6])
    assert.deepEqual(reckon(...GOOD.toSpliced(at, 1), TAKEN), { shared: 7, offers: 1, lost: 1 })
  for (const one of GOOD) assert.deepEqual(reckon(...GOOD, one, TAKEN), { shared: 7, offers: 1, doubled: 1 })
  assert.deepEqual(reckon(...[1, 5, 2, 7, 3, 6, 8].map((seq) => received(seq)), TAKEN), {
    shared: 7,
    offers: 1,
    disordered: 1,
  })
  assert.deepEqual(reckon(...GOOD.with(1, received(2, 'another')), TAKEN), {
    shared: 7,
    offers: 1,
    ghosts: 1,
  })
  for (const seq of [0, 4, 10])
    assert.deepEqual(reckon(...GOOD, received(seq), TAKEN), { shared: 7, offers: 1, ghosts: 1 })
})

test('counts offers that were never decided, or decided twice', () => {
  assert.deepEqual(reckon(...GOOD), { shared: 7, offers: 1, lost: 1, openOffers: 1 })
  assert.deepEqual(reckon(...GOOD, received(9)), { shared: 7, offers: 1, openOffers: 1 })
  assert.deepEqual(reckon(...GOOD, TAKEN, ['offer-refused', { received: named(9) }]), {
    shared: 7,
    offers: 1,
    doubled: 1,
    openOffers: 1,
  })
})
