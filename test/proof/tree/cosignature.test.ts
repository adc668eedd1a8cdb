import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { toBase64 } from '../../../src/proof/bytes.ts'
import type { Checkpoint } from '../../../src/proof/tree/checkpoint.ts'
import { signCheckpoint, verifyCheckpoint } from '../../../src/proof/tree/checkpoint.ts'
import {
  cosign,
  countCosignatures,
  parseWitnessPolicy,
  verifyCosignatures,
} from '../../../src/proof/tree/cosignature.ts'
import { formatNoteKey, makeNoteKey, parseNote, signatureLine } from '../../../src/proof/tree/note.ts'
import { makeEd25519Signer, nativeProviders } from '../../../src/signing/native.ts'
import { refuses } from '../refuses.ts'

const { sha256, verifySignature } = nativeProviders
const signerOf = (byte: number) => makeEd25519Signer(sha256, new Uint8Array(32).fill(byte))
const log = signerOf(1)
const CHECKPOINT: Checkpoint = {
  origin: 'ledger.example/led_x',
  size: 6,
  root: new Uint8Array(32).fill(3),
  chain: new Uint8Array(32).fill(4),
}
const NOTE = signCheckpoint(CHECKPOINT, log, sha256)
const { text } = parseNote(NOTE)
const NAMES = ['w1.example', 'w2.example', 'w3.example']
const signers = NAMES.map((_, i) => signerOf(10 + i))
const vkeys = NAMES.map((name, i) => formatNoteKey(name, 'cosignature', signers[i]!.key.raw, sha256))
const lineOf = (i: number, seconds = 1_700_000_000, of = text) =>
  cosign(of, seconds, NAMES[i]!, signers[i]!, sha256)
const policy = (min?: number) => parseWitnessPolicy(vkeys, min, sha256)
const count = (note: string) => countCosignatures(parseNote(note), policy(), nativeProviders).cosigned

test('cosignatures are counted by witness in any order; lines of other keys are ignored', () => {
  assert.equal(count(NOTE), 0)
  assert.equal(count(NOTE + lineOf(2) + lineOf(0)), 2)
  const stranger = cosign(text, 1, 'w4.example', signerOf(99), sha256)
  assert.equal(count(`${NOTE}${stranger}${lineOf(1)}`), 1)
  const found = verifyCosignatures(
    parseNote(NOTE + lineOf(2, 7) + lineOf(0, 9)),
    policy().witnesses,
    nativeProviders,
  )
  assert.deepEqual(found, [
    { witness: NAMES[0], timeSeconds: 9n },
    { witness: NAMES[2], timeSeconds: 7n },
  ])
})

test('a witness that cosigned twice counts once', () => {
  assert.equal(count(NOTE + lineOf(0, 5) + lineOf(0, 6)), 1)
})

test('a checkpoint with cosignatures still verifies', () => {
  const verifier = { origin: CHECKPOINT.origin, key: log.key }
  assert.deepEqual(verifyCheckpoint(NOTE + lineOf(0), verifier, sha256, verifySignature), CHECKPOINT)
})

describe('a note is refused with a cosignature of a known witness', () => {
  const key = makeNoteKey(NAMES[0]!, 'cosignature', signers[0]!.key, sha256)
  const bad: Record<string, string> = {
    'over another checkpoint': lineOf(0, 5, text.replace('\n6\n', '\n7\n')),
    'whose time was changed': changed(lineOf(0), 4),
    'whose signature was changed': changed(lineOf(0), 30),
    'without a time': signatureLine(key.name, key.keyId, signers[0]!.sign(Buffer.from(text))),
    'of the time 0': lineOf(0, 0),
    'of a time that no number holds': signatureLine(key.name, key.keyId, new Uint8Array(72).fill(0xff)),
    'that is too long': signatureLine(key.name, key.keyId, new Uint8Array(73)),
    'by another key': cosign(text, 5, NAMES[0]!, signers[1]!, sha256).replace(
      / (\S+)\n$/,
      (_, base64: string) =>
        ` ${toBase64(Buffer.concat([key.keyId, Buffer.from(base64, 'base64').subarray(4)]))}\n`,
    ),
  }
  for (const [what, line] of Object.entries(bad))
    test(what, () => {
      refuses('signature_invalid', () => count(NOTE + line))
      refuses('signature_invalid', () => count(NOTE + line + lineOf(0) + lineOf(1)))
    })

  function changed(line: string, at: number): string {
    const bytes = Buffer.from(line.trim().split(' ')[2]!, 'base64')
    bytes[at + 4]! ^= 1
    return `${line.slice(0, line.lastIndexOf(' ') + 1)}${bytes.toString('base64')}\n`
  }
})

test('a policy requires all of its witnesses by default, or the given minimum', () => {
  assert.equal(policy().min, 3)
  assert.equal(policy(2).min, 2)
  for (const min of [0, 4, 1.5, -1]) refuses('witnesses_too_few', () => policy(min))
  refuses('witnesses_too_few', () => parseWitnessPolicy([], undefined, sha256))
})

test('a policy refuses malformed keys, keys of another type, and duplicates', () => {
  const of = (...keys: string[]) => parseWitnessPolicy(keys, 1, sha256)
  refuses('verifier_key', () => of('w1.example'))
  refuses('verifier_key', () => of(formatNoteKey(NAMES[0]!, 'signature', signers[0]!.key.raw, sha256)))
  refuses('verifier_key', () => of(vkeys[0]!, vkeys[0]!))
  refuses('verifier_key', () =>
    of(vkeys[0]!, formatNoteKey(NAMES[0]!, 'cosignature', signers[1]!.key.raw, sha256)),
  )
  refuses('verifier_key', () =>
    of(vkeys[0]!, formatNoteKey('other.example', 'cosignature', signers[0]!.key.raw, sha256)),
  )
})
