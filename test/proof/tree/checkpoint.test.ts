import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { fromHex, toBase64, utf8Encode } from '../../../src/proof/bytes.ts'
import { NOTE_BYTES_MAX } from '../../../src/proof/limits.ts'
import {
  type Checkpoint,
  formatCheckpoint,
  formatVerifierKey,
  parseCheckpoint,
  parseVerifierKey,
  signCheckpoint,
  verifyCheckpoint,
} from '../../../src/proof/tree/checkpoint.ts'
import { makeEd25519Signer, nativeProviders } from '../../../src/signing/native.ts'
import { refuses } from '../refuses.ts'

const { sha256, verifySignature } = nativeProviders
const signer = makeEd25519Signer(sha256, new Uint8Array(32).fill(1))
const witness = makeEd25519Signer(sha256, new Uint8Array(32).fill(2))
const ORIGIN = 'ledger.example/led_x'
const ROOT = new Uint8Array(32).fill(3)
const CHAIN = new Uint8Array(32).fill(4)
const CHECKPOINT: Checkpoint = { origin: ORIGIN, size: 6, root: ROOT, chain: CHAIN }
const TEXT = formatCheckpoint(CHECKPOINT)
const NOTE = signCheckpoint(CHECKPOINT, signer, sha256)
const SIGNATURE_LINE = NOTE.slice(TEXT.length + 1)
const VERIFIER = { origin: ORIGIN, key: signer.key }
const verify = (note: string): Checkpoint => verifyCheckpoint(note, VERIFIER, sha256, verifySignature)

test('a checkpoint survives signing and parsing', () => {
  const hashes = fc.uint8Array({ minLength: 32, maxLength: 32 })
  fc.assert(
    fc.property(fc.maxSafeNat(), hashes, hashes, (size, root, chain) => {
      const checkpoint = { origin: ORIGIN, size, root, chain }
      assert.deepEqual(verify(signCheckpoint(checkpoint, signer, sha256)), checkpoint)
    }),
  )
})

test('the text is four lines', () => {
  assert.equal(TEXT, `${ORIGIN}\n6\n${toBase64(ROOT)}\nchain ${toBase64(CHAIN)}\n`)
  assert.equal(parseCheckpoint(NOTE).text, TEXT)
})

describe('signatures of others', () => {
  const cosigned = signCheckpoint(CHECKPOINT, witness, sha256).slice(TEXT.length + 1)

  test('are ignored beside ours, valid or not', () => {
    assert.deepEqual(verify(NOTE + cosigned), CHECKPOINT)
    assert.deepEqual(verify(`${TEXT}\n${cosigned}${SIGNATURE_LINE}`), CHECKPOINT)
    assert.deepEqual(verify(`${NOTE}\u2014 witness.example AAAAAAA=\n`), CHECKPOINT)
    assert.equal(parseCheckpoint(NOTE + cosigned).signatures.length, 2)
  })

  test('do not replace ours, under any name: note_unsigned', () => {
    refuses('note_unsigned', () => verify(`${TEXT}\n${cosigned}`))
    refuses('note_unsigned', () => verify(`${TEXT}\n${SIGNATURE_LINE.replace(ORIGIN, 'witness.example')}`))
  })
})

test('an invalid signature under our name and key id is refused, even beside a valid one', () => {
  const bytes = Buffer.from(SIGNATURE_LINE.trim().split(' ')[2]!, 'base64')
  bytes[20]! ^= 1
  const bad = `\u2014 ${ORIGIN} ${bytes.toString('base64')}\n`
  refuses('signature_invalid', () => verify(`${TEXT}\n${bad}`))
  refuses('signature_invalid', () => verify(NOTE + bad))
})

test('a checkpoint of another ledger is refused, even signed with our key', () => {
  const foreign = signCheckpoint({ ...CHECKPOINT, origin: 'ledger.example/led_y' }, signer, sha256)
  refuses('checkpoint_foreign', () => verify(foreign))
})

test('a changed text is refused', () => {
  refuses('signature_invalid', () => verify(NOTE.replace('\n6\n', '\n7\n')))
})

describe('refuses as a malformed signed note', () => {
  const bad: Record<string, string> = {
    nothing: '',
    'a text without signatures': TEXT,
    'a text and a blank line': `${TEXT}\n`,
    'a last line that does not end': NOTE.slice(0, -1),
    'a last line that ends otherwise': `${NOTE.slice(0, -1)}x`,
    'nothing but a signature line': `x${SIGNATURE_LINE}`,
    'signatures without a blank line before': TEXT + SIGNATURE_LINE,
    'a carriage return': NOTE.replace('\n6\n', '\r\n6\r\n'),
    'a null character': NOTE.replace('\n6\n', '\n6\u0000\n'),
    'half of a surrogate pair': NOTE.replace('ledger', '\ud800'),
    'a signature line without its dash': NOTE.replace('\u2014 ', '- '),
    'a signature line of two words': `${TEXT}\n\u2014 ${ORIGIN}\n`,
    'a signature line of four words': NOTE.replace(/\n$/, ' x\n'),
    'a name with a plus': NOTE.replace(`\u2014 ${ORIGIN}`, '\u2014 a+b'),
    'a signature that is no base64': `${TEXT}\n\u2014 ${ORIGIN} AB==\n`,
    'a signature of nothing but a key id': `${TEXT}\n\u2014 ${ORIGIN} AAAAAA==\n`,
    'more signatures than anybody needs': `${TEXT}\n${SIGNATURE_LINE.repeat(65)}`,
    'a note longer than anybody needs': `${'x'.repeat(NOTE_BYTES_MAX)}\n\n${SIGNATURE_LINE}`,
  }
  for (const [what, note] of Object.entries(bad)) test(what, () => refuses('note_syntax', () => verify(note)))

  test('accepts 64 signatures', () => {
    assert.deepEqual(verify(`${TEXT}\n${SIGNATURE_LINE.repeat(64)}`), CHECKPOINT)
  })
})

