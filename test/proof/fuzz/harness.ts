import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { encode, rfc8949EncodeOptions, Tagged } from 'cborg'
import { fromBase64, fromHex, toHex, utf8Encode } from '../../../src/proof/bytes.ts'
import { parseEntryLine } from '../../../src/proof/entry/entry-line.ts'
import { verifyEntry, verifySignedStatement } from '../../../src/proof/entry/verify-entry.ts'
import { decodeCbor, Tag18 } from '../../../src/proof/envelope/cbor.ts'
import { encodeEnvelope } from '../../../src/proof/envelope/cose.ts'
import { decodeEnvelope, parseEnvelope } from '../../../src/proof/envelope/parse-envelope.ts'
import { ProofError } from '../../../src/proof/error.ts'
import { formatIdBytes, parseIdBytes } from '../../../src/proof/ids.ts'
import { canonicalize } from '../../../src/proof/json/jcs.ts'
import { parseJsonText } from '../../../src/proof/json/json-text.ts'
import type { JsonObject, JsonValue } from '../../../src/proof/json/json-value.ts'
import { parsePublicKey, spkiOf } from '../../../src/proof/keys.ts'
import { parseExportHead, parseExportTail } from '../../../src/proof/ledger/export-ends.ts'
import { parseConsistencyProof, parseEntryProof } from '../../../src/proof/offline/entry-proof.ts'
import { verifyProof } from '../../../src/proof/offline/verify-proof.ts'
import {
  encodeConsistencyReceipt,
  encodeInclusionReceipt,
  parseConsistencyReceipt,
  parseInclusionReceipt,
} from '../../../src/proof/receipt/receipt.ts'
import { verifyConsistencyReceipt, verifyReceipt } from '../../../src/proof/receipt/verify-receipt.ts'
import { parseStatement } from '../../../src/proof/statement/statement.ts'
import {
  formatCheckpoint,
  formatVerifierKey,
  parseCheckpoint,
  parseVerifierKey,
  verifyCheckpoint,
} from '../../../src/proof/tree/checkpoint.ts'
import { formatTileAddress, isCovered, parseTileAddress } from '../../../src/proof/tree/tile-address.ts'
import { splitHashes, tilePaths, verifyTile } from '../../../src/proof/tree/tree-ranges.ts'
import { nativeProviders } from '../../../src/signing/native.ts'
import { mutateBytes } from '../../helpers/mutate/bytes.ts'
import { mutateCbor } from '../../helpers/mutate/cbor.ts'
import { mutateText } from '../../helpers/mutate/json.ts'
import { makeRandom, pick, type Random } from '../../helpers/mutate/random.ts'
import { verifyTexts } from '../../helpers/test-bundle.ts'
import { vectors } from '../vectors.ts'

/*
 * Fuzzes every decoder of external bytes with changed genuine vectors. Each input must be decoded within a time limit.
 * The decoder must either refuse the input with ProofError, or return a result with the same meaning as the input. A
 * result that cannot be forged must equal the genuine result. Any other result is encoded again and compared with the
 * input.
 */

type Target<T extends string | Uint8Array> = {
  readonly genuine: readonly T[]
  readonly mutate: (genuine: T, random: Random, other: T) => T
  /** Decodes a changed input or throws ProofError. Throws AssertionError if the result differs from the input. */
  readonly take: (input: T, genuine: T) => void
}

type Report = {
  readonly runs: number
  readonly taken: number
  readonly msMax: number
  readonly codes: ReadonlySet<string>
}

/** Maximum CPU time of the thread in ms for one input. The largest genuine input takes 10 ms. */
const INPUT_MS_MAX = 500

/**
 * Runs a target. The same seed always gives the same inputs. A failure is an AssertionError whose message contains the
 * input.
 */
