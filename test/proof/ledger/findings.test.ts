import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Erasure, erasureOf } from '../../../src/proof/entry/erasures.ts'
import { findingsOf, type LedgerTrust, verifyTrust } from '../../../src/proof/ledger/findings.ts'
import { LedgerVerifier } from '../../../src/proof/ledger/verify-ledger.ts'
import { makeChain, makeId, providers } from '../../helpers/test-chain.ts'
import { verifyChain } from '../../helpers/verify-chain.ts'
import { refuses } from '../refuses.ts'

const chain = makeChain()
chain.notarize()
chain.rotateServerKey()
const [first, second] = chain.signers.map(({ kidHex }) => kidHex) as [string, string]
const read = { documents: 'all', erasures: [] as Erasure[] } as const
const summary = verifyChain(chain)
const empty = new LedgerVerifier(providers).summary
const trusting = (trust: LedgerTrust) => findingsOf(summary, trust, read).keys
const pinned = (kid: string) => new Map([[chain.ledger, kid]])

test('keys are given or pinned only if the trusted keys include the ledger’s first key', () => {
  assert.equal(trusting({}), 'self-asserted')
  assert.equal(trusting({ kids: [second, first] }), 'given')
  assert.equal(trusting({ kids: [second] }), 'self-asserted')
  assert.equal(trusting({ pinned: pinned(first) }), 'pinned')
  assert.equal(trusting({ pinned: new Map([[makeId('led'), first]]) }), 'self-asserted')
  assert.equal(findingsOf(empty, { kids: [first] }, read).keys, 'self-asserted')
})

test('reports the checkpoint and its size; a stored checkpoint takes precedence over the ledger’s own', () => {
  const [kept, own] = [chain.checkpoint(2), chain.checkpoint(4)]
  const found = (options: object) => {
    const { checkpoint, covered } = findingsOf(verifyChain(chain, options), {}, read)
    return [checkpoint, covered]
  }
  assert.deepEqual(found({}), ['none', 0])
  assert.deepEqual(found({ own: [own] }), ['own', 4])
  assert.deepEqual(found({ own: [own], storedCheckpoints: [kept] }), ['given', 2])
})

test('refuses another ledger with ledger_foreign, and absent trusted keys with trusted_key_absent', () => {
  verifyTrust(summary, chain.ledger, { kids: [first, second], pinned: pinned(first) })
  verifyTrust(empty, chain.ledger, {})
  refuses('ledger_foreign', () => verifyTrust(summary, makeId('led'), {}))
  refuses('trusted_key_absent', () => verifyTrust(summary, chain.ledger, { kids: ['00'.repeat(32)] }))
  refuses('trusted_key_absent', () => verifyTrust(empty, chain.ledger, { kids: [first] }))
  refuses('trusted_key_absent', () => verifyTrust(summary, chain.ledger, { pinned: pinned(second) }))
})

test('erasureOf returns the fields of the signed erasure entry, and null for other entries', () => {
  const erased = makeChain()
  const line = erased.notarize()
  const erasure = erased.erase(line)
  const found: (Erasure | null)[] = []
  verifyChain(erased, {}, (step) => void found.push(erasureOf(step)))
  assert.deepEqual(found.slice(0, -1), [null, null, null, null])
  assert.deepEqual(found.at(-1), {
    seq: erasure.seq,
    subject: line.documents[0]!.subject,
    digestedBy: line.seq,
    code: 'data_subject_request',
    by: erased.agent,
    key: erased.key,
    recordedAt: erasure.recordedAt,
  })
})
