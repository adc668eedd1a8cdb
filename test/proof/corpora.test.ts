import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { sha512 } from '@noble/hashes/sha2.js'
import { fromHex, toHex, utf8Encode } from '../../src/proof/bytes.ts'
import type { ProofProviders, SignatureAlgorithm } from '../../src/proof/crypto.ts'
import { decodeCbor } from '../../src/proof/envelope/cbor.ts'
import { ProofError } from '../../src/proof/error.ts'
import { canonicalize } from '../../src/proof/json/jcs.ts'
import { parseJsonText } from '../../src/proof/json/json-text.ts'
import { parsePublicKey } from '../../src/proof/keys.ts'
import { lowS } from '../../src/proof/p256-low-s.ts'
import { parseVerifierKey } from '../../src/proof/tree/checkpoint.ts'
import {
  inclusionPath,
  leafHash,
  merkleRoot,
  verifyConsistency,
  verifyInclusion,
} from '../../src/proof/tree/merkle.ts'
import { parseNote, signaturesOf } from '../../src/proof/tree/note.ts'
import { consistencyRanges } from '../../src/proof/tree/tree-ranges.ts'
import { nativeProviders } from '../../src/signing/native.ts'
import { makePortableProviders } from '../../src/signing/portable.ts'

/*
 * Reads vectors of other projects (test/vectors/corpora/README.md). python/tests/test_corpora.py tests the same
 * vectors.
 */

const read = (name: string) =>
  JSON.parse(readFileSync(new URL(`../vectors/corpora/${name}.json`, import.meta.url), 'utf8'))
const { sha256, verifySignature } = nativeProviders

function codeOf(work: () => unknown): string | null {
  try {
    work()
    return null
  } catch (error) {
    if (error instanceof ProofError) return error.code
    throw error
  }
}

type Signatures = {
  readonly groups: readonly { readonly key: string; readonly tests: readonly string[][] }[]
}

function isSigned(
  alg: SignatureAlgorithm,
  { key, message, signature }: { key: string; message: string; signature: Uint8Array },
  verify: ProofProviders['verifySignature'],
): boolean {
  try {
    return signature.length === 64 && verify(parsePublicKey(alg, fromHex(key)), fromHex(message), signature)
  } catch (error) {
    if (error instanceof ProofError) return false
    throw error
  }
}

describe('Wycheproof', () => {
  const portable = makePortableProviders({ sha256, sha512 }).verifySignature
  for (const [name, verify] of [
    ['libsodium', verifySignature],
    ['portable', portable],
  ] as const)
    test(`Ed25519, ${name}`, () => {
      for (const { key, tests } of (read('wycheproof-ed25519') as Signatures).groups)
        for (const [id, message, hex, result] of tests)
          assert.equal(
            isSigned('EdDSA', { key, message: message!, signature: fromHex(hex!) }, verify),
            result === 'valid',
            `${id}`,
          )
    })

  test('ECDSA P-256: accepts only signatures with the lower s', () => {
    for (const { key, tests } of (read('wycheproof-p256') as Signatures).groups)
      for (const [id, message, hex, result] of tests) {
        const signature = fromHex(hex!)
        const low = signature.length === 64 ? lowS(signature) : signature
        const given = { key, message: message! }
        const isLow = toHex(low) === hex
        assert.equal(
          isSigned('ES256', { ...given, signature }, verifySignature),
          result === 'valid' && isLow,
          `${id}`,
        )
        assert.equal(
          isSigned('ES256', { ...given, signature: low }, verifySignature),
          result === 'valid',
          `${id}`,
        )
      }
  })
})

test('RFC 8949: examples and malformed items', () => {
  const { examples, malformed } = read('rfc8949')
  const code = (hex: string) => codeOf(() => decodeCbor(fromHex(hex), 'deterministic', 'tag 18'))
  const { taken, indefinite, ...others } = examples as Record<string, string[]>
  for (const hex of taken!) assert.equal(code(hex), null, hex)
  for (const hex of indefinite!) assert.equal(code(hex), 'cbor_not_deterministic', hex)
  for (const hex of [...Object.values(others).flat(), ...malformed])
    assert.equal(code(hex), 'cbor_malformed', hex)
})

test('JSONTestSuite', () => {
  const { cases, exceptions, either } = read('json-test-suite')
  const lossy = (name: string) => (name.startsWith('i_number') ? 'json_number_lossy' : 'json_surrogate')
  for (const [name, text] of cases as [string, string][]) {
    const usual = { y: null, n: 'json_syntax', i: lossy(name) }[name[0] as 'y' | 'n' | 'i']
    const expected = name in either ? either[name] : (exceptions[name] ?? usual)
    assert.equal(
      codeOf(() => parseJsonText(text)),
      expected,
      name,
    )
  }
  for (const open of ['[', '[{"":'])
    assert.match(codeOf(() => parseJsonText(open.repeat(100_000)))!, /^json_(depth|syntax)$/)
})

test('canonical JSON', () => {
  for (const [name, input, output] of read('jcs').cases)
    assert.equal(canonicalize(parseJsonText(input)), output, name)
})

test('signed notes', () => {
  const { keys, badKeys, text, signatures, badNotes } = read('signed-notes')
  const note = parseNote(`${text}\n${signatures.join('')}`)
  assert.equal(note.text, text)
  for (const vkey of keys) {
    const { origin, key } = parseVerifierKey(vkey, sha256)
    const keyId = fromHex(vkey.split('+')[1]!)
    const [line, ...more] = signaturesOf(note.signatures, { name: origin, keyId })
    assert.ok(verifySignature(key, utf8Encode(note.text), line!.signature))
    assert.equal(more.length, 0)
  }
  for (const vkey of badKeys)
    assert.equal(
      codeOf(() => parseVerifierKey(vkey, sha256)),
      'verifier_key',
      vkey,
    )
  for (const bad of badNotes)
    assert.equal(
      codeOf(() => parseNote(bad)),
      'note_syntax',
      bad,
    )
})

test('trees of RFC 6962: roots, paths and consistency', () => {
  const { leaves, roots } = read('merkle')
  const hashes: Uint8Array[] = leaves.map((leaf: string) => leafHash(sha256, fromHex(leaf)))
  for (const [size, root] of (roots as string[]).entries()) {
    if (size === 0) continue
    const all = hashes.slice(0, size)
    assert.equal(toHex(merkleRoot(sha256, all)), root)
    for (let index = 0; index < size; index++)
      verifyInclusion(sha256, all[index]!, index, size, inclusionPath(sha256, all, index), fromHex(root))
    for (let from = 1; from <= size; from++) {
      const path = consistencyRanges(from, size).map(({ start, end }) =>
        merkleRoot(sha256, all.slice(start, end)),
      )
      verifyConsistency(sha256, from, size, path, fromHex(roots[from]), fromHex(root))
    }
  }
})
