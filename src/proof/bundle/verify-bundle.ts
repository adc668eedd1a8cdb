import { fromBase64, toHex } from '../bytes.ts'
import type { ProofProviders } from '../crypto.ts'
import { verifySignerShown } from '../entry/verify-entry.ts'
import { ProofError } from '../error.ts'
import { parsePublicKey } from '../keys.ts'
import { LedgerAgentKeys, type PinnedAgents } from '../ledger/agent-keys.ts'
import { type CompromisedKeys, compromisedKeys } from '../ledger/compromised-keys.ts'
import { LedgerErasures } from '../ledger/erasures.ts'
import { LedgerKeys } from '../ledger/keys.ts'
import { LedgerStatements } from '../ledger/statements.ts'
import { findNamedKeys } from '../offline/key-hints.ts'
import { type ProofTrust, verifyCompromise, verifyStored } from '../offline/verify-proof.ts'
import { type RegistrationPolicy, verifyRegistration } from '../scitt/registration-policy.ts'
import { ENTRY_KINDS, STATEMENT } from '../statement/kinds.ts'
import { type Checkpoint, formatVerifierKey, verifyCheckpoint } from '../tree/checkpoint.ts'
import { type CosignatureCount, countCosignatures } from '../tree/cosignature.ts'
import { verifyInclusion } from '../tree/merkle.ts'
import { parseNote } from '../tree/note.ts'
import type { BundleEntry, OwnEntry, StatementEntry, VerifiedBundleEntry } from './bundle-entry.ts'
import { type BundleContents, type BundleHead, type Completeness, completenessOf } from './bundle-lines.ts'
import { FilteredRecords } from './filter.ts'
import type { BundleFilter } from './is-filtered.ts'
import { RangeTree } from './range.ts'
import { Selection } from './selection.ts'

export type BundleFindings = {
  readonly ledger: string
  readonly of:
    | { readonly record: string }
    | { readonly run: string }
    | { readonly from: number; readonly to: number }
    | { readonly selection: BundleFilter }
  /**
   * `complete` if no entry of the range was left out. `selection` if the ledger may have more matching entries than the
   * bundle shows.
   */
  readonly completeness: Completeness
  /** Number of entries in the range, or number of entries about the selection's records. */
  readonly entries: number
  /** Number of entries in the range that the filter searches. null if the bundle has no filter. */
  readonly ofEntries: number | null
  /** Number of `entries` that an agent signed itself. */
  readonly agentSigned: number
  /**
   * Number of statements by other issuers. The bundle always shows a statement together with the entry that registers
   * it.
   */
  readonly statements: number
  /**
   * Number of `statements` whose issuer signature was verified by the policy that their registration names. The
   * policies of the other statements are not in the bundle.
   */
  readonly issuersJudged: number
  /** Number of records in the selection. null if the bundle is a range. */
  readonly records: number | null
  readonly documents: 'all' | 'withheld'
  readonly erased: number
  readonly treeSize: number
  /** `given` if the caller named the ledger's first envelope key. */
  readonly keys: 'given' | 'self-asserted'
  readonly firstKid: string
  readonly noteKey: 'given' | 'self-asserted'
  /**
   * `given` if a checkpoint that the caller stored covers every entry. `own` if only the bundle's own checkpoint covers
   * every entry.
   */
  readonly checkpoint: 'given' | 'own'
  readonly covered: number
  /** Number of the caller's witnesses that cosigned the bundle's checkpoint. null if the caller gave no witnesses. */
  readonly cosigned: number | null
  /**
   * Number of signature lines of the bundle's checkpoint by unknown keys, which belong neither to the ledger nor to one
   * of the caller's witnesses. null if the caller gave no witnesses.
   */
  readonly unknownCosignatures: number | null
}

export type BundleTrust = ProofTrust & {
  readonly idSeed: number
  /**
   * Agents whose keys the caller knows from another source. The bundle has an agent's key only if it has entries of
   * this agent.
   */
  readonly pinnedAgents?: PinnedAgents | undefined
}

/** Facts that the ledger's first entry determines for all later entries. */
type LedgerStart = {
  readonly issuer: string
  readonly checkpoint: Checkpoint
  readonly stored: Checkpoint | null
  readonly cosignatures: CosignatureCount | null
}

/**
 * Verifies a bundle, entry by entry. Throws ProofError.
 *
 * The caller MUST verify each line with `verifyBundleLine` first, MUST append the entries in file order, and MUST call
 * `finish`.
 *
 * The first entry is the ledger's definition. It names the note key, which signed the tree, and the first envelope key.
 * Rotations lead from the first envelope key to all later envelope keys. So it is enough if the reader knows either the
 * note key or the first envelope key.
 */
