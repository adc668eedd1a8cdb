import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { EntryStep } from '../../src/proof/entry/entry-step.ts'
import type { ProofErrorCode } from '../../src/proof/error.ts'
import {
  type Gated,
  identityOf,
  makePeers,
  namedKey,
  type PeeredChains,
  statementOf,
} from '../helpers/peered-chains.ts'
import {
  digestOf,
  makeChain,
  makeId,
  makeSigner,
  saltDocument,
  type TestLine,
} from '../helpers/test-chain.ts'
import { makeGated } from '../helpers/test-gated.ts'
import { assertRefused, verifyChain } from '../helpers/verify-chain.ts'

const HASH = 'ab'.repeat(32)

/**
 * Makes a peering and runs `act`. Asserts that the verifier refuses the entry that `act` returns, and that it accepts
 * all entries before.
 */
function refused(
  code: ProofErrorCode | RegExp,
  act: (peers: PeeredChains) => TestLine,
  options: { apart?: boolean } = {},
): void {
  const peers = makePeers(options)
  const bad = act(peers)
  const chain = peers.home.lines.includes(bad) ? peers.home : peers.guest
  let verified = 0
  assertRefused(code, () => verifyChain(chain, {}, () => verified++))
  assert.equal(verified, bad.seq)
}

function shared(peers: PeeredChains, terms: object = {}): Gated {
  const gated = peers.create(terms)
  peers.receive(peers.guest, gated.last())
  return gated
}

function verifyBoth({ home, guest }: PeeredChains): void {
  for (const chain of [home, guest]) verifyChain(chain)
}

