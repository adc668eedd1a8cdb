import { equalBytes, fromBase64, toHex } from '../bytes.ts'
import type { ProofProviders } from '../crypto.ts'
import type { EntryStep } from '../entry/entry-step.ts'
import { IdTable } from '../entry/id-table.ts'
import { ProofError } from '../error.ts'
import { parseIdBytes } from '../ids.ts'
import type { JsonObject } from '../json/json-value.ts'
import { parsePublicKey } from '../keys.ts'
import { STATEMENT } from '../statement/kinds.ts'
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
  }

  /** The next entry. */
  append(step: EntryStep): void {
    this.#verifyPlace(step)
    if (step.seq === 0) this.#begin(step)
    this.#statements.verifyTurn(step)
    const isAgentSigned = this.#verifyAuthor(step)
    const chain = this.#linkChain(step)
    this.#verifyNew(step)
    this.#actors.verifyActor(step)
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
    this.#keys.begin(definition.envelopeKey.kid, step.kid)
    this.#types.begin(definition.types)
    this.#peers.begin({ ledger: step.ledger, origin: definition.origin, genesis: toHex(step.leaf) })
    this.#checkpoints.begin(definition.origin, parsePublicKey('EdDSA', fromBase64(definition.noteKey)))
  }

  /** Whether an agent has signed the entry; of somebody else's statement the entry behind it says who had it registered. */
  #verifyAuthor(step: EntryStep): boolean {
    if (step.kind === STATEMENT) return false
    this.#verifyMembership(step)
    const isAgentSigned = this.#agentKeys.verifySigner(step)
    if (!isAgentSigned) this.#keys.verifySigner(step.kid)
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

  /** Follows what the entry changes. */
  #follow(step: EntryStep, isAgentSigned: boolean): void {
    this.#records.notarize(step.recordIds, step.digestWords, step.seq)
    const { statement, received } = step
    if (!statement) return
    if (received) this.#peers.receive(step, received)
    const { kind, predicate, subjects } = statement
    const [{ name, sha256: digest }] = subjects
    switch (kind) {
      case 'ledger-created':
        break
      case 'server-key-rotated':
        this.#verifyAboutLedger(digest)
        this.#refuseAgentKey((predicate['newKey'] as EnvelopeKey).kid)
        this.#keys.rotate((predicate['newKey'] as EnvelopeKey).kid)
        break
      case 'ledger-restored':
        this.#verifyAboutLedger(digest)
        this.#verifyRestored(predicate)
        break
      case 'agent-registered':
        this.#actors.registerAgent(name, digest)
        break
      case 'agent-disabled':
        this.#actors.disableAgent(name, digest, step.atMs)
        break
      case 'agent-key-registered':
        this.#actors.verifyRegistered(name, digest)
        this.#refuseEnvelopeKey((predicate['newKey'] as EnvelopeKey).kid)
        this.#agentKeys.register(step, predicate)
        break
      case 'agent-key-revoked':
        this.#actors.verifyRegistered(name, digest)
        this.#agentKeys.revoke(predicate)
        break
      case 'key-created':
        this.#actors.createKey(name, digest, predicate, step)
        break
      case 'key-revoked':
        this.#actors.revokeKey(name, digest, step.atMs)
        break
      case 'type-registered':
        this.#types.register(name, digest, predicate['agentSigned'] === true)
        break
      case 'batch-notarized':
        this.#records.addBatch(name, step.seq)
        break
      case 'payload-erased':
        this.#erase(step, statement)
        break
      case 'record-created':
        this.#types.verifyDigest(predicate['type'] as string, predicate['typeDigest'] as string)
        this.#records.create(eventOf(step, statement), this.#types.isAgentSigned(predicate['type'] as string))
        this.#peers.share(step.seq, statement)
        break
      case 'record-shared':
        this.#records.verifyRecord(subjects[0])
        this.#peers.share(step.seq, statement)
        break
      case 'peer-added':
        this.#peers.add(step, statement)
        break
      case 'peer-suspended':
        this.#peers.suspend(subjects[0])
        break
      case 'peer-resumed':
        this.#peers.resume(subjects[0])
        break
      case 'peer-revoked':
        this.#peers.revoke(subjects[0], step.seq)
        break
      case 'step-offered':
        this.#peers.offer(step, statement)
        if (subjects[1]) this.#records.addCompletion(subjects[1], step.seq)
        break
      case 'registration-policy-set':
        this.#verifyAboutLedger(digest)
        this.#statements.setPolicy(step, statement)
        break
      case 'statement-registered':
        this.#statements.register(step, statement)
        this.#records.addStatement(name, step.seq)
        break
      case 'retention-set':
        this.#verifyAboutLedger(digest)
        this.#keeping.setRule(step.seq, predicate)
        break
      case 'hold-set':
        this.#verifyAboutLedger(digest)
        this.#keeping.setHold(step.seq, predicate)
        break
      case 'hold-lifted':
        this.#verifyAboutLedger(digest)
        this.#keeping.liftHold(predicate)
        break
      case 'subject-erased':
        this.#verifyAboutLedger(digest)
        this.#keeping.verifyErased(predicate)
        break
      case 'export-made':
        this.#verifyAboutLedger(digest)
        this.#verifyExported(predicate, step.seq)
        break
      case 'entry-received':
      case 'offer-refused':
      case 'peer-key-rotated':
        break
      default:
        this.#records.step(eventOf(step, statement), isAgentSigned)
    }
  }

  /** A key that signs for an agent never signs for the ledger, nor the other way: its kid says which of both it was. */
  #refuseAgentKey(kid: string): void {
    if (this.#agentKeys.has(kid)) throw new ProofError('key_not_current', `${kid} is an agent's key`)
  }

  #refuseEnvelopeKey(kid: string): void {
    if (this.#keys.all.has(kid))
      throw new ProofError('duplicate_subject', `${kid} has signed for the ledger before`)
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
  #verifyRestored(predicate: JsonObject): void {
    const found = predicate['found'] as { size: number; chain: string }
    if (found.size !== this.#size || found.chain !== toHex(this.#chain)) {
      throw new ProofError(
        'chain_broken',
        `restored from ${found.size} entries, but there are ${this.#size}, or their chain differs`,
      )
    }
  }

  /** An export of entries that were there. */
  #verifyExported(predicate: JsonObject, seq: number): void {
    const [from, to] = [predicate['from'] as number, predicate['to'] as number]
    if (from > to || to >= seq)
      throw new ProofError('subject_unknown', `entries ${from} to ${to} are not all before it`)
  }

  #erase(by: EntryStep, { subjects, predicate }: ParsedStatement): void {
    const [{ name, sha256 }] = subjects
    const seq = predicate['seq'] as number
    this.#keeping.erase(by.seq, by.actor, name, predicate)
    const wasMissing = this.#erasures.explain(by.seq, seq, name, sha256)
    if (!wasMissing) this.#records.verifyDigested(name, sha256, seq)
    this.#options.onErasure?.(by.atMs, !wasMissing)
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