export class BundleVerifier {
  readonly #head: BundleHead
  readonly #trust: ProofTrust
  readonly #providers: ProofProviders
  readonly #compromised: CompromisedKeys
  readonly #keys = new LedgerKeys()
  readonly #agentKeys: LedgerAgentKeys
  readonly #statements: LedgerStatements
  readonly #erasures = new LedgerErasures()
  readonly #range: RangeTree | null
  readonly #selection: Selection | FilteredRecords | null
  #start: LedgerStart | null = null
  #lastSeq = -1
  #lines = 0
  #entries = 0
  /** Seq of the newest entry that `#entries` counts. */
  #newest = -1
  #erased = 0
  #agentSigned = 0
  /**
   * Maps the leaf of an entry to its registration policy.
   *
   * - `#unusedPolicies`: policies before the range that no statement has used yet.
   * - `#policyOfRange`: the newest policy inside the range.
   */
  readonly #policies = new Map<string, RegistrationPolicy>()
  readonly #unusedPolicies = new Map<string, number>()
  #policyOfRange: string | null = null
  #issuersJudged = 0

  constructor(head: BundleHead, trust: BundleTrust, providers: ProofProviders) {
    const { keys, of } = head
    this.#head = head
    this.#trust = trust
    this.#providers = providers
    this.#agentKeys = new LedgerAgentKeys(providers, trust.pinnedAgents)
    this.#statements = new LedgerStatements(providers)
    this.#compromised = compromisedKeys(keys, trust.compromised)
    findNamedKeys(keys, providers.sha256)
    this.#range = 'range' in of ? new RangeTree(of.range, providers.sha256) : null
    this.#selection = selectionOf(of, trust.idSeed)
  }

  /**
   * Verifies the next entry and determines who signed it. The result is valid only after `finish` has returned without
   * an error.
   */
  append(entry: BundleEntry): VerifiedBundleEntry {
    this.#verifyOrder(entry)
    this.#statements.verifyPairing(entry)
    const verified = entry.kind === STATEMENT ? this.#takeStatement(entry, this.#start!) : this.#take(entry)
    this.#erasures.verifyExplained(entry.seq)
    this.#lastSeq = entry.seq
    this.#lines++
    return verified
  }