describe('accepts', () => {
  test('a shared record on both sides, through offers, to its end', () => {
    const peers = makePeers()
    const gated = shared(peers)
    for (const step of ['record-activated', 'completion-submitted'] as const)
      peers.receive(peers.guest, peers.take(gated, peers.offer(gated, step)))
    peers.receive(peers.guest, gated.verify('fail'))
    peers.receive(peers.guest, gated.revise())
    peers.receive(peers.guest, peers.take(gated, peers.offer(gated, 'completion-submitted')))
    peers.receive(peers.guest, gated.verify())
    peers.receive(peers.guest, gated.judge())
    verifyBoth(peers)
  })

  test('callbacks get each received step and the outcome of each offer', () => {
    const peers = makePeers()
    const gated = shared(peers)
    const refused = peers.offer(gated, 'record-activated')
    const refusal = peers.receive(peers.guest, peers.refuse(refused))
    const taken = peers.offer(gated, 'record-activated')
    const step = peers.receive(peers.guest, peers.take(gated, taken))
    const told: unknown[] = []
    verifyChain(peers.guest, {
      onRemote: (seq, _peer, { state }) => told.push([seq, state]),
      onOffer: (seq, { state }, at) => told.push([seq, state, at]),
    })
    assert.deepEqual(told.slice(1), [
      [refused.seq, 'refused', refusal.seq],
      [step.seq, 'ACTIVE'],
      [taken.seq, 'taken', step.seq],
    ])
  })

  test('a record shared after its end', () => {
    const peers = makePeers()
    const gated = makeGated(peers.home)
    const [created, cancelled] = [gated.last(), gated.cancel()]
    for (const line of [peers.share(gated), created, cancelled]) peers.receive(peers.guest, line)
    verifyBoth(peers)
  })

  test('refused offers, also one that came too late', () => {
    const peers = makePeers()
    const gated = shared(peers)
    const late = peers.offer(gated, 'record-activated')
    peers.receive(peers.guest, gated.cancel())
    const later = peers.offer(gated, 'record-activated')
    for (const offer of [late, later]) peers.receive(peers.guest, peers.refuse(offer))
    verifyBoth(peers)
  })

  test('an agent of the other ledger that becomes performer of a record without one', () => {
    const peers = makePeers()
    const gated = shared(peers, { performer: undefined })
    peers.receive(peers.guest, peers.take(gated, peers.offer(gated, 'record-activated')))
    verifyBoth(peers)
  })

  test('an agent of the other ledger on whose behalf another agent acts', () => {
    const peers = makePeers()
    const behind = makeId('agt')
    peers.guest.registerAgent(behind)
    const gated = shared(peers, { performer: `${peers.guest.ledger}/${behind}` })
    peers.receive(
      peers.guest,
      peers.take(gated, peers.offer(gated, 'record-activated', { onBehalfOf: behind })),
    )
    verifyBoth(peers)
  })

  test('key rotations on both sides, and an entry delivered late under an old key', () => {
    const peers = makePeers()
    const [waits, rotation] = [peers.create().last(), peers.home.rotateServerKey()]
    peers.rotate(peers.guest, rotation)
    peers.receive(peers.guest, waits)
    peers.receive(peers.guest, peers.create().last())
    const next = peers.home.rotateServerKey()
    peers.rotate(peers.guest, next)
    peers.receive(peers.guest, peers.create().last())
    verifyBoth(peers)
  })

  test('erasures at the home of documents that the guest has or offered', () => {
    const peers = makePeers()
    const gated = shared(peers)
    const created = gated.last()
    peers.receive(peers.guest, peers.take(gated, peers.offer(gated, 'record-activated')))
    const taken = peers.take(gated, peers.offer(gated, 'completion-submitted'))
    const verification = gated.verify()
    for (const line of [taken, verification]) peers.receive(peers.guest, line)
    for (const line of [created, taken, verification]) peers.receive(peers.guest, peers.home.erase(line))
    verifyBoth(peers)
  })

  test('an erasure by the guest of the evidence of its own offer', () => {
    const peers = makePeers()
    const gated = shared(peers)
    peers.receive(peers.guest, peers.take(gated, peers.offer(gated, 'record-activated')))
    const offer = peers.offer(gated, 'completion-submitted')
    peers.receive(peers.guest, peers.refuse(offer))
    peers.guest.erase(offer)
    verifyBoth(peers)
  })

  test('a peering that either side suspends, resumes and revokes', () => {
    const peers = makePeers()
    peers.change(peers.home, 'peer-suspended')
    peers.create()
    peers.change(peers.home, 'peer-resumed')
    peers.receive(peers.guest, peers.change(peers.home, 'peer-revoked'))
    verifyBoth(peers)
    const other = makePeers()
    other.receive(other.home, other.change(other.guest, 'peer-revoked'))
    verifyBoth(other)
  })

  test('a new peering of the same ledgers after a revocation', () => {
    const peers = makePeers()
    peers.change(peers.home, 'peer-revoked')
    const again = makeId('peer')
    peers.add(peers.home, {}, { name: again, sha256: digest(peers, again) })
    verifyBoth(peers)
  })
})

function digest({ terms }: PeeredChains, peer: string): string {
  return digestOf({ peer, ...terms })
}

test('onEntry gets each entry together with the received entry', () => {
  const peers = makePeers()
  const gated = peers.create()
  const receipt = peers.receive(peers.guest, gated.last())
  const steps: EntryStep[] = []
  verifyChain(peers.guest, { onEntry: (step) => steps.push(step) })
  assert.deepEqual(
    steps.map(({ seq, kind }) => ({ seq, kind })),
    peers.guest.lines.map(({ seq, kind }) => ({ seq, kind })),
  )
  const { received } = steps[receipt.seq]!
  assert.equal(received!.leaf, gated.last().leaf)
  assert.deepEqual(received!.statement, statementOf(gated.last()))
  assert.ok(steps.slice(0, receipt.seq).every((step) => step.received === null))
})

