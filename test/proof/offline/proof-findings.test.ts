import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseConsistencyProof, parseEntryProof } from '../../../src/proof/offline/entry-proof.ts'
import { findingsOfProof } from '../../../src/proof/offline/proof-findings.ts'
import { verifyProof } from '../../../src/proof/offline/verify-proof.ts'
import { makeChain, providers, type TestLine } from '../../helpers/test-chain.ts'
import { makeGated } from '../../helpers/test-gated.ts'
import { consistencyOf, proofOf, verifierKeyOf } from '../../helpers/test-proof.ts'

const chain = makeChain()
const notarized = chain.notarize()
const batch = chain.notarizeBatch(2)
const gated = makeGated(chain)
const activated = gated.activate()
gated.submit()
gated.verify('fail')
const judged = gated.judge('reject')
const overturned = gated.overturn(judged.leaf)

const NOTHING = { kids: [] as string[], noteKey: null as string | null, record: null as string | null }

function find(line: TestLine, options: { item?: number } = {}, given = NOTHING, kept: number | null = null) {
  const proof = parseEntryProof(JSON.stringify(proofOf(chain, line, options)))
  const size = chain.lines.length
  const trust = {
    ...given,
    storedCheckpoints: kept === null ? [] : [chain.checkpoint(kept)],
    consistency:
      kept === null ? null : parseConsistencyProof(JSON.stringify(consistencyOf(chain, kept, size))),
  }
  return findingsOfProof(verifyProof(proof, trust, providers), given)
}

test('reports the proved entry, or the record of a batch', () => {
  const { ledger, seq, kind, recordedAt, subject, kid, treeSize } = find(notarized)
  assert.deepEqual(
    [ledger, seq, kind, recordedAt],
    [chain.ledger, 3, 'record-notarized', notarized.recordedAt],
  )
  assert.deepEqual([subject, kid], [notarized.documents[0]!.subject, chain.firstSigner.kidHex])
  assert.equal(treeSize, chain.lines.length)
  assert.equal(find(batch, { item: 1 }).subject, batch.items![1]!.record)
  assert.match(find(batch).subject, /^bat_/)
})

test('reports the version of a gated step, and the settlement decision of a verdict', () => {
  const said = (line: TestLine) => {
    const { version, signal } = find(line)
    return [version, signal?.decision ?? null]
  }
  assert.deepEqual([notarized, batch].map(said), [
    [null, null],
    [null, null],
  ])
  assert.deepEqual([activated, judged, overturned].map(said), [
    [2, null],
    [5, 'HOLD'],
    [6, 'RELEASE'],
  ])
  assert.deepEqual(find(judged).signal, { decision: 'HOLD', code: 'ok', failingRules: [], validUntil: null })
})

test('reports which keys, checkpoint and record the proof was checked against', () => {
  const alone = find(notarized)
  assert.deepEqual([alone.keys, alone.noteKey, alone.record], ['self-asserted', 'self-asserted', 'not given'])
  assert.deepEqual([alone.checkpoint, alone.covered, alone.notices], ['own', chain.lines.length, []])
  const given = { kids: [chain.firstSigner.kidHex], noteKey: verifierKeyOf(chain), record: '{}' }
  const trusted = find(notarized, {}, given, 5)
  assert.deepEqual([trusted.keys, trusted.noteKey, trusted.record], ['given', 'given', 'same'])
  assert.deepEqual([trusted.checkpoint, trusted.covered, trusted.notices], ['given', 5, []])
})

test('a stored checkpoint older than the entry does not cover the entry, and gives a notice', () => {
  const { checkpoint, covered, notices } = find(notarized, {}, NOTHING, 3)
  assert.deepEqual([checkpoint, covered], ['own', chain.lines.length])
  assert.match(notices[0]!, /^the stored checkpoint of 3 entries is older than the entry/)
})
