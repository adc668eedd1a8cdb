import { equalBytes, fromBase64, toHex } from '../bytes.ts'
import type { ProofProviders } from '../crypto.ts'
import { type EntryStep, isOwnStep, type OwnStep } from '../entry/entry-step.ts'
import { IdTable } from '../entry/id-table.ts'
import { verifySignerShown } from '../entry/verify-entry.ts'
import { ProofError } from '../error.ts'
import { parseIdBytes } from '../ids.ts'
import { parsePublicKey } from '../keys.ts'
import type { LedgerState } from '../statement/kinds/rule.ts'
import { ENTRY_KINDS } from '../statement/kinds.ts'
import type { ParsedStatement } from '../statement/statement.ts'
import { genesis, link } from '../tree/chain.ts'
import type { WitnessPolicy } from '../tree/cosignature.ts'
import { emptyFrontier, extendFrontier, type Frontier, frontierRoot } from '../tree/merkle.ts'
import { LedgerActors } from './actors.ts'
import { LedgerAgentKeys, type PinnedAgents } from './agent-keys.ts'
import { LedgerCheckpoints } from './checkpoints.ts'
import type { CompromisedKeys } from './compromised-keys.ts'
import { LedgerErasures } from './erasures.ts'
import type { RecordEvent } from './gated-record.ts'
import { LedgerKeys } from './keys.ts'
import { LedgerPeers, type PeeringState, type PeersObserver } from './peers.ts'
import { LedgerRecords, type OnGated } from './records.ts'
import { LedgerRetention } from './retention.ts'
import { LedgerStatements } from './statements.ts'
import { describeLate, LedgerTail } from './tail.ts'
import { LedgerTypes } from './types.ts'

export type LedgerVerifierOptions = PeersObserver & {
  /** Checkpoint notes that were stored outside of the ledger. The ledger must agree with each of them. */
  readonly storedCheckpoints?: readonly string[]
  /**
   * Statements with receipts, stored outside of the ledger. The ledger must have the same entries at the same
   * positions, and agree with the trees of the receipts.
   */
  readonly storedReceipts?: readonly Uint8Array[] | undefined
  /** Witnesses whose cosignatures on each checkpoint are counted. */
  readonly witnesses?: WitnessPolicy | undefined
  readonly compromised?: CompromisedKeys
  /** Agents whose keys the caller knows from another source. */
  readonly pinnedAgents?: PinnedAgents | undefined
  /**
   * What happens if entries behind the last checkpoint are older than a minute (LedgerTail).
   *
   * - `refused`: `finish` throws. This is the default.
   * - `noticed`: only `lateTail` reports the entries. It is for a verifier that stores the newest checkpoint itself and
   *   receives the next checkpoint late.
   */
  readonly lateTail?: 'refused' | 'noticed'
  /**
   * Random number that makes the slots of ids in hash tables unpredictable. Without it, somebody could choose ids that
   * slow the verifier down.
   */
  readonly idSeed?: number
  /** Called for each perfect subtree of the Merkle tree when the subtree is complete. */
  readonly onNode?: (level: number, index: number, hash: Uint8Array) => void
  /**
   * Called for each event of a gated record. `onGated`, `onRemote` and `onOffer` MAY throw ProofError, which refuses
   * the entry.
   */
  readonly onGated?: OnGated
  /**
   * Called for each erasure. `isStored`: true if the document is still stored. This is legal until a worker removes the
   * document.
   */
  readonly onErasure?: (atMs: number, isStored: boolean) => void
  readonly onEntry?: (step: EntryStep) => void
}

/**
 * Verifies a whole ledger, entry by entry in order. Does all checks that need other entries.
 *
 * The caller MUST verify each entry with `verifyEntry` first, in any order and on any thread. The caller MUST append
 * the entries in the order of the source, and MUST stop at the first entry for which `append` throws a ProofError.
 * After such an error, `summary` has the findings up to the refused entry, and its `size` is the seq of that entry.
 *
 * Takes about 30 bytes of memory for each record, and one object for each agent, key, type, erasure and gated record
 * that is not terminal.
 */