describe('handshake: refuses', () => {
  const apart = { apart: true }
  const other = makeChain()

  test('a digest that does not match, and a key that does not match its kid', () => {
    refused('definition_mismatch', (p) => p.add(p.home, {}, { name: p.peer, sha256: HASH }), apart)
    for (const side of ['inviter', 'invited'] as const) {
      refused(
        'kid_mismatch',
        (p) =>
          p.add(p.home, {
            [side]: { ...p.terms[side], envelopeKey: { ...p.terms[side].envelopeKey, kid: HASH } },
          }),
        apart,
      )
    }
  })

  test('an origin or first entry that is not the ledger’s', () => {
    for (const change of [{ origin: `elsewhere/` }, { genesis: HASH }]) {
      refused(
        'definition_mismatch',
        (p) => {
          const origin = change.origin && { origin: change.origin + p.home.ledger }
          return p.add(p.home, { inviter: { ...p.terms.inviter, ...change, ...origin } })
        },
        apart,
      )
    }
  })

  test('a second peer-added of the peering, and a second peering with the same ledger', () => {
    refused('duplicate_subject', (p) => p.add(p.home, { tokenHash: HASH }))
    refused('duplicate_subject', (p) => {
      p.change(p.home, 'peer-revoked')
      return p.add(p.home)
    })
    refused('duplicate_subject', (p) => {
      const again = makeId('peer')
      return p.add(p.home, {}, { name: again, sha256: digest(p, again) })
    })
  })

  test('a counterpart or token that differs from its own half', () => {
    refused(
      'handshake_mismatch',
      (p) => {
        p.add(p.home)
        return p.receive(p.home, p.add(p.guest, { counterpart: HASH }))
      },
      apart,
    )
    refused(
      'handshake_mismatch',
      (p) => {
        const { leaf } = p.add(p.home)
        return p.receive(p.home, p.add(p.guest, { counterpart: leaf, tokenHash: HASH }))
      },
      apart,
    )
  })

  test('a second receipt of the same half', () => {
    refused('transition_refused', (p) => {
      const [half] = p.guest.lines.filter(({ kind }) => kind === 'peer-added')
      return p.receive(p.home, half!, { received: { seq: half!.seq + 100 } })
    })
  })

  test('received or shared records before the handshake is complete', () => {
    refused(
      'peer_not_active',
      (p) => {
        p.add(p.home)
        return p.create().last()
      },
      apart,
    )
    refused(
      'peer_not_active',
      (p) => {
        const { leaf } = p.add(p.home)
        p.add(p.guest, { counterpart: leaf })
        const foreign = makeGated(p.guest, { share: [{ peer: p.peer, documents: 'whole' }] }).last()
        return p.receive(p.home, foreign)
      },
      apart,
    )
  })

  test('a change of an unknown peering, of another handshake, or out of order', () => {
    refused('peer_unknown', (p) => p.change(p.home, 'peer-suspended', { name: makeId('peer'), sha256: HASH }))
    refused('handshake_mismatch', (p) => p.change(p.home, 'peer-suspended', { name: p.peer, sha256: HASH }))
    refused('transition_refused', (p) => p.change(p.home, 'peer-resumed'))
    refused('transition_refused', (p) => {
      p.change(p.home, 'peer-suspended')
      return p.change(p.home, 'peer-suspended')
    })
    for (const kind of ['peer-suspended', 'peer-resumed', 'peer-revoked'] as const) {
      refused('transition_refused', (p) => {
        p.change(p.home, 'peer-revoked')
        return p.change(p.home, kind)
      })
    }
  })

  test('a peering between two other ledgers', () => {
    refused(
      'statement_predicate',
      (p) => p.add(p.home, { inviter: identityOf(other), counterpart: undefined }),
      apart,
    )
  })
})

