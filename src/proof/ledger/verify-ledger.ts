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
import { LedgerKeeping } from './keeping.ts'
import { LedgerKeys } from './keys.ts'
import { LedgerPeers, type PeeringStanding, type PeersObserver } from './peers.ts'
import { LedgerRecords, type OnGated } from './records.ts'
import { LedgerStatements } from './statements.ts'
import { describeLate, LedgerTail } from './tail.ts'
import { LedgerTypes } from './types.ts'

export type LedgerVerifierOptions = PeersObserver & {
  /** Checkpoint notes held outside: the ledger must extend each. */
  readonly keptCheckpoints?: readonly string[]
  /** Statements with their receipts, held outside: the ledger must have those entries, and extend those trees. */
  readonly keptReceipts?: readonly Uint8Array[] | undefined
  /** Witnesses whose cosignatures are looked for on every checkpoint. */
  readonly witnesses?: WitnessPolicy | undefined
  readonly compromised?: CompromisedKeys
  /** Agents whose keys are known from elsewhere. */
  readonly pinnedAgents?: PinnedAgents | undefined
  /**
   * Treatment of a ledger whose entries behind the last checkpoint are older than a minute (LedgerTail). `noticed` is for
   * a verifier that keeps the newest checkpoint itself, and hears late of the next one. By default it is refused.
   */
  readonly lateTail?: 'refused' | 'noticed'
  /** Random, so that ids cannot be chosen to slow the verifier down. */
  readonly idSeed?: number
  /** Called for each perfect subtree of the Merkle tree as it is completed. */
  readonly onNode?: (level: number, index: number, hash: Uint8Array) => void
  /** MAY throw ProofError, as onRemote and onOffer: the entry is refused then. */
  readonly onGated?: OnGated
  /** Called for each erasure. `isStored`: its document is still there, which is legal until a worker has come. */
  readonly onErasure?: (atMs: number, isStored: boolean) => void
  /** Called for each entry, when it was verified. */
  readonly onEntry?: (step: EntryStep) => void
}