export function fuzz(name: string, { seed, runs }: { readonly seed: number; readonly runs: number }): Report {
  const target = TARGETS[name] as Target<string | Uint8Array>
  const random = makeRandom(seed)
  for (const genuine of target.genuine) target.take(genuine, genuine)
  const codes = new Set<string>()
  let [taken, msMax] = [0, 0]
  for (let run = 0; run < runs; run++) {
    const genuine = pick(random, target.genuine)
    const input = target.mutate(genuine, random, pick(random, target.genuine))
    const { code, ms } = give(name, input, genuine, `seed ${seed}, run ${run}`)
    if (code === null) taken++
    else codes.add(code)
    msMax = Math.max(msMax, ms)
  }
  return { runs, taken, msMax, codes }
}

/**
 * Runs a target with one input. Returns the code of the refusal, or null if the input was accepted. Throws
 * AssertionError if the target's assertions fail.
 */
export function give(
  name: string,
  input: string | Uint8Array,
  genuine: string | Uint8Array,
  where: string,
): { readonly code: string | null; readonly ms: number } {
  const target = TARGETS[name] as Target<string | Uint8Array>
  const started = process.threadCpuUsage()
  let code: string | null = null
  try {
    target.take(input, genuine)
  } catch (error) {
    if (!(error instanceof ProofError)) throw failure(error, `${name}, ${where}`, input)
    code = error.code
  }
  const { user, system } = process.threadCpuUsage(started)
  const ms = (user + system) / 1000
  assert.ok(ms <= INPUT_MS_MAX, `${name}, ${where}: ${ms} ms`)
  return { code, ms }
}

function failure(error: unknown, where: string, input: string | Uint8Array): Error {
  const shown = typeof input === 'string' ? JSON.stringify(input) : toHex(input)
  return new Error(`${where}: ${error}\n${shown}`, { cause: error })
}

const { sha256, verifySignature } = nativeProviders
const read = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../vectors/${name}.json`, import.meta.url), 'utf8'))
const receiptVectors = read('receipts')
const bundleVectors = read('bundles')
const proofVectors = read('proofs')
const { note, verifierKey } = vectors.checkpoint
const noteKey = parseVerifierKey(verifierKey, sha256)
const checkpoint = verifyCheckpoint(note, noteKey, sha256, verifySignature)
const key = parsePublicKey('EdDSA', fromBase64(vectors.key.spki))
const findKey = (kid: string) => (kid === vectors.key.kid ? key : null)
const envelopes = vectors.entries.map(({ envelope }) => fromHex(envelope))
const statements = vectors.entries.map(({ statement }) => statement)
const receiptFiles: Uint8Array[] = receiptVectors.receipts.map(({ statement }: { statement: string }) =>
  fromHex(statement),
)
const receiptsAlone: Uint8Array[] = receiptVectors.receipts.map(({ receipt }: { receipt: string }) =>
  fromHex(receipt),
)
const consistency: { from: number; root: string; receipt: string }[] = receiptVectors.consistency
const proofs: string[] = proofVectors.proofs.map((proof: object) => JSON.stringify(proof))
const bundles: string[] = bundleVectors.bundles.map(({ text }: { text: string }) => text)
const ranges: string[] = bundles
  .filter((text) => text.includes('"complete"'))
  .flatMap((text) => text.split('\n').filter((line) => line.includes('"items"') && !line.includes('"path"')))
const leafTile = fromHex(receiptVectors.tiles[`0/000.p/${checkpoint.size}`])
/** Texts with escapes, numbers at the edges of their range, and unordered names. */
const texts = [...vectors.acceptedJson, ...vectors.refusedJson, ...statements]

const same = (taken: Uint8Array, given: Uint8Array) => assert.equal(toHex(taken), toHex(given))
const mutateEither = (bytes: Uint8Array, random: Random, other: Uint8Array) =>
  random() < 0.5 ? mutateCbor(bytes, random, other) : mutateBytes(bytes, random, other)

const cbor: Target<Uint8Array> = {
  genuine: [...envelopes, ...receiptsAlone],
  mutate: mutateEither,
  take(input) {
    const value = decodeCbor(input, 'deterministic', 'tag 18')
    const tagged = value instanceof Tag18 ? new Tagged(18, value.value) : value
    // Compares only maps whose keys are all integers or texts. cborg sorts other keys differently.
    if (hasPlainKeys(value)) same(encode(tagged, rfc8949EncodeOptions), input)
  },
}

function hasPlainKeys(value: unknown): boolean {
  if (value instanceof Tag18) return hasPlainKeys(value.value)
  if (value instanceof Map)
    return [...value].every(
      ([key, member]) => /number|bigint|string/.test(typeof key) && hasPlainKeys(member),
    )
  return !Array.isArray(value) || value.every(hasPlainKeys)
}

/** Asserts that the fast reader and the general reader agree, and that the result contains everything in the bytes. */
const envelope: Target<Uint8Array> = {
  genuine: envelopes,
  mutate: mutateEither,
  take(input) {
    const read = parseEnvelope(input)
    assert.deepEqual(read, decodeEnvelope(input))
    same(encodeEnvelope(read.protectedBytes, read.payload, read.signature), input)
  },
}

const signedStatement: Target<Uint8Array> = {
  genuine: envelopes,
  mutate: mutateEither,
  take(input, genuine) {
    verifySignedStatement(input, findKey, nativeProviders)
    assert.ok(
      envelopes.some((one) => toHex(one) === toHex(input)),
      `forged from ${toHex(genuine)}`,
    )
  },
}

/** A statement without its envelope is unsigned, so the result must equal the input as JSON. */
const statement: Target<string> = {
  genuine: statements,
  mutate: mutateText,
  take(input) {
    const { kind, subjects, predicate } = parseStatement(utf8Encode(input))
    const said = meaningOf(input) as JsonObject
    const list = subjects.map(({ name, sha256 }) => ({ name, digest: { sha256 } }))
    const again = {
      _type: said['_type']!,
      subject: list,
      predicateType: `https://tallystick.dev/predicates/${kind}/v1`,
      predicate,
    }
    assert.equal(canonicalize(again), canonicalize(said))
  },
}

