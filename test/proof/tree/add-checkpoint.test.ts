import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { toBase64, utf8Encode } from '../../../src/proof/bytes.ts'
import type { ProofProviders } from '../../../src/proof/crypto.ts'
import { NOTE_BYTES_MAX } from '../../../src/proof/limits.ts'
import {
  formatAddCheckpoint,
  isFork,
  type Judgement,
  judgeCheckpoint,
  type KnownLog,
  parseAddCheckpoint,
  type SeenTree,
} from '../../../src/proof/tree/add-checkpoint.ts'
import { leafHash, merkleRoot, nodeHash } from '../../../src/proof/tree/merkle.ts'
import { makeNoteKey, parseNote, signatureLine } from '../../../src/proof/tree/note.ts'
import { makeEd25519Signer, nativeProviders } from '../../../src/signing/native.ts'
import { consistency } from '../../helpers/tlog.ts'
import { refuses } from '../refuses.ts'

const { sha256 } = nativeProviders
const signer = makeEd25519Signer(sha256, new Uint8Array(32).fill(1))
const other = makeEd25519Signer(sha256, new Uint8Array(32).fill(2))
const ORIGIN = 'log.example/a log with spaces'
const NAME = 'log.example/a'
const key = makeNoteKey(NAME, 'signature', signer.key, sha256)
const LOG: KnownLog = { origin: ORIGIN, keys: [key] }

/** Returns the leaves of a log's history, or of a second history that agrees with the first up to `fork`. */
function leaves(size: number, fork = Number.POSITIVE_INFINITY): Uint8Array[] {
  return Array.from({ length: size }, (_, i) => leafHash(sha256, utf8Encode(i < fork ? `${i}` : `fork ${i}`)))
}
const rootOf = (size: number, fork?: number) => new Uint8Array(merkleRoot(sha256, leaves(size, fork)))

function noteOf(size: number, root: Uint8Array, { by = signer, extension = '' } = {}): string {
  const text = `${ORIGIN}\n${size}\n${toBase64(root)}\n${extension}`
  return `${text}\n${signatureLine(NAME, key.keyId, by.sign(utf8Encode(text)))}`
}

type Asked = { old: number; path: readonly Uint8Array[]; note: string }
function judge({ old, path, note }: Asked, seen: SeenTree | null, providers?: ProofProviders): Judgement {
  const body = formatAddCheckpoint({ oldSize: old, path, note })
  return judgeBody(body, seen, providers)
}
function judgeBody(body: string, seen: SeenTree | null, providers: ProofProviders = nativeProviders) {
  return judgeCheckpoint(
    body,
    (origin) => (origin === ORIGIN ? LOG : null),
    () => seen,
    providers,
  )
}
const seenAt = (size: number, fork?: number): SeenTree => ({ size, root: rootOf(size, fork) })

test('accepts a first checkpoint without proof, and a later one with a consistency proof', () => {
  const first = judge({ old: 0, path: [], note: noteOf(5, rootOf(5)) }, null)
  assert.equal(first.refusal, null)
  assert.deepEqual(first.signed?.tree, { origin: ORIGIN, size: 5, root: rootOf(5), extensions: [] })
  const later = { old: 5, path: consistency(5, leaves(11)), note: noteOf(11, rootOf(11)) }
  assert.equal(judge(later, seenAt(5)).refusal, null)
})

test('accepts the empty tree, an unchanged tree, extension lines, and signatures of other keys', () => {
  const taken: [Asked, SeenTree | null][] = [
    [{ old: 0, path: [], note: noteOf(0, rootOf(0)) }, null],
    [{ old: 0, path: [], note: noteOf(3, rootOf(3)) }, seenAt(0)],
    [{ old: 3, path: [], note: noteOf(3, rootOf(3)) }, seenAt(3)],
    [{ old: 0, path: [], note: noteOf(3, rootOf(3), { extension: 'one\ntwo\n' }) }, null],
    [{ old: 0, path: [], note: `${noteOf(3, rootOf(3))}\u2014 else.example AAAAAAAA\n` }, null],
  ]
  for (const [asked, seen] of taken) assert.equal(judge(asked, seen).refusal, null, asked.note)
})

