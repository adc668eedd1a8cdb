import type { Tallystick } from '../sdk/client.ts'
import { UsageError } from '../sdk/errors.ts'
import type { LedgerRecord } from '../sdk/generated/api.ts'
import type { EntryProof } from '../sdk/resources/entries.ts'
import * as verify from '../sdk/verify/index.ts'
import { parseWitnesses } from '../sdk/verify/options.ts'
import { chooseEngine } from '../sdk/verify/providers.ts'
import { fromBase64, toHex, utf8Decode } from '../src/proof/bytes.ts'
import { parseEnvelope } from '../src/proof/envelope/parse-envelope.ts'
import { FILE_KIND_BYTES, fileKindOf } from '../src/proof/offline/file-kind.ts'
import { parseCheckpoint } from '../src/proof/tree/checkpoint.ts'
import { type LedgerKey, type StoredTrust, sizeOf } from './trust.ts'

/* The SDK's verifier, and texts for its results. This module is loaded when something is verified or decoded. */

/** Result of a verification. `basis`: what the result depends on. `reason`: code and detail of a refusal. */
export type Verdict = {
  readonly ok: boolean
  readonly title: string
  readonly reason: string | null
  /** Sentences that tell the reader what the result depends on. */
  readonly basis: readonly string[]
}

/** Verdict about a record, with its bundle, and the checkpoint to store. */
export type RecordVerdict = Verdict & { readonly bundle: string | null; readonly checkpoint: string | null }

/** Key of the ledger, and the last checkpoint that this browser verified. */
export type Trust = { readonly key: LedgerKey; readonly checkpoint: string | null }

/**
 * Verifies a record as it is shown. A bundle verifies all entries of the record, and the shown answer is verified
 * against the newest entry. Throws errors of the connection or of the key's scopes, which prove nothing about the
 * record.
 */
export async function verifyRecord(
  client: Tallystick,
  record: LedgerRecord,
  { key, checkpoint: stored }: Trust,
): Promise<RecordVerdict> {
  const { noteKey } = key
  const lines: string[] = []
  let bundle: string | null = null
  try {
    for await (const line of client.bundles.record(record.id)) lines.push(line)
    bundle = lines.join('')
    const { checkpoint } = JSON.parse(lines[0]!) as { checkpoint: string }
    const joined = await consistencyWithStored(client, checkpoint, stored)
    const report = await verify.bundle(bundle, { noteKey, ...joined })
    if (record.erasure === null && record.payload !== null) await verifyShown(client, record, noteKey)
    return {
      ok: true,
      title: 'Verified in this browser',
      reason: null,
      basis: [
        `${numbered(report.entries, 'entry', 'entries')} of this record, each with its signature, its documents and its position in the ledger's tree.`,
        ...(record.erasure === null
          ? ['The record as shown here is the signed one.']
          : ['The payload was erased: a signed entry says so, and its digest is still there.']),
        keyBasis(key),
        ...(key.since === null ? ['This browser stores the key now, and refuses another one later.'] : []),
        checkpointBasis(report, stored),
        signersBasis(report),
      ],
      bundle,
      checkpoint,
    }
  } catch (error) {
    return { ...refused(error), bundle, checkpoint: null }
  }
}

/** Returns the stored checkpoint, with the proof that the new checkpoint continues it. */
async function consistencyWithStored(
  client: Tallystick,
  checkpoint: string,
  stored: StoredTrust['checkpoint'],
) {
  if (stored === null) return {}
  const [from, to] = [sizeOf(stored), sizeOf(checkpoint)]
  const joined = { checkpoints: [stored] }
  return from < to ? { ...joined, consistency: await client.checkpoints.consistency(from, to) } : joined
}

/** Verifies the shown answer against the record's newest entry. A notarized record has only one entry. */
async function verifyShown(client: Tallystick, record: LedgerRecord, noteKey: string): Promise<void> {
  const seq = record.gated === null ? undefined : record.entry.seq
  const proof = await client.records.proof(record.id, { seq })
  await verify.proof(proof, { record, noteKey })
}

