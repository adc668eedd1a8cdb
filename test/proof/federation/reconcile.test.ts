import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { LedgerExchange, UnforeseenShare } from '../../../src/proof/federation/exchange.ts'
import {
  type ReconcileCode,
  type ReconcileCounts,
  reconcile,
} from '../../../src/proof/federation/reconcile.ts'
import { type Gated, makePeers, type PeeredChains, statementOf } from '../../helpers/peered-chains.ts'
import { digestOf, makeId, type TestChain, type TestLine } from '../../helpers/test-chain.ts'
import { makeGated } from '../../helpers/test-gated.ts'
import { assertRefused, verifyChain } from '../../helpers/verify-chain.ts'

/**
 * Verifies the whole ledger and collects its exchange with the peer. With `knowsShared`, the collector knows from the
 * start which records are shared later, as after a first pass over the ledger.
 */
function exchangeOf(chain: TestChain, knowsShared = true): LedgerExchange {
  const shared = chain.lines.filter(({ kind }) => kind === 'record-shared')
  const sharedLater = new Set(shared.map((line) => statementOf(line).predicate['record'] as string))
  const exchange = new LedgerExchange(knowsShared ? sharedLater : null)
  verifyChain(chain, { onEntry: (step) => exchange.follow(step) })
  return exchange
}

/**
 * Asserts that the result depends neither on the order of the two ledgers nor on the way of collecting. Returns the
 * counts.
 */
function reconciled({ home, guest }: PeeredChains, expected: Partial<ReconcileCounts> = {}): ReconcileCounts {
  const results = [true, false].flatMap((knowsShared) => {
    const [a, b] = [exchangeOf(home, knowsShared), exchangeOf(guest, knowsShared)]
    return [reconcile(a, b), reconcile(b, a)]
  })
  for (const result of results) assert.deepEqual(result, results[0])
  assert.equal(results[0]!.difference, null)
  assert.deepEqual(
    { ...results[0]!.counts!, inFlight: 0, dropped: 0, beyond: 0, ...expected },
    results[0]!.counts,
  )
  return results[0]!.counts!
}

/**
 * Asserts that each chain verifies alone, but that the two chains contradict each other. The failure must name the
 * entry `at`.
 */
function differs(
  { home, guest }: PeeredChains,
  code: ReconcileCode,
  at: TestLine | null,
  of?: TestChain,
): void {
  for (const [a, b] of [
    [home, guest],
    [guest, home],
  ] as const) {
    const { difference } = reconcile(exchangeOf(a), exchangeOf(b))
    assert.equal(difference?.code, code, difference?.detail)
    assert.equal(difference.seq, at?.seq ?? null)
    if (at) assert.equal(difference.ledger, home.lines.includes(at) ? home.ledger : guest.ledger)
    if (of) assert.equal(difference.ledger, of.ledger)
  }
}

function shared(peers: PeeredChains, terms: object = {}): Gated {
  const gated = peers.create(terms)
  peers.receive(peers.guest, gated.last())
  return gated
}

/** Makes a shared record and takes it to its last state by two offers. The guest receives all of its entries. */
function live(peers: PeeredChains): Gated {
  const gated = shared(peers)
  for (const step of ['record-activated', 'completion-submitted'] as const)
    peers.receive(peers.guest, peers.take(gated, peers.offer(gated, step)))
  peers.receive(peers.guest, gated.verify())
  peers.receive(peers.guest, gated.judge())
  return gated
}

function peerAgain(before: PeeredChains): PeeredChains {
  const { home, guest } = before
  return makePeers({ of: { home, guest } })
}

/**
 * Appends an entry like the entry of `line`, but with a time one millisecond later. So the two entries have different
 * leaves.
 */
function signedAgain(chain: TestChain, line: TestLine): TestLine {
  const { kind, subjects, predicate } = statementOf(line)
  const recordedAt = new Date(Date.parse(line.recordedAt) + 1).toISOString()
  return chain.append({ kind, subjects, predicate: { ...predicate, recordedAt }, documents: line.documents })
}

