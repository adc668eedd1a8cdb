import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { TEXT_BYTES_MAX } from '../../src/proof/limits.ts'
import { isKeyName, isOrigin, isPlainText } from '../../src/proof/names.ts'
import { isIdentity } from '../../src/proof/statement/federation-fields.ts'
import {
  formatVerifierKey,
  parseCheckpoint,
  parseVerifierKey,
  signCheckpoint,
} from '../../src/proof/tree/checkpoint.ts'
import { signatureLine } from '../../src/proof/tree/note.ts'
import { makeEd25519Signer, nativeProviders } from '../../src/signing/native.ts'
import { codePoint } from '../helpers/code-points.ts'
import { runs } from '../helpers/runs.ts'

const { sha256 } = nativeProviders
const signer = makeEd25519Signer(sha256, new Uint8Array(32).fill(1))
const LEDGER = 'led_01jegv5gyme00r000000000001'
const PAGE = readFileSync(new URL('../../docs/formats/rules.md', import.meta.url), 'utf8')
const isCharacter = (code: number) => code < 0xd800 || code > 0xdfff

/** Returns the code points in rows of a table of docs/formats/rules.md, such as `| U+0009 to U+000D | … |`. */
function listed(row: RegExp): Set<number> {
  const found = new Set<number>()
  for (const [, first, last = first] of PAGE.matchAll(row))
    for (let code = Number.parseInt(first!, 16); code <= Number.parseInt(last!, 16); code++) found.add(code)
  return found
}

test('for every code point, barred characters and white space are those of docs/formats/rules.md', () => {
  const white = listed(/^\| U\+([0-9A-F]{4})(?: to U\+([0-9A-F]{4}))? \|/gm)
  const controls = listed(/^\| notes, names of note keys \| U\+([0-9A-F]{4}) to U\+([0-9A-F]{4}) \|/gm)
  const ofText = listed(/^\| text of signed objects \| U\+([0-9A-F]{4}) to U\+([0-9A-F]{4}) \|/gm)
  assert.equal(white.size, 25)
  assert.equal(ofText.size, 65)
  for (let code = 0; code <= 0x10ffff; code++) {
    const text = String.fromCodePoint(code)
    const isBarred = white.has(code) || controls.has(code) || text === '+' || !isCharacter(code)
    if (white.has(code) !== /\p{White_Space}/u.test(text) || isKeyName(text) === isBarred)
      assert.fail(`U+${code.toString(16)}`)
    if (isCharacter(code) && isPlainText(text) === ofText.has(code))
      assert.fail(`U+${code.toString(16)} in text`)
  }
})

test('signature line, verifier key, checkpoint, identity and origin accept the same names', () => {
  const envelopeKey = {
    kid: '0'.repeat(64),
    alg: 'EdDSA',
    spki: Buffer.from(signer.key.spki).toString('base64'),
  }
  const takes = (work: () => unknown) => {
    try {
      work()
      return true
    } catch {
      return false
    }
  }
  const note = signCheckpoint(
    { origin: 'a', size: 6, root: new Uint8Array(32), chain: new Uint8Array(32) },
    signer,
    sha256,
  )
  fc.assert(
    fc.property(fc.string({ unit: codePoint, minLength: 1, maxLength: 3 }), (some) => {
      const name = `a${some}/${LEDGER}`
      const isName = isKeyName(name)
      assert.equal(
        takes(() => parseCheckpoint(note + signatureLine(name, new Uint8Array(4), new Uint8Array(64)))),
        isName,
      )
      assert.equal(
        takes(() => parseVerifierKey(formatVerifierKey(name, signer.key.raw, sha256), sha256)),
        isName,
      )
      assert.equal(
        takes(() => parseCheckpoint(note.replace('a\n', () => `${name}\n`))),
        isName,
      )
      assert.equal(isOrigin(name, LEDGER), isName && isPlainText(name))
      const identity = {
        ledger: LEDGER,
        url: 'https://a',
        origin: name,
        genesis: '0'.repeat(64),
        envelopeKey,
      }
      assert.equal(isIdentity(identity), isOrigin(name, LEDGER))
    }),
    { numRuns: runs(500) },
  )
})

test('an origin is a host followed by the ledger, at most TEXT_BYTES_MAX bytes long', () => {
  const end = `/${LEDGER}`
  for (const host of ['a', 'a:8080', 'a/b', 'é', '\ufeff', 'x'.repeat(TEXT_BYTES_MAX - end.length)])
    assert.ok(isOrigin(host + end, LEDGER), host)
  for (const host of ['', '/', '/a', 'a b', 'a+', 'é'.repeat((TEXT_BYTES_MAX - end.length) / 2 + 1)])
    assert.ok(!isOrigin(host + end, LEDGER), host)
  for (const origin of ['', LEDGER, `a${LEDGER}`, `a${end}/`, `a${end.slice(0, -1)}2`])
    assert.ok(!isOrigin(origin, LEDGER))
})