export async function verifyEntry(readProof: () => Promise<EntryProof>, key: LedgerKey): Promise<Verdict> {
  try {
    const report = await verify.proof(await readProof(), { noteKey: key.noteKey })
    return {
      ok: true,
      title: 'Verified in this browser',
      reason: null,
      basis: [
        `Signed by the ${report.signedBy}, and in the ledger's tree of ${numbered(report.treeSize, 'entry', 'entries')}.`,
        keyBasis(key),
        ...report.notices.map(sentence),
      ],
    }
  } catch (error) {
    return refused(error)
  }
}

/**
 * Verifies a given file: an export, a bundle, a proof or a receipt. `trusted`: a note key or a kid that the reader
 * trusts. It is empty if the reader gave no key.
 */
export async function verifyFile(
  file: Blob,
  trusted: string,
  onProgress: (done: number, total: number) => void = () => {},
): Promise<Verdict> {
  try {
    const trust = parseTrusted(trusted)
    const kind = fileKindOf(new Uint8Array(await file.slice(0, FILE_KIND_BYTES).arrayBuffer()))
    if (kind === 'export') return await verifyExport(file, trust, onProgress)
    if (kind === 'bundle') return await verifyBundle(file, trust)
    if (kind === 'proof') return await verifyProof(file, trust)
    return await verifyReceipt(file, trust)
  } catch (error) {
    return refused(error)
  }
}

/** Verifies a bundle that this page has made. */
export async function verifyCaseFile(file: Blob, key: LedgerKey): Promise<Verdict> {
  try {
    return await verifyBundle(file, { noteKey: key.noteKey, basis: keyBasis(key) })
  } catch (error) {
    return refused(error)
  }
}

/** Keys that the reader trusts. `basis`: sentence that states where the key comes from. Absent if there is no key. */
type Trusted = { readonly noteKey?: string; readonly kids?: string[]; readonly basis?: string }

function parseTrusted(text: string): Trusted {
  const given = text.trim()
  if (given === '') return {}
  const basis = keyBasis({ isGiven: true, since: null })
  return /^[0-9a-f]{64}$/i.test(given) ? { kids: [given], basis } : { noteKey: given, basis }
}

async function verifyExport(
  file: Blob,
  { noteKey, kids, basis }: Trusted,
  onProgress: (done: number, total: number) => void,
): Promise<Verdict> {
  if (noteKey !== undefined)
    throw new UsageError(
      'an export is checked against the kid of an envelope key (64 hex digits), not a note key',
    )
  const report = await verify.export(file, {
    ...(kids && { kids }),
    onProgress: ({ done, total }) => onProgress(done, total),
  })
  return {
    ok: true,
    title: 'This export verifies',
    reason: null,
    basis: [
      `The whole ledger ${report.ledger ?? '(empty)'}: ${numbered(report.entries, 'entry', 'entries')} in order, ${numbered(report.records, 'record')}; nothing was changed, left out or moved.`,
      basis ?? selfAsserted(`its first key is ${report.firstKid}`),
      report.checkpoint === 'none'
        ? 'It has no checkpoint.'
        : `Its checkpoint covers ${numbered(report.covered, 'entry', 'entries')}. It came with the file. A checkpoint that you stored earlier would prove more.`,
      signersBasis(report),
      ...(report.erasures.length > 0
        ? [`${numbered(report.erasures.length, 'document')} erased, each by a signed entry.`]
        : []),
      ...report.notices.map(sentence),
    ],
  }
}

function nameOf(of: verify.BundleReport['of']): string {
  if ('record' in of) return `record ${of.record}`
  if ('run' in of) return `run ${of.run}`
  if ('from' in of) return `entries ${of.from} to ${of.to}`
  const { from, to, ...filter } = of.selection
  const filters = Object.entries(filter).map(([name, value]) => `${name} ${value}`)
  return `records of ${filters.join(', ')} within entries ${from} to ${to}`
}

async function verifyBundle(file: Blob, { noteKey, kids, basis }: Trusted): Promise<Verdict> {
  const report = await verify.bundle(file, { ...(noteKey && { noteKey }), ...(kids && { kids }) })
  const { of } = report
  return {
    ok: true,
    title: 'This bundle verifies',
    reason: null,
    basis: [
      `${sentence(nameOf(of)).slice(0, -1)} of ledger ${report.ledger}: ${numbered(report.entries, 'entry', 'entries')}.`,
      ...(report.completeness === 'complete'
        ? ['It is complete: no entry of the range is missing or added.']
        : []),
      basis ?? selfAsserted(`its first key is ${report.firstKid}`),
      `Its checkpoint covers ${numbered(report.treeSize, 'entry', 'entries')}.`,
      signersBasis(report),
      ...(report.erased > 0
        ? [`${numbered(report.erased, 'document')} erased, each by a signed entry.`]
        : []),
      ...report.notices.map(sentence),
    ],
  }
}

