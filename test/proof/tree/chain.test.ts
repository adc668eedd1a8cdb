import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { toHex } from '../../../src/proof/bytes.ts'
import { genesis, link } from '../../../src/proof/tree/chain.ts'
import { nativeProviders } from '../../../src/signing/native.ts'

const { sha256 } = nativeProviders
const uuid = new Uint8Array(16).fill(9)
const hashOf = (...parts: readonly (string | Uint8Array)[]): string => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}

test('a chain begins with its ledger’s uuid', () => {
  assert.equal(toHex(genesis(sha256, uuid)), hashOf('tallystick-chain-v1', uuid))
})

test('each chain hash covers the previous chain hash and the leaf', () => {
  const first = link(sha256, genesis(sha256, uuid), sha256(uuid))
  assert.equal(toHex(first), hashOf(Buffer.from([2]), genesis(sha256, uuid), sha256(uuid)))
  const second = link(sha256, first, first)
  assert.equal(toHex(second), hashOf(Buffer.from([2]), first, first), 'its result may be its argument')
})