describe('received entries: refuses', () => {
  const receiving = (p: PeeredChains, changes: object) => p.receive(p.guest, p.create().last(), changes)

  test('an envelope that is missing, malformed, of another entry, or unexpected', () => {
    refused('received_mismatch', (p) => receiving(p, { envelope: undefined }))
    refused('received_mismatch', (p) => receiving(p, { envelope: p.create().last().envelope }))
    refused(/^(cose|cbor)_/, (p) => receiving(p, { envelope: 'AAAA' }))
    refused('bad_base64', (p) => receiving(p, { envelope: 'A' }))
    refused('received_mismatch', (p) => {
      const line = p.home.notarize()
      return Object.assign(line, { received: line.envelope })
    })
    refused('received_mismatch', (p) =>
      p.create({ performer: undefined }).activate({ received: p.guest.lines[0]!.envelope }),
    )
  })

  test('a leaf, kind, record or version that differs from the envelope', () => {
    for (const received of [
      { leaf: HASH },
      { kind: 'record-activated' },
      { record: makeId('rec') },
      { version: 2 },
    ])
      refused('received_mismatch', (p) => receiving(p, { received }))
  })

  test('an entry of another ledger', () => {
    const other = makeChain()
    refused('received_mismatch', (p) => receiving(p, { received: { ledger: other.ledger } }))
    refused('ledger_foreign', (p) => p.receive(p.guest, makeGated(other).last()))
  })

  test('an unknown peering', () => {
    refused('peer_unknown', (p) => receiving(p, { by: makeId('peer') }))
  })

  test('an entry signed with another key', () => {
    refused('key_not_current', (p) => {
      p.home.rotateServerKey()
      return receiving(p, {})
    })
    refused('key_not_current', (p) => {
      const before = p.home.firstSigner
      p.rotate(p.guest, p.home.rotateServerKey())
      p.home.signers.push(before)
      return p.receive(p.guest, p.create().last())
    })
    refused('signature_invalid', (p) => {
      const thief = { ...makeSigner(), kid: p.home.firstSigner.kid, kidHex: p.home.firstSigner.kidHex }
      p.home.signers.push(thief)
      return p.receive(p.guest, p.create().last())
    })
  })

  test('a late entry under a key that was not yet valid at its seq', () => {
    refused('key_not_current', (p) => {
      p.rotate(p.guest, p.home.rotateServerKey())
      return receiving(p, { received: { seq: 1 } })
    })
  })

  test('a rotation to an unnamed key, to a key used before, or out of order', () => {
    refused('received_mismatch', (p) =>
      p.rotate(p.guest, p.home.rotateServerKey(), { predicate: { newKey: namedKey(makeSigner()) } }),
    )
    refused('key_not_current', (p) => p.rotate(p.guest, p.home.rotateServerKey(p.home.firstSigner)))
    refused('key_not_current', (p) => {
      const [first, second] = [p.home.rotateServerKey(), p.home.rotateServerKey()]
      p.rotate(p.guest, first)
      return p.rotate(p.guest, second, { received: { seq: first.seq - 1 } })
    })
    refused('handshake_mismatch', (p) =>
      p.rotate(p.guest, p.home.rotateServerKey(), { subject: { name: p.peer, sha256: HASH } }),
    )
  })

  test('any entry of a suspended or revoked peering', () => {
    for (const kind of ['peer-suspended', 'peer-revoked'] as const) {
      refused('peer_not_active', (p) => {
        p.change(p.guest, kind)
        return receiving(p, {})
      })
      refused('peer_not_active', (p) => {
        p.change(p.guest, kind)
        return p.rotate(p.guest, p.home.rotateServerKey())
      })
    }
    refused('peer_not_active', (p) => {
      const gated = p.create()
      p.receive(p.guest, p.change(p.home, 'peer-revoked'))
      return p.receive(p.guest, gated.last())
    })
  })

  test('the same entry twice', () => {
    refused('received_twice', (p) => {
      const line = p.create().last()
      p.receive(p.guest, line)
      return p.receive(p.guest, line)
    })
    refused('received_twice', (p) => {
      const line = p.create().last()
      p.receive(p.guest, line)
      return p.receive(p.guest, line, { received: { seq: line.seq + 1 } })
    })
  })

  test('a record that is not shared with the ledger', () => {
    refused('not_shared', (p) => p.receive(p.guest, makeGated(p.home).last()))
    refused('not_shared', (p) => {
      const [other, gated] = [makeId('peer'), makeGated(p.home)]
      return p.receive(p.guest, p.share(gated, { share: [{ peer: other, documents: 'whole' }] }))
    })
  })

  test('a step before the record’s creation, and steps out of order', () => {
    refused('subject_unknown', (p) => p.receive(p.guest, p.create().cancel()))
    const twoSteps = (p: PeeredChains) => {
      const gated = shared(p)
      return [gated, p.take(gated, p.offer(gated, 'record-activated'))] as const
    }
    refused('previous_mismatch', (p) => p.receive(p.guest, twoSteps(p)[0].cancel()))
    refused('previous_mismatch', (p) => {
      const [, step] = twoSteps(p)
      p.receive(p.guest, step)
      return p.receive(p.guest, step, { received: { seq: step.seq + 1 } })
    })
    refused('transition_refused', (p) => {
      const gated = shared(p)
      const cancelled = gated.cancel()
      p.receive(p.guest, cancelled)
      return p.receive(p.guest, cancelled, { received: { seq: cancelled.seq + 1 } })
    })
  })

  test('a step that the home may not take, by actor, version or state', () => {
    refused('actor_not_entitled', (p) => p.receive(p.guest, shared(p).cancel({ actor: makeId('agt') })))
    refused('version_mismatch', (p) => p.receive(p.guest, shared(p).cancel({ version: 3 })))
    refused('transition_refused', (p) => p.receive(p.guest, shared(p).cancel({ to: 'EXPIRED' })))
    refused('time_out_of_order', (p) =>
      p.receive(p.guest, shared(p, { deadline: '2027-01-01T00:00:00.000Z' }).expire()),
    )
  })

  test('a record whose home is the receiver', () => {
    refused('not_home', (p) => {
      const own = makeGated(p.guest)
      const share = [{ peer: p.peer, documents: 'whole' }]
      const { subjects, predicate } = statementOf(own.last())
      const members = { ...predicate, ...p.home.acting(), share }
      return p.receive(p.guest, p.home.append({ kind: 'record-created', subjects, predicate: members }))
    })
  })

  test('an erasure of an entry not received, or with another digest', () => {
    refused('erasure_of_nothing', (p) => p.receive(p.guest, p.home.erase(p.create().last())))
    refused('erasure_of_nothing', (p) =>
      p.receive(p.guest, p.home.sayErased(shared(p).last(), 0, { sha256: HASH })),
    )
  })

  test('a revocation of another peering', () => {
    refused('received_mismatch', (p) =>
      p.receive(p.guest, p.change(p.home, 'peer-revoked', { name: makeId('peer'), sha256: HASH })),
    )
    refused('handshake_mismatch', (p) =>
      p.receive(p.guest, p.change(p.home, 'peer-revoked', { name: p.peer, sha256: HASH })),
    )
  })
})