describe('refuses as a malformed checkpoint', () => {
  const lines = TEXT.split('\n')
  const withLine = (at: number, line: string): string =>
    lines.map((old, i) => (i === at ? line : old)).join('\n')
  const bad: Record<string, string> = {
    'no origin': withLine(0, ''),
    'an origin with a space': withLine(0, 'a b'),
    'a size with a leading zero': withLine(1, '06'),
    'a size that is negative': withLine(1, '-6'),
    'a size that a double would change': withLine(1, '9007199254740993'),
    'a size of more digits than any': withLine(1, '9'.repeat(40)),
    'no size': withLine(1, ''),
    'a root of 31 bytes': withLine(2, toBase64(ROOT.subarray(1))),
    'a root in another alphabet': withLine(2, toBase64(new Uint8Array(32).fill(0xff)).replaceAll('/', '_')),
    'no chain line': lines.filter((line) => !line.startsWith('chain')).join('\n'),
    'another extension line': withLine(3, `chains ${toBase64(CHAIN)}`),
    'a chain hash of 33 bytes': withLine(3, `chain ${toBase64(new Uint8Array(33))}`),
    'a second extension line': `${TEXT}more\n`,
    'a single line': 'x\n',
  }
  for (const [what, text] of Object.entries(bad)) {
    test(what, () => {
      const keyLine = signCheckpoint(CHECKPOINT, signer, sha256).slice(TEXT.length + 1)
      refuses('checkpoint_syntax', () => verify(`${text}\n${keyLine}`))
    })
  }

  test('accepts a size of zero, and the largest size', () => {
    for (const size of [0, Number.MAX_SAFE_INTEGER]) {
      assert.equal(verify(signCheckpoint({ ...CHECKPOINT, size }, signer, sha256)).size, size)
    }
  })
})

describe('a verifier key', () => {
  const text = formatVerifierKey(ORIGIN, signer.key.raw, sha256)

  test('survives formatting and parsing', () => {
    const parsed = parseVerifierKey(text, sha256)
    assert.equal(parsed.origin, ORIGIN)
    assert.deepEqual(parsed.key, signer.key)
  })

  test('may contain plus signs in its base64', () => {
    const found = Array.from({ length: 64 }, (_, i) => makeEd25519Signer(sha256, new Uint8Array(32).fill(i)))
      .map(({ key }) => formatVerifierKey(ORIGIN, key.raw, sha256))
      .find((key) => key.split('+').length > 3)!
    assert.equal(formatVerifierKey(ORIGIN, parseVerifierKey(found, sha256).key.raw, sha256), found)
  })

  const encoded = text.slice(text.indexOf('+', text.indexOf('+') + 1) + 1)
  const small = formatVerifierKey(ORIGIN, fromHex(`01${'00'.repeat(31)}`), sha256)
  const bad: Record<string, string> = {
    nothing: '',
    'a name alone': ORIGIN,
    'a name and an id': text.split('+').slice(0, 2).join('+'),
    'no name': text.slice(text.indexOf('+')),
    'a name with a space': formatVerifierKey('a b', signer.key.raw, sha256),
    'an id of another key': text.replace(/\+[0-9a-f]{8}\+/, '+00000000+'),
    'an id in upper case': text.replace(/\+[0-9a-f]{8}\+/, '+ABCDEF00+'),
    'an id of another name': `x${text}`,
    'a key of another type': `${ORIGIN}+00000000+${toBase64(new Uint8Array(33).fill(2))}`,
    'a key of 31 bytes': `${ORIGIN}+00000000+${toBase64(new Uint8Array(32).fill(1))}`,
    'a key of small order': small,
    'base64 without padding': text.endsWith('=')
      ? text.slice(0, -1)
      : text.slice(0, -1 - (encoded.length % 2)),
  }
  for (const [what, key] of Object.entries(bad)) {
    test(`is refused with ${what}`, () => refuses('verifier_key', () => parseVerifierKey(key, sha256)))
  }
})

test('the signed message is the text including its last newline', () => {
  const { signatures } = parseCheckpoint(NOTE)
  assert.ok(verifySignature(signer.key, utf8Encode(TEXT), signatures[0]!.signature))
})