const json: Target<string> = {
  genuine: texts,
  mutate: mutateText,
  take(input, genuine) {
    if (input === genuine && vectors.refusedJson.includes(input)) return
    const canonical = canonicalize(parseJsonText(input))
    assert.equal(canonicalize(parseJsonText(canonical)), canonical)
    // V8 may misread names with escapes (docs/formats/documents.md), so JSON.parse is the reference only for texts
    // without escapes.
    if (!input.includes('\\')) assert.equal(canonicalize(JSON.parse(input)), canonical)
  },
}

/** The input may have more or fewer signatures of other keys, but its text must be the signed text. */
const signedNote: Target<string> = {
  genuine: [note, note + receiptVectors.noteLine],
  mutate: mutateText,
  take(input) {
    assert.equal(
      formatCheckpoint(verifyCheckpoint(input, noteKey, sha256, verifySignature)),
      formatCheckpoint(checkpoint),
    )
  },
}

const noteAlone: Target<string> = {
  genuine: [note, note + receiptVectors.noteLine],
  mutate: mutateText,
  take(input) {
    const parsed = parseCheckpoint(input)
    assert.equal(formatCheckpoint(parsed.checkpoint), parsed.text)
    assert.ok(input.startsWith(`${parsed.text}\n\u2014 `))
  },
}

const vkey: Target<string> = {
  genuine: [verifierKey],
  mutate: mutateText,
  take(input) {
    const { origin, key } = parseVerifierKey(input, sha256)
    assert.equal(formatVerifierKey(origin, key.raw, sha256), input)
  },
}