  /**
   * Verifies and counts a statement of another issuer. Throws if the statement is outside of the bundle's range,
   * because only ranges contain statements.
   */
  #takeStatement(entry: StatementEntry, { checkpoint }: LedgerStart): VerifiedBundleEntry {
    if (entry.path !== null) throw unrelated(entry, 'the entry is not in the range')
    this.#verifyPosition(entry, checkpoint)
    this.#statements.takeStatement(entry)
    this.#count(entry)
    return { ...entry, signedBy: null }
  }

  #take(entry: OwnEntry): VerifiedBundleEntry {
    this.#start ??= this.#begin(entry)
    this.#verifyMembership(entry, this.#start)
    const isAgentSigned = this.#verifySigner(entry)
    const { kid, seq, statement, erased } = entry
    verifyCompromise(this.#compromised, { kid, atMs: statement.recordedAtMs, seq }, this.#start.stored)
    this.#verifyPosition(entry, this.#start.checkpoint)
    for (const document of erased) this.#erasures.miss(seq, document)
    this.#follow(entry)
    this.#erased += erased.length
    return { ...entry, signedBy: isAgentSigned ? 'agent' : 'server' }
  }

  /**
   * Verifies the end of the bundle and returns the findings. `entries`: the number that the last line states. Throws if
   * promised content is missing.
   */
  finish(entries: number): BundleFindings {
    if (entries !== this.#lines)
      throw new ProofError(
        'bundle_incomplete',
        `the bundle has ${this.#lines} entries, but its last line names ${entries}`,
      )
    if (this.#start === null) throw new ProofError('bundle_incomplete', 'the bundle has no entry')
    this.#range?.finish(this.#start.checkpoint)
    this.#selection?.finish()
    this.#statements.finish()
    this.#erasures.finish()
    const [unused] = this.#unusedPolicies.values()
    if (unused !== undefined)
      throw new ProofError(
        'entry_unrelated',
        `entry ${unused} sets a policy under which no statement of the bundle was registered`,
      )
    this.#verifyKeys()
    return this.#findings(this.#start)
  }

  #verifyOrder({ seq, kind }: BundleEntry): void {
    const isFirst = this.#lines === 0
    if (isFirst !== (kind === 'ledger-created') || isFirst !== (seq === 0))
      throw new ProofError(
        'ledger_created_misplaced',
        `seq ${seq} is ${kind}: ledger-created must be the first entry, at seq 0, and no other`,
      )
    if (seq <= this.#lastSeq)
      throw new ProofError(
        'seq_not_dense',
        `the entries must be in the order of seq, but seq ${seq} comes after seq ${this.#lastSeq}`,
      )
    this.#range?.verifyOrder(seq)
  }

  /** Verifies the ledger's definition under the envelope key that the definition itself names. */
  #begin({ kid, issuer, statement }: OwnEntry): LedgerStart {
    const { origin, noteKey, envelopeKey } = statement.predicate['definition'] as Definition
    this.#keys.begin(envelopeKey.kid)
    this.#keys.verifySigner(kid)
    const key = parsePublicKey('EdDSA', fromBase64(noteKey))
    const verifierKey = { origin, key }
    const { sha256, verifySignature } = this.#providers
    const named = formatVerifierKey(origin, key.raw, sha256)
    if (this.#trust.noteKey !== null && this.#trust.noteKey !== named)
      throw new ProofError(
        'trusted_key_absent',
        `the ledger's definition names the note key ${named}, which is not the given note key`,
      )
    const verifyNote = (note: string) => verifyCheckpoint(note, verifierKey, sha256, verifySignature)
    const checkpoint = verifyNote(this.#head.checkpoint)
    this.#range?.verifyCovered(checkpoint)
    const { of } = this.#head
    if ('selection' in of && of.selection.to >= checkpoint.size)
      throw new ProofError(
        'checkpoint_too_old',
        `a checkpoint of ${checkpoint.size} entries does not cover entry ${of.selection.to}`,
      )
    const { storedCheckpoints, consistency } = this.#trust
    const stored = verifyStored(checkpoint, storedCheckpoints.map(verifyNote), consistency, this.#providers)
    const { witnesses } = this.#trust
    const cosignatures = witnesses
      ? countCosignatures(parseNote(this.#head.checkpoint), witnesses, this.#providers)
      : null
    return { issuer, checkpoint, stored, cosignatures }
  }

  /**
   * Verifies that an entry belongs to this ledger. One envelope key signs for many ledgers, so valid signatures do not
   * prove this.
   */
  #verifyMembership({ issuer, statement }: OwnEntry, start: LedgerStart): void {
    if (statement.ledger !== this.#head.ledger)
      throw new ProofError(
        'ledger_foreign',
        `the bundle belongs to ${this.#head.ledger}, but has an entry of ${statement.ledger}`,
      )
    if (issuer !== start.issuer)
      throw new ProofError(
        'ledger_foreign',
        `the entry was issued by ${issuer}, but the issuer of the ledger is ${start.issuer}`,
      )
  }

  /**
   * Verifies who signed. Returns true if an agent signed. In the bundle, an agent's key is valid from the entry that
   * registers it up to the entry that revokes it.
   */
  #verifySigner({ kid, hasSigner, statement, items }: OwnEntry): boolean {
    const { kind, actor, onBehalfOf } = statement
    const actedFor = [onBehalfOf, ...(items ?? []).map((item) => item.onBehalfOf)].filter(
      (agent) => agent != null,
    )
    const isAgentSigned = this.#agentKeys.verifySigner({ kind, kid, actor, actedFor })
    if (isAgentSigned) this.#agentSigned++
    else this.#keys.verifySigner(kid)
    verifySignerShown(hasSigner, isAgentSigned)
    return isAgentSigned
  }

  #verifyPosition({ seq, leaf, path }: BundleEntry, { size, root }: Checkpoint): void {
    if (seq >= size)
      throw new ProofError(
        'checkpoint_too_old',
        `the checkpoint of ${size} entries does not cover entry ${seq}`,
      )
    if (path !== null) verifyInclusion(this.#providers.sha256, leaf, seq, size, path, root)
    else this.#range!.append(leaf)
  }

  /**
   * Applies the changes that the entry makes. An entry without a path belongs to the range and may be of any kind. An
   * entry with a path is accepted only if the bundle's contents need it.
   */
  #follow(entry: OwnEntry): void {
    const { seq, path, statement } = entry
    const { kind, subjects, predicate } = statement
    const { travelsWith } = ENTRY_KINDS[kind]
    const isOfRange = path === null
    const isOfSelection = this.#selection !== null && travelsWith === 'record'
    if (isOfRange || isOfSelection) this.#count(entry)
    if (travelsWith === 'signer') this.#followKeys(entry)
    else if (travelsWith === 'erased document') {
      const [{ name, sha256 }] = subjects
      const wasMissing = this.#erasures.explain(seq, predicate['seq'] as number, name, sha256)
      if (!wasMissing && !isOfRange)
        throw unrelated(entry, 'the entry erases no document that is missing in the bundle')
    } else if (isOfSelection) this.#selection!.take(entry)
    else if (isOfRange && kind === 'statement-registered') this.#judgeIssuer(entry)
    else if (this.#range && travelsWith === 'statement') this.#setPolicy(entry)
    else if (!isOfRange && travelsWith !== 'all')
      throw unrelated(entry, 'the entry does not belong to the range or record')
  }

  /**
   * Stores a policy. If its entry has a path, the policy was set before the range. Such a policy is in the bundle only
   * because a statement of the range needs it.
   */
  #setPolicy({ seq, leaf, path, statement }: OwnEntry): void {
    const policy = { leaf: toHex(leaf), content: statement.predicate as unknown as RegistrationPolicy }
    this.#policies.set(policy.leaf, policy.content)
    if (path === null) this.#policyOfRange = policy.leaf
    else this.#unusedPolicies.set(policy.leaf, seq)
  }

  #judgeIssuer({ seq, statement }: OwnEntry): void {
    const registered = this.#statements.pair({ seq, atMs: statement.recordedAtMs }, statement)
    const leaf = statement.predicate['policy'] as string
    if (this.#policyOfRange !== null && this.#policyOfRange !== leaf)
      throw new ProofError(
        'policy_refused',
        `the statement was registered under the policy ${leaf}, which was not the newest policy`,
      )
    const policy = this.#policies.get(leaf)
    if (!policy) return
    verifyRegistration(registered, policy, this.#providers)
    this.#unusedPolicies.delete(leaf)
    this.#issuersJudged++
  }

  #count({ seq }: BundleEntry): void {
    this.#entries++
    this.#newest = seq
  }

  /**
   * Applies an entry about a key. The change is valid from the next entry on. A kid belongs to either the ledger or an
   * agent, never to both.
   */
  #followKeys({ seq, statement }: OwnEntry): void {
    const { kind, ledger, predicate } = statement
    const { kid } = (predicate['newKey'] ?? {}) as { kid: string }
    if (kind === 'server-key-rotated') {
      this.#agentKeys.refuse(kid)
      this.#keys.rotate(kid, seq)
    } else if (kind === 'agent-key-registered') {
      this.#keys.refuse(kid)
      this.#agentKeys.register({ ledger, seq }, predicate)
    } else this.#agentKeys.revoke(predicate, seq)
  }

  /** Verifies that the chain introduces every key that the head lists, and every key that the caller trusts. */
  #verifyKeys(): void {
    const { all } = this.#keys
    for (const { kid } of this.#head.keys)
      if (!all.has(kid))
        throw new ProofError('key_not_current', `no entry introduces the key ${kid} of the first line`)
    for (const kid of this.#trust.kids)
      if (!all.has(kid))
        throw new ProofError('trusted_key_absent', `no entry introduces the key ${kid}, which was given`)
  }

  #findings({ checkpoint, stored, cosignatures }: LedgerStart): BundleFindings {
    const { ledger, of, documents } = this.#head
    const firstKid = this.#keys.first!
    const isCovered = stored !== null && stored.size > this.#newest
    return {
      ledger,
      of: namesOf(of),
      completeness: completenessOf(of),
      entries: this.#entries,
      ofEntries: 'selection' in of ? of.selection.to - of.selection.from + 1 : null,
      agentSigned: this.#agentSigned,
      statements: this.#statements.count,
      issuersJudged: this.#issuersJudged,
      records: this.#selection?.count ?? null,
      documents,
      erased: this.#erased,
      treeSize: checkpoint.size,
      keys: this.#trust.kids.includes(firstKid) ? 'given' : 'self-asserted',
      firstKid,
      noteKey: this.#trust.noteKey === null ? 'self-asserted' : 'given',
      checkpoint: isCovered ? 'given' : 'own',
      covered: isCovered ? Math.min(stored.size, checkpoint.size) : checkpoint.size,
      cosigned: cosignatures?.cosigned ?? null,
      unknownCosignatures: cosignatures?.unknown ?? null,
    }
  }
}

type Definition = {
  readonly origin: string
  readonly noteKey: string
  readonly envelopeKey: { readonly kid: string }
}

function selectionOf(of: BundleContents, idSeed: number): Selection | FilteredRecords | null {
  if ('range' in of) return null
  return 'selection' in of ? new FilteredRecords(of.selection, idSeed) : new Selection(of, idSeed)
}

function namesOf(of: BundleContents): BundleFindings['of'] {
  return 'range' in of ? { from: of.range.from, to: of.range.to } : of
}

function unrelated({ seq, kind }: BundleEntry, why: string): ProofError {
  return new ProofError('entry_unrelated', `entry ${seq}, ${kind}: ${why}`)
}
