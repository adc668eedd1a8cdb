import { equalBytes, fromBase64, fromHex, toHex } from '../bytes.ts'
import type { ProofProviders } from '../crypto.ts'
import {
  type FindKey,
  type KnownKey,
  verifySignedEntry,
  verifySignedStatement,
} from '../entry/verify-entry.ts'
import type { ParsedEnvelope } from '../envelope/cose.ts'
import { ProofError } from '../error.ts'
import { parsePublicKey } from '../keys.ts'
import { type CompromisedKeys, compromisedKeys } from '../ledger/compromised-keys.ts'
import { type AgentKeyRegistration, agentKeyText } from '../statement/agent-key.ts'
import { type BatchItem, verifyBatchItem } from '../statement/batch.ts'
import { STATEMENT } from '../statement/kinds.ts'
import type { ParsedStatement } from '../statement/statement.ts'
import { type Checkpoint, parseVerifierKey, verifyCheckpoint } from '../tree/checkpoint.ts'
import { type CosignatureCount, countCosignatures, type WitnessPolicy } from '../tree/cosignature.ts'
import { verifyConsistency, verifyInclusion } from '../tree/merkle.ts'
import { parseNote } from '../tree/note.ts'
import type { ConsistencyProof, EntryProof, ItemProof } from './entry-proof.ts'
import { findNamedKeys } from './key-hints.ts'

/** Facts that the caller knows from another source. If a fact is missing, the proof's own value is used. */
export type ProofTrust = {
  /**
   * Trusted kids (lower-case hex). The key of one of them must have signed the entry. If the list is empty, any key may
   * have signed the entry.
   */
  readonly kids: readonly string[]
  /** Note verifier key of the ledger. null if the proof's own note key is used. */
  readonly noteKey: string | null
  /** Checkpoint notes that the caller stored. */
  readonly storedCheckpoints: readonly string[]
  /**
   * Consistency proof that joins a stored checkpoint with the proof's checkpoint. null if the caller has none. It is
   * needed if the two sizes differ.
   */
  readonly consistency: ConsistencyProof | null
  /**
   * Keys that the caller knows to be compromised. If the proof itself says something else about one of these keys, the
   * caller's value counts.
   */
  readonly compromised?: CompromisedKeys | undefined
  /** Witnesses whose cosignatures on the proof's checkpoint are counted. */
  readonly witnesses?: WitnessPolicy | undefined
}

export type VerifiedProof = {
  readonly envelope: ParsedEnvelope
  readonly statement: ParsedStatement
  readonly item: BatchItem | null
  readonly kid: string
  readonly signedBy: 'agent' | 'server'
  readonly seq: number
  readonly checkpoint: Checkpoint
  /** The stored checkpoint with which the proof's checkpoint agrees. null if the caller gave no checkpoint. */
  readonly stored: Checkpoint | null
  /** Counts of the cosignatures of the proof's checkpoint. null if the caller gave no witnesses. */
  readonly cosignatures: CosignatureCount | null
}

/**
 * Verifies that the entry was signed and is in the ledger of the checkpoint. Throws ProofError.
 *
 * The proof does not show that the kid belonged to the ledger at that seq, nor that the actor was allowed to make the
 * entry. Only the whole chain shows this. Some members are not signed: `ledger.name`, `keys[…].activatedAt` and
 * `keys[…].retiredAt`. `entry.chain` is signed only if the entry is the last one of the checkpoint.
 */
export function verifyProof(proof: EntryProof, trust: ProofTrust, providers: ProofProviders): VerifiedProof {
  // Registered statements are refused here. For all other entries, findNamedKeys below verifies that each kid is the
  // thumbprint of its key, because the caller trusts kids.
  if (proof.entry.kind === STATEMENT)
    throw new ProofError('proof_syntax', 'a registered statement has a receipt, not a proof')
  const keys = findNamedKeys(proof.keys, providers.sha256)
  const findServerKey = (kid: string) => keys.get(kid) ?? null
  const registered =
    proof.registration && verifyRegistration(proof, proof.registration, findServerKey, providers)
  const { envelope, statement } = verifySignedEntry(
    proof.entry,
    registered?.findKey ?? findServerKey,
    providers,
  )
  const kid = verifyGivenKid([envelope, ...(registered ? [registered.envelope] : [])], trust)
  verifyLedger(proof, envelope, statement)
  const verifyNote = makeVerifyNote(proof, trust, providers)
  const checkpoint = verifyNote(proof.checkpoint)
  verifyPlace(proof, checkpoint, providers)
  const item = proof.item && verifyItemProof(proof.item, statement, providers)
  const stored = verifyStored(
    checkpoint,
    trust.storedCheckpoints.map(verifyNote),
    trust.consistency,
    providers,
  )
  const compromised = compromisedKeys(proof.keys, trust.compromised)
  verifyCompromise(compromised, { kid, atMs: statement.recordedAtMs, seq: proof.index }, stored)
  if (registered) {
    const { statement, envelope } = registered
    const signed = { kid: toHex(envelope.kid), atMs: statement.recordedAtMs, seq: proof.index }
    verifyCompromise(compromised, signed, stored)
  }
  const cosignatures = trust.witnesses
    ? countCosignatures(parseNote(proof.checkpoint), trust.witnesses, providers)
    : null
  const signedBy = registered ? 'agent' : 'server'
  return {
    envelope,
    statement,
    item,
    kid,
    signedBy,
    seq: proof.index,
    checkpoint,
    stored,
    cosignatures,
  }
}