const publicKey: Target<Uint8Array> = {
  genuine: [fromBase64(vectors.key.spki)],
  mutate: mutateBytes,
  take(input) {
    for (const alg of ['EdDSA', 'ES256'] as const) {
      if (alg === 'ES256' && input.length < 60) continue
      const parsed = parsePublicKey(alg, input)
      same(spkiOf(alg, parsed.raw), input)
    }
  },
}

const id: Target<string> = {
  genuine: [vectors.ledger, vectors.agent],
  mutate: mutateText,
  take(input) {
    const prefix = input.startsWith('agt') ? 'agt' : 'led'
    assert.equal(formatIdBytes(prefix, parseIdBytes(prefix, input)), input)
  },
}

/** The parser returns null for an invalid address and never throws. */
const tileAddress: Target<string> = {
  genuine: ['0/000', 'entries/000.p/6', '1/x001/x234/067', '5/x999/999.p/255'],
  mutate: mutateText,
  take(input) {
    const address = parseTileAddress(input)
    if (address === null) throw new ProofError('merkle_range', 'no address')
    assert.equal(formatTileAddress(address), input)
    isCovered(address, checkpoint.size)
  },
}

const tile: Target<Uint8Array> = {
  genuine: [leafTile],
  mutate: mutateBytes,
  take(input) {
    const paths = tilePaths({ level: 0, tile: 0, count: checkpoint.size }, checkpoint.size)
    const leaves = splitHashes(leafTile)
    const slices = [{ level: 0, tile: 0, offset: 0, count: leaves.length, hashes: leafTile }]
    // The length is checked here and not by the verifier, because a server requests exactly this number of hashes from
    // Postgres.
    if (input.length !== leafTile.length) throw new ProofError('merkle_range', `${input.length} bytes`)
    verifyTile(sha256, { level: 0, hashes: input }, paths, slices, checkpoint.root)
    same(input, leafTile)
  },
}

/**
 * A receipt of a batch record names its item. If a change removes the item, the file is a valid receipt of the batch's
 * entry.
 */
const receiptFile: Target<Uint8Array> = {
  genuine: receiptFiles,
  mutate: mutateEither,
  take(input) {
    const { leaf, seq, item } = verifyReceipt(input, { noteKey: verifierKey, findKey: null }, nativeProviders)
    assert.equal(toHex(leaf), vectors.entries[seq]!.leaf)
    if (item !== null)
      assert.ok(
        receiptFiles.some((one) => toHex(one) === toHex(input)),
        'forged',
      )
  },
}

const receiptAlone: Target<Uint8Array> = {
  genuine: receiptsAlone,
  mutate: mutateEither,
  take(input) {
    same(encodeInclusionReceipt(parseInclusionReceipt(input)), input)
  },
}

const consistencyReceipt: Target<Uint8Array> = {
  genuine: consistency.map(({ receipt }) => fromHex(receipt)),
  mutate: mutateEither,
  take(input) {
    const parsed = parseConsistencyReceipt(input)
    same(encodeConsistencyReceipt(parsed), input)
    const { from, root } = pickBySize(parsed.consistency.from)
    const kept = { ...checkpoint, size: from, root: fromHex(root) }
    const found = verifyConsistencyReceipt(input, kept, verifierKey, nativeProviders)
    assert.deepEqual([found.size, toHex(found.root)], [checkpoint.size, toHex(checkpoint.root)])
  },
}

function pickBySize(size: number): { from: number; root: string } {
  return consistency.find(({ from }) => from === size) ?? consistency[0]!
}

/** Unsigned members may differ, so they are removed before the comparison. */
const entryProof: Target<string> = {
  genuine: proofs,
  mutate: mutateText,
  take(input, genuine) {
    const trust = { kids: [vectors.key.kid], noteKey: verifierKey, storedCheckpoints: [], consistency: null }
    verifyProof(parseEntryProof(input), trust, nativeProviders)
    const said = signedOfProof(input)
    assert.ok(
      [genuine, ...proofs].some((one) => signedOfProof(one) === said),
      said,
    )
  },
}