describe('refuses, with the status of the specification', () => {
  const good = { old: 0, path: [], note: noteOf(3, rootOf(3)) }
  const proof = consistency(3, leaves(7))
  const larger = noteOf(7, rootOf(7))
  const body = formatAddCheckpoint({ oldSize: 0, path: [], note: good.note })
  const refused: [string, number, () => Judgement][] = [
    ['an empty body', 400, () => judgeBody('', null)],
    ['no old size', 400, () => judgeBody(body.replace('old 0\n', ''), null)],
    ['an old size with a leading zero', 400, () => judgeBody(body.replace('old 0', 'old 00'), null)],
    [
      'an old size that no number holds',
      400,
      () => judgeBody(body.replace('old 0', 'old 9999999999999999'), null),
    ],
    ['64 hashes', 400, () => judge({ ...good, path: Array(64).fill(rootOf(1)) }, null)],
    ['a hash of 31 bytes', 400, () => judge({ ...good, path: [rootOf(1).subarray(1)] }, null)],
    ['no note', 400, () => judge({ ...good, note: 'x' }, null)],
    [
      'a note that is too long',
      400,
      () => judge({ ...good, note: `${good.note}${'x'.repeat(NOTE_BYTES_MAX)}\n` }, null),
    ],
    ['no checkpoint', 400, () => judge({ ...good, note: good.note.replace('\n3\n', '\n03\n') }, null)],
    ['an unknown log', 404, () => judge({ ...good, note: good.note.replace(ORIGIN, 'x') }, null)],
    [
      'a log that did not sign',
      403,
      () => judge({ ...good, note: good.note.replace(`— ${NAME}`, '— x') }, null),
    ],
    [
      'a signature that does not verify',
      403,
      () => judge({ ...good, note: noteOf(3, rootOf(3), { by: other }) }, null),
    ],
    ['an old size beyond the new one', 400, () => judge({ ...good, old: 4 }, seenAt(4))],
    ['an old size that is too small', 409, () => judge(good, seenAt(2))],
    ['an old size that is too large', 409, () => judge({ old: 3, path: proof, note: larger }, seenAt(2))],
    ['an old size where nothing was seen', 409, () => judge({ old: 3, path: proof, note: larger }, null)],
    ['an empty tree with a root', 422, () => judge({ ...good, note: noteOf(0, rootOf(1)) }, null)],
    ['a proof from nothing', 422, () => judge({ ...good, path: [rootOf(1)] }, null)],
    [
      'another root of the same size',
      422,
      () => judge({ old: 3, path: [], note: noteOf(3, rootOf(3, 1)) }, seenAt(3)),
    ],
    [
      'the proof of another history',
      422,
      () => judge({ old: 3, path: consistency(3, leaves(7, 2)), note: noteOf(7, rootOf(7, 2)) }, seenAt(3)),
    ],
    ['no proof', 422, () => judge({ old: 3, path: [], note: larger }, seenAt(3))],
    ['a hash too many', 422, () => judge({ old: 3, path: [...proof, rootOf(1)], note: larger }, seenAt(3))],
  ]
  for (const [what, status, ask] of refused)
    test(`${what}: ${status}`, () => {
      assert.equal(ask().refusal?.status, status)
    })

  test('a conflict answers 409 with the size last seen of the log', () => {
    assert.deepEqual(judge(good, seenAt(2)).refusal, { status: 409, size: 2 })
  })

  test('signed is null for a note without the log’s signature', () => {
    assert.equal(judge({ ...good, note: noteOf(3, rootOf(3), { by: other }) }, null).signed, null)
    assert.equal(judge(good, seenAt(2)).signed?.tree.size, 3)
  })
})