describe('sharing: refuses', () => {
  test('an unknown or revoked peer', () => {
    refused('peer_unknown', (p) => p.create({ share: [{ peer: makeId('peer'), documents: 'whole' }] }).last())
    refused('peer_not_active', (p) => {
      p.change(p.home, 'peer-revoked')
      return p.create().last()
    })
  })

  test('a peer that already shares the record', () => {
    refused('duplicate_subject', (p) => p.share(p.create()))
  })

  test('a performer of a ledger with which the record is not shared', () => {
    refused('not_shared', (p) => p.create({ performer: `${makeId('led')}/${makeId('agt')}` }).last())
  })

  test('an unknown record, or a record with another payload', () => {
    refused('subject_unknown', (p) => {
      const record = makeId('rec')
      return p.share({ record, about: { name: record, sha256: HASH } })
    })
    refused('subject_unknown', (p) => {
      const { record } = makeGated(p.home)
      return p.share({ record, about: { name: record, sha256: HASH } })
    })
    refused('subject_unknown', (p) => {
      const gated = makeGated(p.home)
      const sameStart = gated.about.sha256.slice(0, 8) + HASH.slice(8)
      return p.share({ record: gated.record, about: { ...gated.about, sha256: sameStart } })
    })
  })
})

describe('offers: refuses', () => {
  test('a record not received, or with another payload', () => {
    refused('subject_unknown', (p) => p.offer(p.create(), 'record-activated'))
    refused('subject_unknown', (p) => {
      const gated = shared(p)
      return p.offer(gated, 'record-activated', {}, { ...gated.about, sha256: HASH })
    })
  })

  test('an unknown or inactive peering', () => {
    refused('peer_unknown', (p) => p.offer(shared(p), 'record-activated', { peer: makeId('peer') }))
    refused('peer_not_active', (p) => {
      const gated = shared(p)
      p.change(p.guest, 'peer-suspended')
      return p.offer(gated, 'record-activated')
    })
  })

  test('a completion id that was used before', () => {
    refused('duplicate_subject', (p) => {
      const gated = shared(p)
      p.receive(p.guest, p.take(gated, p.offer(gated, 'record-activated')))
      const { subject } = p.offer(gated, 'completion-submitted').documents[0]!
      const again = saltDocument(subject, {})
      return p.guest.append({
        kind: 'step-offered',
        subjects: [gated.about, { name: subject, sha256: again.digest }],
        predicate: {
          ...p.guest.acting(),
          peer: p.peer,
          record: gated.record,
          step: 'completion-submitted',
          version: 3,
          previous: HASH,
          completion: subject,
        },
        documents: [again],
      })
    })
  })

  test('a completion without evidence', () => {
    refused('document_presence', (p) => {
      const offer = p.offer(shared(p), 'completion-submitted')
      offer.documents.pop()
      return offer
    })
  })

  test('a step that differs from the offer', () => {
    const takes =
      (predicate: object, changes: object = {}) =>
      (p: PeeredChains) => {
        const gated = shared(p)
        return p.take(gated, p.offer(gated, 'record-activated', predicate), changes)
      }
    refused('offer_mismatch', takes({ version: 3 }))
    refused('offer_mismatch', takes({ previous: HASH }))
    refused('offer_mismatch', takes({ peer: makeId('peer') }))
    refused('offer_mismatch', (p) => {
      const [gated, other] = [shared(p), shared(p)]
      return p.take(gated, p.offer(other, 'record-activated'))
    })
    refused('received_mismatch', takes({}, { received: undefined }))
    refused('offer_mismatch', (p) => {
      const gated = shared(p, { performer: undefined })
      return p.take(gated, p.offer(gated, 'record-activated'), {
        actor: `${p.guest.ledger}/${makeId('agt')}`,
      })
    })
    refused('offer_mismatch', (p) => {
      const gated = shared(p)
      p.take(gated, p.offer(gated, 'record-activated'))
      const offer = p.offer(gated, 'completion-submitted')
      return p.take(gated, {
        ...offer,
        documents: [saltDocument(offer.documents[0]!.subject, { quantity: 1 })],
      })
    })
  })

  test('a second answer to an offer at the home', () => {
    refused('offer_answered_twice', (p) => {
      const offer = p.offer(shared(p), 'record-activated')
      p.refuse(offer)
      return p.refuse(offer)
    })
    refused('offer_answered_twice', (p) => {
      const gated = shared(p)
      const offer = p.offer(gated, 'record-activated')
      p.take(gated, offer)
      return p.refuse(offer)
    })
  })

  test('a second answer to an offer at the guest', () => {
    const answeredTwice = (first: 'take' | 'refuse') => (p: PeeredChains) => {
      const gated = shared(p)
      const offer = p.offer(gated, 'record-activated')
      const taken = p.take(gated, offer)
      const refusal = p.refuse(offer)
      const answers = first === 'take' ? [taken, refusal] : [refusal, taken]
      return answers.map((answer) => p.receive(p.guest, answer)).at(-1)!
    }
    refused('offer_answered_twice', answeredTwice('take'))
    refused('offer_answered_twice', answeredTwice('refuse'))
  })

  test('an answer to an unknown offer', () => {
    refused('offer_mismatch', (p) => {
      const gated = shared(p)
      const offer = p.offer(gated, 'record-activated')
      return p.receive(
        p.guest,
        p.take(gated, offer, { offer: { peer: p.peer, ledger: p.guest.ledger, seq: 0, leaf: HASH } }),
      )
    })
    refused('offer_mismatch', (p) => {
      const gated = shared(p)
      const offer = p.offer(gated, 'record-activated')
      const { ledger } = p.guest
      const otherPeer = { offer: { peer: makeId('peer'), ledger, seq: offer.seq, leaf: offer.leaf } }
      return p.receive(p.guest, p.take(gated, offer, otherPeer))
    })
    refused('offer_mismatch', (p) =>
      p.receive(p.guest, p.refuse(p.offer(shared(p), 'record-activated'), { received: { leaf: HASH } })),
    )
    refused('offer_mismatch', (p) =>
      p.receive(
        p.guest,
        p.refuse(p.offer(shared(p), 'record-activated'), { received: { record: makeId('rec') } }),
      ),
    )
    refused('offer_mismatch', (p) =>
      p.receive(
        p.guest,
        p.refuse(p.offer(shared(p), 'record-activated'), { received: { ledger: makeId('led') } }),
      ),
    )
  })

  test('an acceptance by a ledger to which the step was not offered', () => {
    refused('offer_mismatch', (p) => {
      const gated = shared(p)
      const third = makeChain()
      const [peer, inviter] = [makeId('peer'), identityOf(third)]
      const handshake = { name: peer, sha256: digestOf({ peer, ...p.terms, inviter }) }
      p.add(p.guest, { inviter, counterpart: HASH }, handshake)
      const { kind, subjects, predicate } = statementOf(gated.last())
      const share = [{ peer, documents: 'whole' }]
      p.receive(
        p.guest,
        third.append({ kind, subjects, predicate: { ...predicate, ...third.acting(), share } }),
        { by: peer },
      )
      const offer = p.offer(gated, 'record-activated', { peer })
      const taken = { offer: { peer, ledger: p.guest.ledger, seq: offer.seq, leaf: offer.leaf } }
      return p.receive(p.guest, p.take(gated, offer, taken))
    })
  })

  test('a refusal of an offer made to another peering', () => {
    refused('offer_mismatch', (p) =>
      p.refuse(p.offer(shared(p), 'record-activated', { peer: makeId('peer') })),
    )
  })

  test('a step of a record that is not shared with the peer', () => {
    refused('not_shared', (p) => {
      const gated = makeGated(p.home, { performer: undefined })
      return p.take(gated, p.offer(gated, 'record-activated'))
    })
  })

  test('a step of a revoked peering', () => {
    refused('peer_not_active', (p) => {
      const gated = shared(p)
      const offer = p.offer(gated, 'record-activated')
      p.change(p.home, 'peer-revoked')
      return p.take(gated, offer)
    })
  })
})

test('a guest refuses a record created by system of the peer, with actor_not_entitled', () => {
  const peers = makePeers()
  const gated = peers.create({ actor: 'system', key: undefined })
  peers.receive(peers.guest, gated.last())
  assertRefused('actor_not_entitled', () => verifyChain(peers.guest), /system is not an agent/)
})
