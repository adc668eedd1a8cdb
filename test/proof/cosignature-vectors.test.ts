import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fromHex } from '../../src/proof/bytes.ts'
import { parseVerifierKey, verifyCheckpoint } from '../../src/proof/tree/checkpoint.ts'
import { cosign, parseWitnessPolicy, verifyCosignatures } from '../../src/proof/tree/cosignature.ts'
import { formatNoteKey, parseNote } from '../../src/proof/tree/note.ts'
import { makeEd25519Signer, nativeProviders } from '../../src/signing/native.ts'

/**
 * Vectors made with Go's golang.org/x/mod/sumdb/note and github.com/transparency-dev/formats/note. Seeds are
 * lower-case hex.
 */
type CosignatureVectors = {
  readonly log: { readonly seed: string; readonly verifierKey: string }
  readonly text: string
  readonly note: string
  readonly witnesses: readonly {
    readonly name: string
    readonly seed: string
    readonly verifierKey: string
    readonly timeSeconds: number
    readonly line: string
  }[]
}

const { sha256, verifySignature } = nativeProviders
const file = new URL('../vectors/cosignatures.json', import.meta.url)
const given: CosignatureVectors = JSON.parse(readFileSync(file, 'utf8'))

test('a note of the vectors verifies by the key of the log, and by those of the witnesses', () => {
  const checkpoint = verifyCheckpoint(
    given.note,
    parseVerifierKey(given.log.verifierKey, sha256),
    sha256,
    verifySignature,
  )
  assert.equal(checkpoint.size, 6)
  const { witnesses } = parseWitnessPolicy(
    given.witnesses.map(({ verifierKey }) => verifierKey),
    undefined,
    sha256,
  )
  assert.deepEqual(
    verifyCosignatures(parseNote(given.note), witnesses, nativeProviders),
    given.witnesses.map(({ name, timeSeconds }) => ({ witness: name, timeSeconds: BigInt(timeSeconds) })),
  )
})

test('cosignatures of the vectors are made byte for byte', () => {
  for (const { name, seed, verifierKey, timeSeconds, line } of given.witnesses) {
    const signer = makeEd25519Signer(sha256, fromHex(seed))
    assert.equal(formatNoteKey(name, 'cosignature', signer.key.raw, sha256), verifierKey)
    assert.equal(cosign(given.text, timeSeconds, name, signer, sha256), line)
    assert.ok(given.note.includes(line))
  }
})