/**
 * A whole ledger, entry by entry in order: everything that no entry can say about itself alone.
 *
 * The caller MUST have put each entry through `verifyEntry` before (in any order, on any thread), MUST give them in
 * the order in which they were found, and MUST stop at the first that throws. Throws ProofError. `summary` then holds
 * the findings until there, and its `size` is the seq of the refused entry.
 *
 * About 30 bytes of memory for each record, one object for each agent, key, type, erasure and gated record that
 * is not terminal.
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
  readonly #keeping = new LedgerKeeping()
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
  /** How many entries there were when a compromised key last signed. */
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
    const kept = { checkpoints: options.keptCheckpoints, receipts: options.keptReceipts }
    this.#checkpoints = new LedgerCheckpoints(providers, kept, options.witnesses)
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
      keeping: this.#keeping,
    }
  }

  /** The next entry. */
  append(step: EntryStep): void {
    this.#verifyPlace(step)
    if (step.seq === 0) this.#begin(step)
    this.#statements.verifyTurn(step)
    // Somebody else's statement has no author here: the entry behind it says who had it registered.
    const own = isOwnStep(step) ? step : null
    const isAgentSigned = own !== null && this.#verifyAuthor(own)
    const chain = this.#linkChain(step)
    this.#verifyNew(step)
    if (own) this.#actors.verifyActor(own)
    this.#types.verifyTypes(step.types)
    this.#types.verifySigner(step.types, isAgentSigned)
    this.#follow(step, isAgentSigned)
    this.#statements.hold(step)
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

  /** One of the ledger's own checkpoints, before the entry that reaches its size. */
  expectCheckpoint(note: string): void {
    this.#checkpoints.expect(note, false, this.#size)
  }

  /** The end: throws if something that the entries promised is missing. */
  finish(): void {
    this.#statements.finish()
    this.#erasures.finish()
    this.#agentKeys.verifyPinned()
    this.#checkpoints.finish(this.#size)
    if (this.#compromisedSize > this.#checkpoints.keptSize) {
      throw new ProofError(
        'key_compromised',
        `a compromised key signed up to seq ${this.#compromisedSize - 1}; kept checkpoints cover ${this.#checkpoints.keptSize} entries`,
      )
    }
    const late = this.lateTail
    if (late !== null && this.#options.lateTail !== 'noticed')
      throw new ProofError('checkpoint_missing_tail', late)
  }

  /** Fault of the entries behind the last checkpoint; null if they are young. */
  get lateTail(): string | null {
    const late = this.#tail.lateBehindAll
    const { keptSize, ownSize } = this.#checkpoints
    return late && describeLate(late, Math.max(keptSize, ownSize))
  }

  /** The Merkle tree so far; not to be changed. */
  get frontier(): Frontier {
    return this.#frontier
  }

  /** All peerings that ever were, as they stand. */
  get peerings(): Iterable<PeeringStanding> {
    return this.#peers.standings()
  }

  /** Summary of what was verified so far. */
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
      keptSize: this.#checkpoints.keptSize,
      ownSize: this.#checkpoints.ownSize,
      witnessedSize: this.#checkpoints.witnessedSize,
      ownReachesEnd: this.#tail.lateBehindOwn === null && !this.#tail.hasGapBehindOwn,
    }
  }

  #verifyPlace(step: EntryStep): void {
    if (step.seq !== this.#size)
      throw new ProofError('seq_not_dense', `seq ${step.seq} stands where ${this.#size} belongs`)
    if ((step.seq === 0) !== (step.kind === 'ledger-created')) {
      throw new ProofError('ledger_created_misplaced', `seq ${step.seq} is ${step.kind}`)
    }
  }

  /** Takes from the first entry what it fixes for all that follow. */
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

  /** Whether an agent has signed the entry. */
  #verifyAuthor(step: OwnStep): boolean {
    this.#verifyMembership(step)
    const isAgentSigned = this.#agentKeys.verifySigner(step)
    if (!isAgentSigned) this.#keys.verifySigner(step.kid)
    verifySignerShown(step.hasSigner, isAgentSigned)
    return isAgentSigned
  }

  /** One envelope key signs for many ledgers, so another ledger's entries carry good signatures here too. */
  #verifyMembership(step: EntryStep): void {
    if (step.ledger !== this.#ledger)
      throw new ProofError('ledger_foreign', `an entry of ${step.ledger} in ${this.#ledger}`)
    if (step.issuer !== this.#issuer)
      throw new ProofError('ledger_foreign', `issued by ${step.issuer}, not by ${this.#issuer}`)
  }

  #linkChain(step: EntryStep): Uint8Array {
    const chain = link(this.#providers.sha256, this.#chain, step.leaf)
    if (!equalBytes(chain, step.chain))
      throw new ProofError('chain_broken', `the chain hash here is ${toHex(chain)}`)
    return chain
  }

  /** A checkpoint that was kept later than the key was stolen speaks for nothing that the thief signed before it. */
  #noteCompromised({ seq, kid, atMs }: EntryStep): void {
    const sinceMs = this.#options.compromised?.get(kid)
    if (sinceMs === undefined) return
    if (sinceMs !== null && atMs >= sinceMs) {
      throw new ProofError(
        'key_compromised',
        `recorded at ${new Date(atMs).toISOString()}, when the key ${kid} was compromised`,
      )
    }
    this.#compromisedSize = seq + 1
  }

  /** An envelope that makes a record cannot be there twice without its record id: those need no second table. */
  #verifyNew(step: EntryStep): void {
    if (step.recordIds.length > 0) return
    if (!this.#leaves.add(step.leaf, 0, step.seq, 0)) {
      throw new ProofError('duplicate_envelope', `first at seq ${this.#leaves.get(step.leaf)!.seq}`)
    }
  }

  /** Follows what the entry changes: kinds say how (statement/kinds), and a step moves its record. */
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
        `the ledger's definition has the digest ${this.#definitionDigest}`,
      )
    }
  }

  /** The operator signs the ledger's state when it was reopened, which must be the state before the entry. */
  #verifyRestored(found: { readonly size: number; readonly chain: string }): void {
    if (found.size !== this.#size || found.chain !== toHex(this.#chain)) {
      throw new ProofError(
        'chain_broken',
        `restored from ${found.size} entries, but there are ${this.#size}, or their chain differs`,
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