export class LedgerVerifier {
  readonly #providers: ProofProviders
  readonly #options: LedgerVerifierOptions
  readonly #keys = new LedgerKeys()
  readonly #agentKeys: LedgerAgentKeys
  readonly #actors = new LedgerActors()
  readonly #types = new LedgerTypes()
  readonly #records: LedgerRecords
  readonly #peers: LedgerPeers
  readonly #statements: LedgerStatements
  readonly #erasures = new LedgerErasures()
  readonly #retention = new LedgerRetention()
  readonly #checkpoints: LedgerCheckpoints
  readonly #tail = new LedgerTail()
  readonly #leaves: IdTable
  readonly #state: LedgerState
  readonly #frontier: Frontier = emptyFrontier()
  #ledger: string | null = null
  #issuer = ''
  #definitionDigest = ''
  #size = 0
  #chain: Uint8Array = new Uint8Array()
  /** Number of entries up to the last entry that a compromised key signed. 0 if no compromised key signed an entry. */
  #compromisedSize = 0
  #agentSigned = 0

  constructor(providers: ProofProviders, options: LedgerVerifierOptions = {}) {
    this.#providers = providers
    this.#options = options
    this.#agentKeys = new LedgerAgentKeys(providers, options.pinnedAgents)
    const seed = options.idSeed ?? 0
    this.#records = new LedgerRecords(seed, options.onGated)
    this.#peers = new LedgerPeers(providers, this.#records, seed, options)
    this.#statements = new LedgerStatements(providers)
    this.#leaves = new IdTable(seed)
    const outside = { checkpoints: options.storedCheckpoints, receipts: options.storedReceipts }
    this.#checkpoints = new LedgerCheckpoints(providers, outside, options.witnesses)
    this.#state = {
      whole: {
        verifyRestored: (found) => this.#verifyRestored(found),
        onErasure: (atMs, isStored) => options.onErasure?.(atMs, isStored),
      },
      keys: this.#keys,
      agentKeys: this.#agentKeys,
      actors: this.#actors,
      types: this.#types,
      records: this.#records,
      peers: this.#peers,
      statements: this.#statements,
      erasures: this.#erasures,
      retention: this.#retention,
    }
  }

  append(step: EntryStep): void {
    this.#verifyPosition(step)
    if (step.seq === 0) this.#begin(step)
    this.#statements.verifyPairing(step)
    // A registered statement has no author in the ledger. The next entry names the agent that registered the statement.
    const own = isOwnStep(step) ? step : null
    const isAgentSigned = own !== null && this.#verifyAuthor(own)
    const chain = this.#linkChain(step)
    this.#verifyNew(step)
    if (own) this.#actors.verifyActor(own)
    this.#types.verifyTypes(step.types)
    this.#types.verifySigner(step.types, isAgentSigned)
    this.#follow(step, isAgentSigned)
    this.#statements.takeStatement(step)
    for (const document of step.erased) this.#erasures.miss(step.seq, document)
    this.#erasures.verifyExplained(step.seq)
    extendFrontier(this.#providers.sha256, this.#frontier, step.leaf, this.#options.onNode)
    this.#checkpoints.compare(step, chain, () => frontierRoot(this.#providers.sha256, this.#frontier))
    this.#noteCompromised(step)
    this.#chain = chain
    this.#size = step.seq + 1
    if (isAgentSigned) this.#agentSigned++
    this.#tail.append(step, this.#checkpoints)
    this.#options.onEntry?.(step)
  }

  /**
   * Adds a checkpoint that came with the ledger. The caller must add the checkpoint before the entry that reaches its
   * size.
   */
  expectCheckpoint(note: string): void {
    this.#checkpoints.expect(note, false, this.#size)
  }

  /**
   * Does the checks that need all entries, for example whether the ledger has all entries that its checkpoints cover.
   * Throws ProofError if a check fails.
   */
  finish(): void {
    this.#statements.finish()
    this.#erasures.finish()
    this.#agentKeys.verifyPinned()
    this.#checkpoints.finish(this.#size)
    if (this.#compromisedSize > this.#checkpoints.outsideSize) {
      throw new ProofError(
        'key_compromised',
        `a compromised key signed up to seq ${this.#compromisedSize - 1}, but stored checkpoints cover only ${this.#checkpoints.outsideSize} entries`,
      )
    }
    const late = this.lateTail
    if (late !== null && this.#options.lateTail !== 'noticed')
      throw new ProofError('checkpoint_missing_tail', late)
  }

  /**
   * Describes the oldest entry that no checkpoint covers although it is more than a minute older than the newest entry.
   * null if there is no such entry.
   */
  get lateTail(): string | null {
    const late = this.#tail.lateBehindAll
    const { outsideSize, ownSize } = this.#checkpoints
    return late && describeLate(late, Math.max(outsideSize, ownSize))
  }

  /** Frontier of the Merkle tree over the entries so far. Callers must not change the frontier. */
  get frontier(): Frontier {
    return this.#frontier
  }

  /** All peerings with their current state, revoked ones included. */
  get peerings(): Iterable<PeeringState> {
    return this.#peers.states()
  }

  get summary() {
    return {
      ledger: this.#ledger,
      size: this.#size,
      records: this.#records.count,
      agentSigned: this.#agentSigned,
      statements: this.#statements.count,
      chain: toHex(this.#chain),
      firstKid: this.#keys.first,
      currentKid: this.#keys.current,
      kids: this.#keys.all,
      outsideSize: this.#checkpoints.outsideSize,
      ownSize: this.#checkpoints.ownSize,
      witnessedSize: this.#checkpoints.witnessedSize,
      ownReachesEnd: this.#tail.lateBehindOwn === null && !this.#tail.hasGapBehindOwn,
    }
  }

  #verifyPosition(step: EntryStep): void {
    if (step.seq !== this.#size)
      throw new ProofError(
        'seq_not_dense',
        `the next entry must have seq ${this.#size}, but has seq ${step.seq}`,
      )
    if ((step.seq === 0) !== (step.kind === 'ledger-created')) {
      throw new ProofError(
        'ledger_created_misplaced',
        `seq ${step.seq} is ${step.kind}: ledger-created must be the first entry, and no other`,
      )
    }
  }

  /** Stores those facts of the first entry that apply to all later entries. */
  #begin(step: EntryStep): void {
    const { subjects, predicate } = step.statement!
    const definition = predicate['definition'] as Definition
    this.#ledger = step.ledger
    this.#issuer = definition.issuer
    this.#definitionDigest = subjects[0].sha256
    this.#chain = genesis(this.#providers.sha256, parseIdBytes('led', step.ledger))
    this.#keys.begin(definition.envelopeKey.kid)
    this.#types.begin(definition.types)
    this.#peers.begin({ ledger: step.ledger, origin: definition.origin, genesis: toHex(step.leaf) })
    this.#checkpoints.begin(definition.origin, parsePublicKey('EdDSA', fromBase64(definition.noteKey)))
  }

  /** Verifies the signer of an entry. Returns true if an agent signed the entry. */
  #verifyAuthor(step: OwnStep): boolean {
    this.#verifyMembership(step)
    const isAgentSigned = this.#agentKeys.verifySigner(step)
    if (!isAgentSigned) this.#keys.verifySigner(step.kid)
    verifySignerShown(step.hasSigner, isAgentSigned)
    return isAgentSigned
  }

  /**
   * Verifies that an entry belongs to this ledger. One envelope key signs for many ledgers, so valid signatures do not
   * prove this.
   */
  #verifyMembership(step: EntryStep): void {
    if (step.ledger !== this.#ledger)
      throw new ProofError(
        'ledger_foreign',
        `the chain belongs to ${this.#ledger}, but has an entry of ${step.ledger}`,
      )
    if (step.issuer !== this.#issuer)
      throw new ProofError(
        'ledger_foreign',
        `the entry was issued by ${step.issuer}, but the issuer of the ledger is ${this.#issuer}`,
      )
  }

  #linkChain(step: EntryStep): Uint8Array {
    const chain = link(this.#providers.sha256, this.#chain, step.leaf)
    if (!equalBytes(chain, step.chain))
      throw new ProofError(
        'chain_broken',
        `the entry has the chain hash ${toHex(step.chain)}, but the computed chain hash is ${toHex(chain)}`,
      )
    return chain
  }

  /**
   * Throws if a compromised key signed the entry at or after the time of the compromise. A checkpoint from outside that
   * covers the entry does not change this, because the checkpoint may be newer than the compromise.
   */
  #noteCompromised({ seq, kid, atMs }: EntryStep): void {
    const sinceMs = this.#options.compromised?.get(kid)
    if (sinceMs === undefined) return
    if (sinceMs !== null && atMs >= sinceMs) {
      throw new ProofError(
        'key_compromised',
        `the entry was recorded at ${new Date(atMs).toISOString()}, when the key ${kid} was already compromised`,
      )
    }
    this.#compromisedSize = seq + 1
  }

  /**
   * Throws if the same envelope occurs twice. Envelopes that make records need no check here: a repeated envelope would
   * repeat record ids, and another check refuses repeated ids.
   */
  #verifyNew(step: EntryStep): void {
    if (step.recordIds.length > 0) return
    if (!this.#leaves.add(step.leaf, 0, step.seq, 0)) {
      throw new ProofError(
        'duplicate_envelope',
        `the same envelope is in the chain twice, first at seq ${this.#leaves.get(step.leaf)!.seq}`,
      )
    }
  }

  /**
   * Applies the changes that the entry makes. The function `follow` of the entry's kind (statement/kinds) changes the
   * ledger. A step also changes its record.
   */
  #follow(step: EntryStep, isAgentSigned: boolean): void {
    this.#records.notarize(step.recordIds, step.digestWords, step.seq)
    const { statement, received } = step
    if (!statement) return
    if (received) this.#peers.receive(step, received)
    const { subjects, follow, step: isStep } = ENTRY_KINDS[statement.kind]
    if (subjects[0] === 'led' && step.seq > 0) this.#verifyAboutLedger(statement.subjects[0].sha256)
    follow?.(this.#state, statement, step)
    if (isStep) this.#records.step(eventOf(step, statement), isAgentSigned)
  }

  #verifyAboutLedger(digest: string): void {
    if (digest !== this.#definitionDigest) {
      throw new ProofError(
        'definition_mismatch',
        `the ledger's definition has the digest ${this.#definitionDigest}, but the entry names ${digest}`,
      )
    }
  }

  /**
   * Throws if the size and chain hash that a `ledger-restored` entry names are not those of the ledger before this
   * entry. The operator signed this state when the ledger was reopened.
   */
  #verifyRestored(found: { readonly size: number; readonly chain: string }): void {
    if (found.size !== this.#size || found.chain !== toHex(this.#chain)) {
      throw new ProofError(
        'chain_broken',
        `the entry names the restored state of ${found.size} entries, but ${this.#size} entries are before this entry, or their chain hash differs`,
      )
    }
  }
}

type EnvelopeKey = { readonly kid: string }
type Definition = {
  readonly issuer: string
  readonly origin: string
  readonly envelopeKey: EnvelopeKey
  readonly noteKey: string
  readonly types: Readonly<Record<string, string>>
}

function eventOf(step: EntryStep, statement: ParsedStatement): RecordEvent {
  return { seq: step.seq, leaf: toHex(step.leaf), atMs: step.atMs, statement }
}