function signedOfProof(text: string): string {
  const {
    keys: _,
    ledger: __,
    checkpoint: note,
    entry,
    ...rest
  } = meaningOf(text) as Record<string, JsonValue>
  const { chain: ___, ...signed } = entry as JsonObject
  return canonicalize({ ...rest, entry: signed, checkpoint: parseCheckpoint(note as string).text })
}

const consistencyProof: Target<string> = {
  genuine: [JSON.stringify({ from: 6, to: 9, path: [toHex(checkpoint.root)] })],
  mutate: mutateText,
  take(input) {
    const { from, to, path } = parseConsistencyProof(input)
    assert.equal(canonicalize({ from, to, path: path.map(toHex) }), canonicalize(meaningOf(input)))
  },
}

/** One line of an export. Its seq and chain hash depend on the lines before it, so they are not checked. */
const exportLine: Target<string> = {
  genuine: ranges.map((line) => line.replace(',"envelope"', `,"chain":"${'00'.repeat(32)}","envelope"`)),
  mutate: mutateText,
  take(input) {
    verifyEntry(parseEntryLine(input), findKey, nativeProviders)
    const said = signedOfLine(input)
    assert.ok(
      exportLine.genuine.some((one) => signedOfLine(one) === said),
      said,
    )
  },
}

function signedOfLine(text: string): string {
  const { seq: _, chain: __, documents, ...signed } = meaningOf(text) as Record<string, JsonValue>
  // Erased documents are not compared here. The verifier checks them by the entries that erase them.
  const shown = (documents as JsonObject[]).map(({ erasedBy = null, ...rest }) =>
    erasedBy === null ? rest : null,
  )
  return canonicalize({ ...signed, documents: shown })
}

const exportEnds: Target<string> = {
  genuine: [
    JSON.stringify({ export: 1, ledger: { id: vectors.ledger }, keys: [] }),
    JSON.stringify({ checkpoint: note }),
  ],
  mutate: mutateText,
  take(input, genuine) {
    if (genuine.startsWith('{"export"')) parseExportHead(utf8Encode(input))
    else parseExportTail(utf8Encode(input))
  },
}

/**
 * Everything in a bundle is signed, or named by something signed. Signatures of the note by other keys are the
 * exception.
 */
const bundle: Target<string> = {
  genuine: bundles,
  mutate: mutateText,
  take(input) {
    verifyTexts(
      input.split('\n').filter((line) => line !== ''),
      { kids: [vectors.key.kid], noteKey: verifierKey },
    )
    const said = meaningOfBundle(input)
    assert.ok(
      bundles.some((one) => meaningOfBundle(one) === said),
      said,
    )
  },
}

function meaningOfBundle(text: string): string {
  const [head, ...lines] = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => meaningOf(line) as JsonObject)
  // Keys are found by thumbprint, so additional or duplicate keys change nothing.
  const { checkpoint: note, keys: _, ...rest } = head!
  return [{ ...rest, checkpoint: parseCheckpoint(note as string).text }, ...lines]
    .map((line) => canonicalize(line))
    .join('\n')
}

/** A null member means the same as an absent member. */
function meaningOf(text: string): JsonValue {
  return withoutNulls(parseJsonText(text))
}

function withoutNulls(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (value === null || typeof value !== 'object') return value
  const members = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)]))
}

export const TARGETS: Readonly<Record<string, Target<string> | Target<Uint8Array>>> = {
  cbor,
  envelope,
  'signed statement': signedStatement,
  statement,
  json,
  'signed note': signedNote,
  note: noteAlone,
  'verifier key': vkey,
  'public key': publicKey,
  id,
  'tile address': tileAddress,
  tile,
  'receipt file': receiptFile,
  receipt: receiptAlone,
  'consistency receipt': consistencyReceipt,
  proof: entryProof,
  'consistency proof': consistencyProof,
  'line of an export': exportLine,
  'ends of an export': exportEnds,
  bundle,
}