async function verifyProof(file: Blob, { noteKey, kids, basis }: Trusted): Promise<Verdict> {
  const report = await verify.proof(await file.text(), { ...(noteKey && { noteKey }), ...(kids && { kids }) })
  return {
    ok: true,
    title: 'This proof verifies',
    reason: null,
    basis: [
      `Entry ${report.seq} (${report.kind}) about ${report.subject}, recorded at ${report.recordedAt}, is in the ledger ${report.ledger}.`,
      basis ?? selfAsserted(`the entry's key is ${report.kid}`),
      ...report.notices.map(sentence),
    ],
  }
}

async function verifyReceipt(file: Blob, { noteKey, basis }: Trusted): Promise<Verdict> {
  if (noteKey === undefined) throw new UsageError('a receipt needs the note key of a ledger that you trust')
  const report = await verify.receipt(new Uint8Array(await file.arrayBuffer()), { noteKey })
  return {
    ok: true,
    title: 'This receipt verifies',
    reason: null,
    basis: [
      `Entry ${report.seq} (${report.entry.kind}) about ${report.subject}, recorded at ${report.entry.recordedAt}, is in the ledger ${report.entry.ledger}, whose tree of ${report.size} entries the note key has signed.`,
      basis!,
    ],
  }
}

/**
 * Returns a verdict if the verifier refuses, or if the server answers that its own data are damaged. Throws other
 * errors.
 */
function refused(error: unknown): Verdict {
  if (error instanceof UsageError)
    return { ok: false, title: 'Not verified', reason: error.message, basis: [] }
  const { name, code, message } = error as Error & { code?: string }
  if (name !== 'VerificationError' && code !== 'integrity_fault') throw error
  return { ok: false, title: 'Does not verify', reason: message, basis: [] }
}

const selfAsserted = (key: string) =>
  `You gave no key, so only the file itself names its signer (${key}). Compare that with a key from elsewhere.`

/** Returns the sentence that states where the key comes from. */
function keyBasis({ isGiven, since }: Pick<LedgerKey, 'isGiven' | 'since'>): string {
  const at = since === null ? '' : `${since.slice(0, 16).replace('T', ' ')} UTC`
  if (isGiven)
    return since === null
      ? 'It is signed by the key that you gave.'
      : `It is signed by the key that you gave at ${at} (Checkpoints).`
  return since === null
    ? 'The key came from this server just now, so you trust the server for it. Compare it with a key from elsewhere (Checkpoints).'
    : `This browser has stored the key since ${at}, when it came from the server.`
}

function checkpointBasis({ treeSize }: { treeSize: number }, stored: StoredTrust['checkpoint']): string {
  const now = `The checkpoint covers ${numbered(treeSize, 'entry', 'entries')}`
  return stored === null
    ? `${now}. It is the first one that this browser has seen.`
    : `${now}, and continues the one of ${numbered(sizeOf(stored), 'entry', 'entries')} that this browser verified before.`
}

function signersBasis({ agentSigned, entries }: { agentSigned: number; entries: number }): string {
  if (agentSigned === 0) return 'The server signed all of it: only the server says that an agent did it.'
  return `Agents signed ${agentSigned} of ${numbered(entries, 'entry', 'entries')} with keys of their own.`
}

