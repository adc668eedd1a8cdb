import { fromHex } from '../bytes.ts'
import { IdTable, wordAt } from '../entry/id-table.ts'
import { ProofError } from '../error.ts'
import { ID_BYTES, parseIdBytes } from '../ids.ts'
import type { Subject } from '../statement/kinds.ts'
import { beginGated, type GatedRecord, isFinal, type RecordEvent, stepGated } from './gated-record.ts'

/** Called for each event of a gated record, with the record as it stands then: not to be kept, nor changed. */
export type OnGated = (seq: number, record: Readonly<GatedRecord>) => void

/**
 * Every record of a ledger, rebuilt from its statements.
 *
 * Terminal records are 24 bytes in a table: the id, the seq where it began and a piece of its payload's digest.
 * Only a gated record that can still move is an object.
 */
export class LedgerRecords {
  readonly #ids: IdTable
  /** Completions, batches and registered statements. Apart, because another ledger chooses the ids of its records, and may take one of these. */
  readonly #others: IdTable
  readonly #gated = new Map<string, GatedRecord>()
  readonly #onGated: OnGated | undefined
  #count = 0

  constructor(seed: number, onGated?: OnGated) {
    this.#ids = new IdTable(seed)
    this.#others = new IdTable(seed)
    this.#onGated = onGated
  }

  get count(): number {
    return this.#count
  }

  /** Records that are terminal at once: 16 bytes of `ids` and the first word of the payload's digest for each. */
  notarize(ids: Uint8Array, digestWords: Uint32Array, seq: number): void {
    for (let i = 0; i < digestWords.length; i++) add(this.#ids, ids, ID_BYTES * i, seq, digestWords[i]!)
    this.#count += digestWords.length
  }

  /** The first event of a gated record. `agentSigned`: its type has agents sign for themselves. */
  create(event: RecordEvent, agentSigned = false): void {
    const [subject] = event.statement.subjects
    add(this.#ids, parseIdBytes('rec', subject.name), 0, event.seq, digestWord(subject.sha256))
    this.#count++
    const record = beginGated(event)
    record.agentSigned = agentSigned
    this.#gated.set(subject.name, record)
    this.#onGated?.(event.seq, record)
  }

  /** A later event of a gated record. `isAgentSigned`: its actor has signed it. */
  step(event: RecordEvent, isAgentSigned = false): void {
    const [subject, completion] = event.statement.subjects
    const record = this.#gated.get(subject.name)
    if (!record) {
      const known = this.#ids.get(parseIdBytes('rec', subject.name))
      if (known) throw new ProofError('transition_refused', `${subject.name} is in a terminal state`)
      throw new ProofError('subject_unknown', `${subject.name} was not created in this ledger`)
    }
    const { actor } = event.statement.predicate
    if (record.agentSigned && !isAgentSigned && actor !== 'system')
      throw new ProofError('agent_signature_missing', `agents sign their steps of ${subject.name} themselves`)
    stepGated(record, event)
    if (event.statement.kind === 'completion-submitted') this.addCompletion(completion!, event.seq)
    this.#onGated?.(event.seq, record)
    if (isFinal(record)) this.#gated.delete(subject.name)
  }

  /**
   * Throws unless the entry at `seq` digests this document. As far as it can be known here: 32 bits of the digest of
   * a payload or evidence, and of values and reasons (`<id>/reason`) only whose they are. A document that is gone is
   * compared whole, with its own line (ledger-erasures.ts).
   */
  verifyDigested(name: string, sha256: string, seq: number): void {
    const [id, part] = name.split('/')
    const known = id!.startsWith('rec')
      ? this.#ids.get(parseIdBytes('rec', id!))
      : this.#others.get(parseIdBytes('cmp', id!))
    const isKnown =
      known && (part === undefined ? known.seq === seq && known.tag === digestWord(sha256) : known.seq <= seq)
    if (!isKnown) throw new ProofError('erasure_of_nothing', `no ${name} with this digest at seq ${seq}`)
  }

  /** Throws `duplicate_subject`. */
  addBatch(name: string, seq: number): void {
    add(this.#others, parseIdBytes('bat', name), 0, seq, 0)
  }

  /** Throws `duplicate_subject`. */
  addStatement(name: string, seq: number): void {
    add(this.#others, parseIdBytes('stm', name), 0, seq, 0)
  }

  /** Made, or offered to another ledger. Throws `duplicate_subject`. */
  addCompletion({ name, sha256 }: Subject, seq: number): void {
    add(this.#others, parseIdBytes('cmp', name), 0, seq, digestWord(sha256))
  }

  /** Whether a record of the ledger has this name. */
  has(name: string): boolean {
    return this.#ids.get(parseIdBytes('rec', name)) !== null
  }

  /**
   * Throws unless the record was made in this ledger with this payload. A terminal record is compared by 32 bits of its
   * digest.
   */
  verifyRecord({ name, sha256 }: Subject): void {
    const known = this.#ids.get(parseIdBytes('rec', name))
    const digest = this.#gated.get(name)?.payloadDigest ?? sha256
    if (known?.tag !== digestWord(sha256) || digest !== sha256)
      throw new ProofError('subject_unknown', `${name} was not created here, or with another payload`)
  }
}

/** The 16 bytes of `ids` at `offset`. Throws `duplicate_subject`. */
function add(table: IdTable, ids: Uint8Array, offset: number, seq: number, tag: number): void {
  if (table.add(ids, offset, seq, tag)) return
  throw new ProofError(
    'duplicate_subject',
    `an id is used twice, first at seq ${table.get(ids, offset)!.seq}`,
  )
}

function digestWord(sha256: string): number {
  return wordAt(fromHex(sha256.slice(0, 8)), 0)
}