describe('reconciles', () => {
  test('a record with all its steps, its offers, and the handshake', () => {
    const peers = makePeers()
    live(peers)
    // The received entries are the peer-added of the invited side, two offers and five events.
    reconciled(peers, { records: 1, entries: 1 + 2 + 5, offers: 2 })
  })

  test('a peering without shared records', () => {
    reconciled(makePeers(), { records: 0, entries: 1, offers: 0 })
  })

  test('events, offers, refusals and rotations that are not received yet', () => {
    const peers = makePeers()
    const gated = shared(peers)
    peers.offer(gated, 'record-activated')
    gated.cancel()
    peers.create()
    peers.home.rotateServerKey()
    // Four entries are not received yet: an offer, a cancellation, a creation and a rotation.
    reconciled(peers, { records: 2, entries: 2, offers: 0, inFlight: 4 })
  })

  test('offers that were refused', () => {
    const peers = makePeers()
    const gated = shared(peers)
    const late = peers.offer(gated, 'record-activated')
    peers.receive(peers.guest, gated.cancel())
    peers.receive(peers.guest, peers.refuse(late))
    reconciled(peers, { records: 1, entries: 1 + 2 + 1 + 1, offers: 1 })
  })

  test('a record shared after its end, and its erasures', () => {
    const peers = makePeers()
    const gated = makeGated(peers.home)
    const [created, cancelled] = [gated.last(), gated.cancel()]
    const erased = peers.home.erase(created)
    const all = [peers.share(gated), created, cancelled, erased]
    for (const [i, line] of all.entries()) {
      peers.receive(peers.guest, line)
      reconciled(peers, { records: 1, entries: 1 + i + 1, inFlight: all.length - i - 1 })
    }
  })

  test('key rotations of both sides, and entries signed before them', () => {
    const peers = makePeers()
    const [waits, rotation] = [peers.create().last(), peers.home.rotateServerKey()]
    peers.rotate(peers.guest, rotation)
    peers.receive(peers.guest, waits)
    peers.rotate(peers.home, peers.guest.rotateServerKey())
    live(peers)
    reconciled(peers, { records: 2, inFlight: 0 })
  })

  test('two peers, ignoring records that are not shared and other peers', () => {
    const peers = makePeers()
    const third = makePeers({ of: { home: peers.home } })
    live(peers)
    const gated = third.create()
    third.receive(third.guest, gated.last())
    makeGated(peers.home).cancel()
    peers.home.notarize()
    reconciled(peers, { records: 1, entries: 8 })
    reconciled(third, { records: 1, entries: 2 })
    assert.equal(
      reconcile(exchangeOf(peers.guest), exchangeOf(third.guest)).difference?.code,
      'peering_missing',
    )
  })

  test('one record shared with two peers, each with its own share entry only', () => {
    const first = makePeers()
    const second = makePeers({ of: { home: first.home } })
    const gated = makeGated(first.home)
    for (const peers of [first, second])
      for (const line of [peers.share(gated), gated.last()]) peers.receive(peers.guest, line)
    for (const peers of [first, second]) reconciled(peers, { records: 1, entries: 3 })
  })

  test('consecutive peerings, the first of which received fewer entries', () => {
    const first = makePeers()
    const gated = shared(first)
    const created = gated.last()
    gated.cancel()
    first.receive(first.guest, first.change(first.home, 'peer-revoked'))
    // The received entries are the peer-added of the invited side, the creation and the revocation.
    reconciled(first, { records: 1, entries: 3, dropped: 1 })
    const second = peerAgain(first)
    for (const line of [second.share(gated), created, gated.last()]) second.receive(second.guest, line)
    reconciled(second, { records: 1, entries: 3 + 1 + 3, dropped: 1 })
  })

  test('simultaneous revocations, neither received by the other side', () => {
    const peers = makePeers()
    for (const side of [peers.home, peers.guest]) peers.change(side, 'peer-revoked')
    reconciled(peers, { entries: 1, dropped: 2 })
  })

  test('a revoked peering whose home continues alone', () => {
    const peers = makePeers()
    const gated = shared(peers)
    peers.receive(peers.guest, peers.change(peers.home, 'peer-revoked'))
    gated.cancel()
    peers.home.rotateServerKey()
    reconciled(peers, { records: 1, entries: 3 })
  })

  test('a new peering without its answer, next to a revoked one', () => {
    const first = makePeers()
    first.receive(first.guest, first.change(first.home, 'peer-revoked'))
    const { home, guest } = first
    const second = makePeers({ of: { home, guest }, apart: true })
    second.add(home)
    reconciled(first, { entries: 2 })
  })

  test('an export that is older than the entries that the other side received', () => {
    const peers = makePeers()
    const before = exchangeOf(peers.home)
    const { size } = before
    live(peers)
    const { counts } = reconcile(before, exchangeOf(peers.guest))
    assert.deepEqual(counts, { records: 0, entries: 1, offers: 0, inFlight: 2, dropped: 0, beyond: 5 })
    assert.equal(before.size, size)
  })
})

test('and passes on an internal error instead of counting it as a difference', () => {
  const { home, guest } = makePeers()
  const broken = Object.create(exchangeOf(home), { with: { value: () => assert.fail('broken') } })
  assert.throws(() => reconcile(exchangeOf(guest), broken), /broken/)
})