function numbered(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

/** A signature of a checkpoint. `proof`: result for a witness's signature, or null for any other signature. */
export type SignatureView = {
  readonly name: string
  readonly keyId: string
  readonly role: string
  /** Time of a witness's signature, by the witness's clock. null for any other signature. */
  readonly at: string | null
  readonly proof: 'verified' | 'does not verify' | 'key not known here' | null
}

export type CheckpointView = {
  readonly size: number
  readonly root: string
  readonly chain: string
  readonly signatures: readonly SignatureView[]
  readonly verdict: Verdict
}

const COSIGNATURE_BYTES = 72

/** Throws UsageError if the text is not a witness key. */
export function requireWitnessKey(key: string): void {
  parseWitnesses({ keys: [key] }, chooseEngine().providers)
}

/** Verifies the ledger's own signature, and the signatures of the `witnesses` that the reader trusts. */
export async function readCheckpoint(
  note: string,
  key: LedgerKey,
  witnesses: readonly string[],
): Promise<CheckpointView> {
  const { noteKey } = key
  const { checkpoint, signatures } = parseCheckpoint(note)
  const ownId = noteKey.split('+')[1]
  const view = async (name: string, keyId: string, bytes: Uint8Array): Promise<SignatureView> => {
    const said = { name, keyId, at: null, proof: null }
    if (keyId === ownId) return { ...said, role: "the ledger's note key" }
    if (name === checkpoint.origin) return { ...said, role: "the ledger's note key, for receipts" }
    if (bytes.length !== COSIGNATURE_BYTES) return { ...said, role: 'another signature' }
    const seconds = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0)
    const witness = { ...said, role: 'witness', at: new Date(Number(seconds) * 1_000).toISOString() }
    const known = witnesses.find((each) => each.startsWith(`${name}+${keyId}+`))
    if (known === undefined) return { ...witness, proof: 'key not known here' }
    const { ok } = await verifyNote(note, { noteKey, witnesses: { keys: [known], min: 1 } })
    return { ...witness, proof: ok ? 'verified' : 'does not verify' }
  }
  return {
    size: checkpoint.size,
    root: toHex(checkpoint.root),
    chain: toHex(checkpoint.chain),
    signatures: await Promise.all(
      signatures.map(({ name, keyId, signature }) => view(name, toHex(keyId), signature)),
    ),
    verdict: await verifyNote(note, { noteKey }, [keyBasis(key)]),
  }
}

async function verifyNote(
  note: string,
  options: Parameters<typeof verify.checkpoint>[1],
  basis: string[] = [],
): Promise<Verdict> {
  try {
    await verify.checkpoint(note, options)
    return { ok: true, title: "The ledger's note key signed it", reason: null, basis }
  } catch (error) {
    return refused(error)
  }
}

/** A named range of an envelope's bytes. */
export type EnvelopePart = {
  readonly name: string
  readonly offset: number
  readonly hex: string
  readonly meaning: string
}

export type Decoded = {
  readonly alg: string
  readonly kid: string
  readonly issuer: string
  readonly statement: unknown
  readonly parts: readonly EnvelopePart[]
}

const HEAD_BYTES_OF: Readonly<Record<number, number>> = { 24: 1, 25: 2, 26: 4, 27: 8 }

/** Decodes an envelope (base64) into the ranges of its bytes. Throws ProofError for any other text. */
export function decodeEnvelope(envelope: string): Decoded {
  const bytes = fromBase64(envelope)
  const { alg, kid, issuer, payload } = parseEnvelope(bytes)
  const parts: EnvelopePart[] = []
  let at = 0
  const take = (name: string, length: number, meaning: string) => {
    parts.push({ name, offset: at, hex: toHex(bytes.subarray(at, at + length)), meaning })
    at += length
  }
  /** Reads the head of a byte string, and then its bytes. */
  const takeString = (name: string, meaning: string) => {
    const extra = HEAD_BYTES_OF[bytes[at]! & 0x1f] ?? 0
    const length = lengthAt(bytes, at, extra)
    take(`head of ${name}`, 1 + extra, `byte string of ${length} bytes`)
    take(name, length, meaning)
  }
  take('tag', 1, 'COSE_Sign1 (18)')
  take('array', 1, 'of 4')
  takeString('protected header', `${alg}, kid ${toHex(kid)}, issuer ${issuer}`)
  take('unprotected header', 1, 'empty')
  takeString('payload', 'the in-toto statement, JSON in UTF-8')
  takeString('signature', `${alg}, over the protected header and the payload`)
  return { alg, kid: toHex(kid), issuer, statement: JSON.parse(utf8Decode(payload)), parts }
}

function lengthAt(bytes: Uint8Array, at: number, extra: number): number {
  if (extra === 0) return bytes[at]! & 0x1f
  return bytes.subarray(at + 1, at + 1 + extra).reduce((length, byte) => length * 256 + byte, 0)
}
