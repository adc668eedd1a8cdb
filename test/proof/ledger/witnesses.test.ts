import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findingsOf } from '../../../src/proof/ledger/findings.ts'
import { parseEntryProof } from '../../../src/proof/offline/entry-proof.ts'
import { findingsOfProof } from '../../../src/proof/offline/proof-findings.ts'
import { verifyProof } from '../../../src/proof/offline/verify-proof.ts'
import { parseWitnessPolicy } from '../../../src/proof/tree/cosignature.ts'
import { makeCosigners } from '../../helpers/cosigners.ts'
import { makeChain, providers, sha256 } from '../../helpers/test-chain.ts'
import { proofOf } from '../../helpers/test-proof.ts'
import { verifyChain } from '../../helpers/verify-chain.ts'
import { refuses } from '../refuses.ts'

const { vkeys, cosigned } = makeCosigners(3)
const chain = makeChain()
for (let i = 0; i < 6; i++) chain.notarize()
const READ = { documents: 'all', erasures: [] } as const

function witnessed(own: readonly string[], kept: readonly string[], min?: number): number | null {
  const witnesses = parseWitnessPolicy(vkeys, min, sha256)
  const summary = verifyChain(chain, { own, storedCheckpoints: kept, witnesses })
  return findingsOf(summary, { witnesses }, READ).witnessed
}

test('a checkpoint, own or stored, counts as witnessed with at least the required number of cosignatures', () => {
  const all = cosigned(chain.checkpoint(), 0, 1, 2)
  const two = cosigned(chain.checkpoint(4), 1, 2)
  assert.equal(witnessed([all], []), chain.lines.length)
  assert.equal(witnessed([chain.checkpoint()], []), 0)
  assert.equal(witnessed([two, chain.checkpoint()], []), 0)
  assert.equal(witnessed([two, chain.checkpoint()], [], 2), 4)
  assert.equal(witnessed([chain.checkpoint()], [two], 2), 4)
  assert.equal(witnessed([all], [two], 2), chain.lines.length)
  assert.equal(findingsOf(verifyChain(chain, { own: [all] }), {}, READ).witnessed, null)
})

test('refuses a checkpoint with an invalid cosignature of a known witness, with signature_invalid', () => {
  const bad = cosigned(chain.checkpoint(4), 0).slice(chain.checkpoint(4).length)
  refuses('signature_invalid', () => witnessed([chain.checkpoint() + bad], []))
})

test('findings of a proof count the witnesses that cosigned its checkpoint', () => {
  const proof = proofOf(chain, chain.lines[4]!)
  const verified = (note: string, given = true) =>
    verifyProof(
      parseEntryProof(JSON.stringify({ ...proof, checkpoint: note })),
      {
        kids: [],
        noteKey: null,
        storedCheckpoints: [],
        consistency: null,
        witnesses: given ? parseWitnessPolicy(vkeys, 1, sha256) : undefined,
      },
      providers,
    )
  const found = (note: string, given?: boolean) =>
    findingsOfProof(verified(note, given), { kids: [], noteKey: null, record: null }).cosigned
  assert.equal(found(cosigned(proof.checkpoint, 0, 2)), 2)
  assert.equal(found(proof.checkpoint), 0)
  assert.equal(found(cosigned(proof.checkpoint, 0), false), null)
  const bad = cosigned(chain.checkpoint(4), 0).slice(chain.checkpoint(4).length)
  refuses('signature_invalid', () => verified(proof.checkpoint + bad))
})