describe('finds', () => {
  test('a missing peering of the two ledgers', () => {
    const peers = makePeers({ apart: true })
    differs(peers, 'peering_missing', null)
    peers.add(peers.home)
    differs(peers, 'peering_missing', null)
  })

  test('a peering that one side received and the other lacks', () => {
    const first = makePeers()
    first.receive(first.guest, first.change(first.home, 'peer-revoked'))
    const { home, guest } = first
    const second = makePeers({ of: { home, guest }, apart: true })
    const at = second.receive(home, second.add(guest, { counterpart: second.add(home).leaf }))
    guest.forget()
    // The guest's export lacks a peer-added entry that the home has received. This is no fault as long as the missing
    // entry may come after the end of the export.
    reconciled(first)
    guest.notarize()
    differs(first, 'peering_missing', at)
  })

  test('another token, another side, or another entry of the inviter in the handshake', () => {
    for (const spoil of [
      ({ home, guest, add }: PeeredChains) => {
        const { leaf } = add(home)
        add(guest, { counterpart: leaf, tokenHash: 'aa'.repeat(32) })
      },
      ({ home, guest, add, terms }: PeeredChains) => {
        const { leaf } = add(home, { invited: { ...terms.invited, url: 'https://elsewhere.example' } })
        add(guest, { counterpart: leaf })
      },
      ({ home, guest, add }: PeeredChains) => {
        add(home)
        add(guest, { counterpart: digestOf({}) })
      },
    ]) {
      const peers = makePeers({ apart: true })
      spoil(peers)
      const { difference } = reconcile(exchangeOf(peers.home), exchangeOf(peers.guest))
      assert.equal(difference?.code, 'handshake_mismatch')
      assert.equal(difference.seq, peers.guest.lines.at(-1)!.seq)
    }
  })

  test('a received entry that is not in the sender’s chain', () => {
    const peers = makePeers()
    const gated = peers.create()
    const at = peers.receive(peers.guest, gated.last())
    peers.home.forget()
    reconciled(peers, { records: 0, beyond: 1 })
    peers.home.notarize()
    differs(peers, 'not_sent', at)
  })

  test('a received entry whose position has another entry in the sender’s chain', () => {
    const peers = makePeers()
    const gated = peers.create()
    const sent = gated.last()
    const at = peers.receive(peers.guest, sent)
    peers.home.forget()
    signedAgain(peers.home, sent)
    differs(peers, 'leaf_mismatch', at)
  })

  test('the same entry under another seq', () => {
    const peers = makePeers()
    const gated = peers.create()
    peers.home.notarize()
    differs(
      peers,
      'not_sent',
      peers.receive(peers.guest, gated.last(), { received: { seq: gated.last().seq + 1 } }),
    )
  })

  test('an erasure that was withheld', () => {
    const peers = makePeers()
    const gated = shared(peers)
    const erased = peers.home.erase(gated.last())
    reconciled(peers, { inFlight: 1 })
    peers.receive(peers.guest, gated.cancel())
    differs(peers, 'not_received', erased)
  })

  test('a refusal that was withheld', () => {
    const peers = makePeers()
    const gated = shared(peers)
    const refused = peers.refuse(peers.offer(gated, 'record-activated'))
    peers.receive(peers.guest, gated.cancel())
    differs(peers, 'not_received', refused)
  })

  test('an unanswered offer before an answered one', () => {
    const peers = makePeers()
    const gated = shared(peers)
    const open = peers.offer(gated, 'record-activated')
    peers.receive(peers.guest, peers.take(gated, peers.offer(gated, 'record-activated')))
    differs(peers, 'offer_open', open)
  })

  test('two homes of one record', () => {
    const peers = makePeers()
    const share = [{ peer: peers.peer, documents: 'whole' }]
    const record = makeId('rec')
    for (const side of [peers.home, peers.guest]) makeGated(side, { share }, { record })
    differs(peers, 'state_mismatch', null)
  })
})

describe('verifying one ledger refuses', () => {
  for (const [what, code, act] of [
    [
      'an entry received twice',
      'received_twice',
      (peers: PeeredChains) => {
        const gated = shared(peers)
        peers.receive(peers.guest, gated.last())
        return peers.guest
      },
    ],
    [
      'an offer answered twice',
      'offer_answered_twice',
      (peers: PeeredChains) => {
        const offer = peers.offer(shared(peers), 'record-activated')
        for (const _time of [1, 2]) peers.refuse(offer)
        return peers.home
      },
    ],
  ] as const) {
    test(what, () => {
      const peers = makePeers()
      const chain = act(peers)
      assertRefused(code, () => verifyChain(chain))
    })
  }
})

test('throws UnforeseenShare if the shares of the first pass do not match the chain', () => {
  const peers = makePeers()
  peers.share(makeGated(peers.home))
  const exchange = new LedgerExchange(new Set())
  assert.throws(() => verifyChain(peers.home, { onEntry: (step) => exchange.follow(step) }), UnforeseenShare)
})
