import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fromBase64, toHex, utf8Encode } from '../../src/proof/bytes.ts'
import type { SignatureAlgorithm } from '../../src/proof/crypto.ts'
import { parseEntryLine } from '../../src/proof/entry/entry-line.ts'
import type { EntryStep } from '../../src/proof/entry/entry-step.ts'
import { verifyEntry } from '../../src/proof/entry/verify-entry.ts'
import { bytesOfUuid } from '../../src/proof/ids.ts'
import { canonicalize } from '../../src/proof/json/jcs.ts'
import type { JsonObject } from '../../src/proof/json/json-value.ts'
import { parsePublicKey } from '../../src/proof/keys.ts'
import { LedgerVerifier } from '../../src/proof/ledger/verify-ledger.ts'
import { ENTRY_KINDS } from '../../src/proof/statement/kinds.ts'
import { remoteAgentId } from '../../src/proof/statement/remote-agents.ts'
import { nativeProviders } from '../../src/signing/native.ts'

/**
 * Vectors of test/vectors/federation.json: two ledgers and their shared records. An implementation in another
 * language made them.
 */
type Vectors = {
  readonly peer: string
  readonly handshake: string
  readonly remoteAgent: { readonly text: string; readonly id: string }
  readonly ledgers: Readonly<Record<'home' | 'guest', VectorLedger>>
}

type VectorLedger = {
  readonly ledger: string
  readonly keys: readonly { readonly kid: string; readonly alg: SignatureAlgorithm; readonly spki: string }[]
  readonly lines: readonly object[]
}

const vectors: Vectors = JSON.parse(
  readFileSync(new URL('../vectors/federation.json', import.meta.url), 'utf8'),
)
const { sha256 } = nativeProviders

function stepsOf({ keys, lines }: VectorLedger): EntryStep[] {
  const known = new Map(keys.map(({ kid, alg, spki }) => [kid, parsePublicKey(alg, fromBase64(spki))]))
  const findKey = (kid: string) => known.get(kid) ?? null
  return lines.map((line) => verifyEntry(parseEntryLine(JSON.stringify(line)), findKey, nativeProviders).step)
}

describe('the ledgers of the vectors verify:', () => {
  for (const side of ['home', 'guest'] as const) {
    test(side, () => {
      const verifier = new LedgerVerifier(nativeProviders)
      for (const step of stepsOf(vectors.ledgers[side])) verifier.append(step)
      verifier.finish()
      assert.equal(verifier.summary.ledger, vectors.ledgers[side].ledger)
      const [peering, ...others] = verifier.peerings
      assert.deepEqual([peering?.peer, peering?.handshake, others], [vectors.peer, vectors.handshake, []])
      assert.equal(peering?.state, 'revoked')
    })
  }
})

test('the ledgers of the vectors have every kind of entry about other ledgers', () => {
  const kinds = new Set(
    Object.values(vectors.ledgers)
      .flatMap(stepsOf)
      .map(({ kind }) => kind),
  )
  const expected = Object.keys(ENTRY_KINDS).filter((kind) =>
    /^peer-|^record-shared|^entry-received|offer/.test(kind),
  )
  assert.equal(expected.length, 9)
  for (const kind of expected) assert.ok(kinds.has(kind as EntryStep['kind']), kind)
})

test('each received entry of the vectors is an entry of the other ledger', () => {
  const { home, guest } = vectors.ledgers
  const leaves = new Set([...stepsOf(home), ...stepsOf(guest)].map(({ leaf }) => toHex(leaf)))
  const received = [...stepsOf(home), ...stepsOf(guest)].flatMap((step) => step.received?.leaf ?? [])
  assert.equal(new Set(received).size, received.length)
  for (const leaf of received) assert.ok(leaves.has(leaf))
})

test('the handshake and the id of a remote agent match the vectors', () => {
  const added = stepsOf(vectors.ledgers.home).find(({ kind }) => kind === 'peer-added')!
  const { tokenHash, inviter, invited } = added.statement!.predicate as JsonObject
  const handshake = { peer: vectors.peer, tokenHash: tokenHash!, inviter: inviter!, invited: invited! }
  assert.equal(toHex(sha256(utf8Encode(canonicalize(handshake)))), vectors.handshake)
  const { text, id } = vectors.remoteAgent
  assert.equal(toHex(bytesOfUuid(remoteAgentId(sha256, text))), id)
})
