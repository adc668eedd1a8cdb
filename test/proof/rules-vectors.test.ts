import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { ProofError } from '../../src/proof/error.ts'
import { isHttpUrl, isKeyName, isOrigin, isPlainText } from '../../src/proof/names.ts'
import { parseVerifierKey, verifyCheckpoint } from '../../src/proof/tree/checkpoint.ts'
import {
  countCosignatures,
  parseWitnessPolicy,
  verifyCosignatures,
} from '../../src/proof/tree/cosignature.ts'
import { parseNote, parseNoteKey } from '../../src/proof/tree/note.ts'
import { nativeProviders } from '../../src/signing/native.ts'

/**
 * Vectors made by a Python program without our code. python/tests/test_vectors.py tests the Python verifier with the
 * same file.
 */
type RuleVectors = {
  readonly log: { readonly verifierKey: string }
  readonly witness: string
  readonly ledger: string
  readonly characters: readonly {
    readonly codePoint: string
    readonly name: boolean
    readonly text: boolean
  }[]
  readonly notes: readonly Vector<{ readonly note: string; readonly unknown: number }>[]
  readonly cosignatures: readonly Vector<{ readonly note: string; readonly seconds: string }>[]
  /** `names` is the key type that the text of the refusal names; null if the text names no type. */
  readonly verifierKeys: readonly Vector<{ readonly text: string; readonly names: string | null }>[]
  readonly origins: readonly { readonly origin: string; readonly ok: boolean }[]
  readonly urls: readonly { readonly url: string; readonly ok: boolean }[]
}
/** `code` is the code of the refusal; null if the vector must be accepted. */
type Vector<T> = T & { readonly what: string; readonly code: string | null }

const { sha256, verifySignature } = nativeProviders
const given: RuleVectors = JSON.parse(readFileSync(new URL('../vectors/rules.json', import.meta.url), 'utf8'))
const policy = parseWitnessPolicy([given.witness], 1, sha256)
const log = parseVerifierKey(given.log.verifierKey, sha256)

test('characters at each edge of the lists are allowed in names and texts as in the vectors', () => {
  for (const { codePoint, name, text } of given.characters) {
    const value = `a${String.fromCodePoint(Number.parseInt(codePoint, 16))}b`
    assert.deepEqual(
      { codePoint, name: isKeyName(value), text: isPlainText(value) },
      { codePoint, name, text },
    )
  }
})

test('origins and URLs are accepted or refused as in the vectors', () => {
  for (const { origin, ok } of given.origins) assert.equal(isOrigin(origin, given.ledger), ok, origin)
  for (const { url, ok } of given.urls) assert.equal(isHttpUrl(url), ok, url)
})

describe('a note with', () => {
  for (const { what, note, code, unknown } of given.notes)
    test(what, () => {
      const count = () => {
        verifyCheckpoint(note, log, sha256, verifySignature)
        return countCosignatures(parseNote(note), policy, nativeProviders)
      }
      if (code === null) assert.deepEqual(count(), { cosigned: 0, unknown })
      else assert.equal(refusalOf(count).code, code)
    })
})

describe('a cosignature of', () => {
  for (const { what, note, code, seconds } of given.cosignatures)
    test(what, () => {
      const times = () =>
        verifyCosignatures(parseNote(note), policy.witnesses, nativeProviders).map(
          ({ timeSeconds }) => timeSeconds,
        )
      if (code === null) assert.deepEqual(times(), [BigInt(seconds)])
      else assert.equal(refusalOf(times).code, code)
    })
})

describe('the verifier key of a witness with', () => {
  for (const { what, text, code, names } of given.verifierKeys)
    test(what, () => {
      const parse = () => parseNoteKey(text, 'cosignature', sha256)
      if (code === null) {
        parse()
        return
      }
      const refusal = refusalOf(parse)
      assert.equal(refusal.code, code)
      if (names !== null)
        assert.match(refusal.detail, new RegExp(`of type ${names.replace(/[()]/g, '\\$&')}, not`))
    })
})

function refusalOf(work: () => unknown): ProofError {
  try {
    work()
  } catch (error) {
    assert.ok(error instanceof ProofError)
    return error
  }
  assert.fail('it was taken')
}
