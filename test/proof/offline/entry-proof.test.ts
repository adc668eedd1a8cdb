import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromHex, toBase64 } from '../../../src/proof/bytes.ts'
import { PROOF_BYTES_MAX } from '../../../src/proof/limits.ts'
import { parseConsistencyProof, parseEntryProof } from '../../../src/proof/offline/entry-proof.ts'
import { makeChain } from '../../helpers/test-chain.ts'
import { consistencyOf, proofOf } from '../../helpers/test-proof.ts'
import { refuses } from '../refuses.ts'

function makeProof() {
  const chain = makeChain()
  const line = chain.notarizeBatch(3)
  return { chain, line, proof: proofOf(chain, line, { item: 1 }) }
}

test('parses a proof, with and without an item', () => {
  const { proof, line } = makeProof()
  const parsed = parseEntryProof(JSON.stringify(proof))
  assert.equal(toBase64(parsed.entry.envelope), line.envelope)
  assert.deepEqual(parsed.path, proof.path.map(fromHex))
  assert.deepEqual(parsed.item, { ...proof.item, path: proof.item!.path.map(fromHex) })
  const { item, ...alone } = proof
  assert.equal(parseEntryProof(JSON.stringify(alone, null, 2)).item, null)
})

test('parses a consistency proof', () => {
  const { chain } = makeProof()
  const proof = consistencyOf(chain, 3, 4)
  assert.deepEqual(parseConsistencyProof(JSON.stringify(proof)), { ...proof, path: proof.path.map(fromHex) })
})

test('refuses a missing, unknown or malformed member at any level', () => {
  const { proof } = makeProof()
  const parse = (changed: object) => () => parseEntryProof(JSON.stringify(changed))
  const parts: [object, (changed: object) => object][] = [
    [proof, (changed) => changed],
    [proof.ledger, (ledger) => ({ ...proof, ledger })],
    [proof.keys[0]!, (key) => ({ ...proof, keys: [key] })],
    [proof.entry, (entry) => ({ ...proof, entry })],
    [proof.item!, (item) => ({ ...proof, item })],
  ]
  for (const [part, within] of parts) {
    refuses('proof_syntax', parse(within({ ...part, another: 1 })))
    for (const name of Object.keys(part)) {
      const { [name as never]: _, ...rest } = part
      const isNeeded = part[name as never] !== null && (name !== 'item' || part !== proof)
      if (isNeeded) refuses('proof_syntax', parse(within(rest)))
      refuses('proof_syntax', parse(within({ ...part, [name]: true })))
    }
  }
})

test('null and absent are the same for optional members', () => {
  const { proof } = makeProof()
  const { item: _, ...alone } = proof
  const keys = proof.keys.map(({ retiredAt: _, compromisedAt: __, ...key }) => key)
  const read = (changed: object) => parseEntryProof(JSON.stringify(changed))
  assert.deepEqual(read({ ...proof, keys }), read(proof))
  assert.deepEqual(read({ ...alone, item: null, registration: null }), read(alone))
})

test('refuses paths, notes and texts above their limits', () => {
  const { proof, chain } = makeProof()
  const path = Array(55).fill(proof.path[0])
  assert.equal(parseEntryProof(JSON.stringify({ ...proof, path: path.slice(2) })).path.length, 53)
  refuses('proof_syntax', () => parseEntryProof(JSON.stringify({ ...proof, path: path.slice(1) })))
  const keys = Array(17).fill(proof.keys[0])
  assert.equal(parseEntryProof(JSON.stringify({ ...proof, keys: keys.slice(1) })).keys.length, 16)
  refuses('proof_syntax', () => parseEntryProof(JSON.stringify({ ...proof, keys })))
  const text = JSON.stringify(proof)
  const { length } = Buffer.from(text)
  parseEntryProof(text + ' '.repeat(PROOF_BYTES_MAX - length))
  refuses('proof_syntax', () => parseEntryProof(text + ' '.repeat(PROOF_BYTES_MAX - length + 1)))
  const wide = { ...proof, ledger: { ...proof.ledger, name: 'é'.repeat(PROOF_BYTES_MAX / 2) } }
  refuses('proof_syntax', () => parseEntryProof(JSON.stringify(wide)))
  const most = { ...consistencyOf(chain, 3, 4), path: path.slice(1) }
  assert.equal(parseConsistencyProof(JSON.stringify(most)).path.length, 54)
  const consistency = { ...most, path }
  refuses('proof_syntax', () => parseConsistencyProof(JSON.stringify(consistency)))
})

test('refuses text that is not JSON, duplicate members, and unlimited nesting', () => {
  const { proof } = makeProof()
  const text = JSON.stringify(proof)
  refuses('json_syntax', () => parseEntryProof(''))
  refuses('json_duplicate_member', () => parseEntryProof(`{"index":1,${text.slice(1)}`))
  refuses('json_depth', () => parseEntryProof('['.repeat(100_000)))
  refuses('proof_syntax', () => parseEntryProof('null'))
  refuses('bad_base64', () =>
    parseEntryProof(JSON.stringify({ ...proof, entry: { ...proof.entry, envelope: '!' } })),
  )
})