/**
 * Verifies the registration of an agent's key. The server must have signed the registration, and the key must have
 * signed its proof of possession. The registration does not show that an earlier key of the agent endorsed the key,
 * nor that the key was not revoked later. Only the whole chain shows this.
 */
function verifyRegistration(
  proof: EntryProof,
  bytes: Uint8Array,
  findServerKey: FindKey,
  providers: ProofProviders,
) {
  const { envelope, statement } = verifySignedStatement(bytes, findServerKey, providers)
  verifyLedger(proof, envelope, statement)
  if (statement.kind !== 'agent-key-registered')
    throw new ProofError(
      'proof_contradicts_entry',
      `the registration is ${statement.kind}, not agent-key-registered`,
    )
  const { ledger, predicate } = statement
  const { agent, newKey, required, proof: possession } = predicate as unknown as AgentKeyRegistration
  const key = parsePublicKey(newKey.alg, fromBase64(newKey.spki))
  const text = agentKeyText({ ledger, agent, kid: newKey.kid, required })
  if (!providers.verifySignature(key, text, fromBase64(possession)))
    throw new ProofError(
      'agent_key_refused',
      `the proof of possession of the key ${newKey.kid} does not verify`,
    )
  const own: KnownKey = { ...key, agent: { ledger, agent } }
  return { envelope, statement, findKey: (kid: string) => (kid === newKey.kid ? own : null) }
}

/**
 * Verifies that a trusted key signed. `signed`: the envelope of the entry. If an agent signed the entry, also the
 * envelope of the entry that registers the agent's key. Returns the kid of the entry.
 */
function verifyGivenKid(signed: readonly ParsedEnvelope[], { kids }: ProofTrust): string {
  const found = signed.map(({ kid }) => toHex(kid))
  if (kids.length > 0 && !found.some((kid) => kids.includes(kid)))
    throw new ProofError(
      'trusted_key_absent',
      `the entry is signed by ${found.join(', registered by ')}, which is not the given key`,
    )
  return found[0]!
}

/**
 * Verifies that the proof names the ledger for which the entry was signed. The origin is the name of the note key, so
 * the origin must contain the ledger's id.
 */
function verifyLedger({ ledger }: EntryProof, envelope: ParsedEnvelope, statement: ParsedStatement): void {
  if (ledger.id !== statement.ledger || !ledger.origin.endsWith(`/${statement.ledger}`))
    throw new ProofError(
      'ledger_foreign',
      `the entry belongs to ${statement.ledger}, but the proof names the ledger ${ledger.origin}`,
    )
  if (ledger.issuer !== envelope.issuer)
    throw new ProofError(
      'ledger_foreign',
      `the entry was issued by ${envelope.issuer}, but the proof names the issuer ${ledger.issuer}`,
    )
}

function makeVerifyNote({ ledger }: EntryProof, trust: ProofTrust, providers: ProofProviders) {
  const { sha256, verifySignature } = providers
  if (trust.noteKey !== null && trust.noteKey !== ledger.noteVerifierKey) {
    throw new ProofError(
      'trusted_key_absent',
      `the proof names the note key ${ledger.noteVerifierKey}, which is not the given note key`,
    )
  }
  const key = parseVerifierKey(ledger.noteVerifierKey, sha256)
  if (key.origin !== ledger.origin)
    throw new ProofError(
      'checkpoint_foreign',
      `the note key belongs to ${key.origin}, not to ${ledger.origin}`,
    )
  return (note: string): Checkpoint => verifyCheckpoint(note, key, sha256, verifySignature)
}