test('two signed trees of one size are a fork', () => {
  assert.ok(isFork(seenAt(3), seenAt(3, 1)))
  for (const seen of [null, seenAt(3), seenAt(2), seenAt(4)]) assert.ok(!isFork(seen, seenAt(3)))
})

test('an error of the witness’s own hash is thrown, not answered as a refusal', () => {
  const asked = { old: 0, path: [], note: noteOf(0, rootOf(0)) }
  const broken = {
    ...nativeProviders,
    sha256: () => {
      throw new Error('broken')
    },
  }
  assert.throws(() => judge(asked, null, broken), /^Error: broken$/)
})

test('requests survive formatting and parsing', () => {
  const hash = fc.uint8Array({ minLength: 32, maxLength: 32 })
  fc.assert(
    fc.property(fc.maxSafeNat(), fc.array(hash, { maxLength: 63 }), (oldSize, path) => {
      const request = { oldSize: Math.min(oldSize, 10 ** 15), path, note: noteOf(1, rootOf(1)) }
      assert.deepEqual(parseAddCheckpoint(formatAddCheckpoint(request)), request)
    }),
  )
  refuses('note_syntax', () => parseAddCheckpoint(`old 1\n\n`.replace('\n\n', '')))
})

/*
 * Property of the witness's state machine, for any requests of a dishonest log in any order. The witness cosigns only
 * one root for each size, and never a smaller tree after a larger tree. It cosigns only trees that extend all trees
 * that it cosigned before.
 */
test('never cosigns a second root of a size, or a smaller size, for a log with two histories', () => {
  const FORK = 4
  const ask = fc.record({
    grow: fc.integer({ min: -2, max: 4 }),
    isForked: fc.boolean(),
    old: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, fc.integer({ min: 0, max: 12 })),
    isProofOfOther: fc.integer({ min: 0, max: 4 }).map((n) => n === 0),
  })
  let cosignedLarger = 0
  fc.assert(
    fc.property(fc.array(ask, { maxLength: 30 }), (asks) => {
      let seen: SeenTree | null = null
      const cosigned: (SeenTree & { isForked: boolean })[] = []
      for (const { grow, isForked, old, isProofOfOther } of asks) {
        const size = Math.max(0, ((seen as SeenTree | null)?.size ?? 0) + grow)
        const fork = isForked ? FORK : undefined
        const oldSize = old ?? (seen as SeenTree | null)?.size ?? 0
        const from = isProofOfOther === isForked ? fork : isForked ? undefined : FORK
        const path = oldSize > 0 && oldSize <= size ? consistency(oldSize, leaves(size, from)) : []
        const judgement = judge({ old: oldSize, path, note: noteOf(size, rootOf(size, fork)) }, seen)
        if (judgement.refusal !== null) continue
        seen = judgement.signed.tree
        cosigned.push({ size, root: rootOf(size, fork), isForked })
      }
      for (const [i, { size, root, isForked }] of cosigned.entries()) {
        const before = cosigned[i - 1]
        if (!before) continue
        assert.ok(size >= before.size)
        if (size === before.size) assert.deepEqual(root, before.root)
        // The histories differ beyond the fork. So after one tree beyond the fork, all later trees belong to the same
        // history.
        if (before.size > FORK) assert.equal(isForked, before.isForked)
        if (size > before.size) cosignedLarger++
      }
    }),
    { numRuns: 500 },
  )
  assert.ok(cosignedLarger > 100, `only ${cosignedLarger} steps forward`)
})

test('the tree of these tests follows the specification', () => {
  const [a, b, c] = leaves(3) as [Uint8Array, Uint8Array, Uint8Array]
  assert.equal(toBase64(rootOf(3)), toBase64(nodeHash(sha256, nodeHash(sha256, a, b), c)))
  assert.equal(parseNote(noteOf(3, rootOf(3))).signatures.length, 1)
})