/** Verifies the inclusion path. Its index must be the entry's seq, and its size must be the checkpoint's size. */
function verifyPlace(proof: EntryProof, checkpoint: Checkpoint, { sha256 }: ProofProviders): void {
  const { entry, index, treeSize, path } = proof
  if (index !== entry.seq || treeSize !== checkpoint.size) {
    throw new ProofError(
      'proof_contradicts_entry',
      `the path is for leaf ${index} of ${treeSize}, but the proof is of entry ${entry.seq} under a checkpoint of ${checkpoint.size} entries`,
    )
  }
  verifyInclusion(sha256, fromHex(entry.leaf), index, treeSize, path, checkpoint.root)
  if (index === treeSize - 1 && entry.chain !== toHex(checkpoint.chain))
    throw new ProofError(
      'chain_broken',
      `the checkpoint has the chain hash ${toHex(checkpoint.chain)}, but its last entry has ${entry.chain}`,
    )
}

/** Verifies an item of a batch against the batch's statement. */
export function verifyItemProof(
  item: ItemProof,
  statement: ParsedStatement,
  { sha256 }: ProofProviders,
): BatchItem {
  const { count } = statement.predicate
  if (item.count !== count)
    throw new ProofError(
      'batch_contradicts_statement',
      `the item is of a batch of ${item.count} items, but ${count} were signed`,
    )
  return verifyBatchItem(sha256, item.item, item.index, item.count, item.path, statement.subjects[0].sha256)
}

/**
 * Verifies that a checkpoint agrees with the stored checkpoints. Returns the stored checkpoint with which it agrees, or
 * null if none was given.
 *
 * An operator can sign two different ledgers with the same name, but the stored checkpoint fits only one of them. A
 * stored checkpoint of the same size must be equal. A stored checkpoint of another size proves nothing until a
 * consistency proof joins the two.
 */
export function verifyStored(
  checkpoint: Checkpoint,
  stored: readonly Checkpoint[],
  consistency: ConsistencyProof | null,
  { sha256 }: ProofProviders,
): Checkpoint | null {
  const same = stored.filter(({ size }) => size === checkpoint.size)
  for (const { root, chain } of same) {
    if (!equalBytes(root, checkpoint.root) || !equalBytes(chain, checkpoint.chain)) {
      throw new ProofError(
        'checkpoint_mismatch',
        `the stored checkpoint of ${checkpoint.size} entries has another root or chain hash than the checkpoint of this file`,
      )
    }
  }
  if (stored.length === 0 || same.length > 0) return same[0] ?? null
  const joined = stored.find(({ size }) => isBetween(consistency, size, checkpoint.size))
  if (!joined) throw consistencyMissing(checkpoint, stored)
  const [smaller, larger] = joined.size < checkpoint.size ? [joined, checkpoint] : [checkpoint, joined]
  verifyConsistency(sha256, smaller.size, larger.size, consistency!.path, smaller.root, larger.root)
  return joined
}

function isBetween(consistency: ConsistencyProof | null, size1: number, size2: number): boolean {
  return consistency?.from === Math.min(size1, size2) && consistency.to === Math.max(size1, size2)
}

function consistencyMissing(checkpoint: Checkpoint, stored: readonly Checkpoint[]): ProofError {
  const newest = Math.max(...stored.map(({ size }) => size))
  const [from, to] = [Math.min(newest, checkpoint.size), Math.max(newest, checkpoint.size)]
  return new ProofError(
    'consistency_missing',
    `the stored checkpoint covers ${newest} entries, but the checkpoint of this file covers ${checkpoint.size}: ` +
      `get /v1/checkpoints/consistency?from=${from}&to=${to}, or get the proof in the tree of ${newest}`,
  )
}

/**
 * Verifies that no compromised key signed the entry. Somebody who stole a key can sign entries of any date. So an entry
 * of a compromised key is accepted only if a stored checkpoint covers it. If the time of the compromise is known, the
 * entry's time must also be earlier.
 */
export function verifyCompromise(
  compromised: CompromisedKeys,
  { kid, atMs, seq }: { readonly kid: string; readonly atMs: number; readonly seq: number },
  stored: Checkpoint | null,
): void {
  const sinceMs = compromised.get(kid)
  if (sinceMs === undefined) return
  if (stored === null || stored.size <= seq)
    throw new ProofError(
      'key_compromised',
      `the key ${kid} is compromised, and no stored checkpoint covers entry ${seq}`,
    )
  if (sinceMs !== null && atMs >= sinceMs)
    throw new ProofError(
      'key_compromised',
      `the key ${kid} was already compromised when entry ${seq} was signed`,
    )
}
