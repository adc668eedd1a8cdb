import { fromHex } from '../bytes.ts'
import { IdTable, wordAt } from '../entry/id-table.ts'
import { signedDocuments } from '../entry/verify-entry.ts'
import { ProofError } from '../error.ts'
import { ID_BYTES, parseIdBytes } from '../ids.ts'
import type { Subject } from '../statement/kinds.ts'
import { beginGated, type GatedRecord, isFinal, type RecordEvent, stepGated } from './gated-record.ts'

/**
 * Called for each event of a gated record. `record`: the record's state after the event. The callback must neither
 * store nor change `record`.
 */
export type OnGated = (seq: number, record: Readonly<GatedRecord>) => void

/**
 * Every record of a ledger, rebuilt from its statements.
 *
 * A terminal record takes 24 bytes in a table: its id, the seq of its first entry, and one word of its payload's
 * digest. Only a gated record that can still change its state is an object.
 */
export class LedgerRecords {
  readonly #ids: IdTable
  /**
   * Ids of completions, batches and registered statements. They are not in `#ids`, because such an id may have the same
   * uuid as a record. For example, a batch that an agent signs has the uuid of its first record.
   */
  readonly #others: IdTable
  /**
   * Documents that contain a reason or compared values. The key is made from the seq of the entry and the id at the
   * start of the document's name.
   */
  readonly #parts: IdTable
  /** All gated records, also terminal records. The tag is the principal's index in `#principals`. */
  readonly #shareable: IdTable
  readonly #principals = new Map<string, number>()
  readonly #gated = new Map<string, GatedRecord>()
  readonly #onGated: OnGated | undefined
  #count = 0

  constructor(seed: number, onGated?: OnGated) {
    this.#ids = new IdTable(seed)
    this.#others = new IdTable(seed)
    this.#parts = new IdTable(seed)
    this.#shareable = new IdTable(seed)
    this.#onGated = onGated
  }

  get count(): number {
    return this.#count
  }

  /**
   * Adds notarized records. They are terminal from the start. For each record, `ids` contains 16 bytes and
   * `digestWords` contains the first word of the payload's digest.
   */
  notarize(ids: Uint8Array, digestWords: Uint32Array, seq: number): void {
    for (let i = 0; i < digestWords.length; i++) add(this.#ids, ids, ID_BYTES * i, seq, digestWords[i]!)
    this.#count += digestWords.length
  }

  /**
   * Adds a gated record by its first event. `agentSigned`: true if the record's type requires that agents sign for
   * themselves.
   */
  create(event: RecordEvent, agentSigned = false): void {
    const [subject] = event.statement.subjects
    add(this.#ids, parseIdBytes('rec', subject.name), 0, event.seq, digestWord(subject.sha256))
    this.#count++
    const record = beginGated(event)
    record.agentSigned = agentSigned
    const principalIndex = this.#principals.get(record.principal) ?? this.#principals.size
    this.#principals.set(record.principal, principalIndex)
    this.#shareable.add(parseIdBytes('rec', subject.name), 0, event.seq, principalIndex)
    this.#gated.set(subject.name, record)
    this.#onGated?.(event.seq, record)
  }

  /** Applies a later event of a gated record. `isAgentSigned`: true if the actor itself signed the event. */
  step(event: RecordEvent, isAgentSigned = false): void {
    const [subject, completion] = event.statement.subjects
    const record = this.#gated.get(subject.name)
    if (!record) {
      const known = this.#ids.get(parseIdBytes('rec', subject.name))
      if (known)
        throw new ProofError(
          'transition_refused',
          `${subject.name} is in a terminal state, so no further step is possible`,
        )
      throw new ProofError('subject_unknown', `${subject.name} was not created in this ledger`)
    }
    const { actor } = event.statement.predicate
    if (record.agentSigned && !isAgentSigned && actor !== 'system')
      throw new ProofError('agent_signature_missing', `agents must sign their own steps of ${subject.name}`)
    stepGated(record, event)
    if (event.statement.kind === 'completion-submitted') this.addCompletion(completion!, event.seq)
    else
      for (const { name, sha256 } of signedDocuments(event.statement))
        this.#parts.add(partId(name, event.seq), 0, event.seq, digestWord(sha256))
    this.#onGated?.(event.seq, record)
    if (isFinal(record)) this.#gated.delete(subject.name)
  }

  /**
   * Throws if the entry at `seq` does not digest this document. Compares only 32 bits of the digest. If the document is
   * missing in the export, erasures.ts compares the full digest.
   */
  verifyDigested(name: string, sha256: string, seq: number): void {
    const known = this.#findDocument(name, seq)
    if (known?.seq === seq && known.tag === digestWord(sha256)) return
    throw new ProofError(
      'erasure_of_nothing',
      `entry ${seq} has no ${name} with this digest, so nothing can be erased`,
    )
  }

  #findDocument(name: string, seq: number): { readonly seq: number; readonly tag: number } | null {
    if (name.includes('/')) return this.#parts.get(partId(name, seq))
    return name.startsWith('rec')
      ? this.#ids.get(parseIdBytes('rec', name))
      : this.#others.get(parseIdBytes('cmp', name))
  }

  addBatch(name: string, seq: number): void {
    add(this.#others, parseIdBytes('bat', name), 0, seq, 0)
  }

  addStatement(name: string, seq: number): void {
    add(this.#others, parseIdBytes('stm', name), 0, seq, 0)
  }

  /** Adds a completion that was submitted in this ledger or offered to another ledger. Throws `duplicate_subject`. */
  addCompletion({ name, sha256 }: Subject, seq: number): void {
    add(this.#others, parseIdBytes('cmp', name), 0, seq, digestWord(sha256))
  }

  has(name: string): boolean {
    return this.#ids.get(parseIdBytes('rec', name)) !== null
  }

  /**
   * Throws if the record is not a gated record of this ledger, if it has another payload, or if `party` is not its
   * principal. For a terminal record only 32 bits of the payload's digest are compared.
   */
  verifyShared({ name, sha256 }: Subject, party: string): void {
    const id = parseIdBytes('rec', name)
    const shareable = this.#shareable.get(id)
    const digest = this.#gated.get(name)?.payloadDigest ?? sha256
    if (!shareable || this.#ids.get(id)?.tag !== digestWord(sha256) || digest !== sha256)
      throw new ProofError(
        'subject_unknown',
        `no gated record ${name} was created in this ledger with this payload`,
      )
    if (this.#principals.get(party) !== shareable.tag)
      throw new ProofError(
        'actor_not_entitled',
        `only the principal of ${name} can share the record, not ${party}`,
      )
  }
}

/** Adds the 16 bytes of `ids` at `offset`. Throws `duplicate_subject`. */
function add(table: IdTable, ids: Uint8Array, offset: number, seq: number, tag: number): void {
  if (table.add(ids, offset, seq, tag)) return
  throw new ProofError(
    'duplicate_subject',
    `an id is used twice, first at seq ${table.get(ids, offset)!.seq}`,
  )
}

/**
 * Returns the table key of a document. `name`: `<id>/<part>`. An id has at least 62 random bits. So two of these keys
 * practically never collide in an honest ledger.
 */
function partId(name: string, seq: number): Uint8Array {
  const [id] = name.split('/')
  const bytes = parseIdBytes(id!.startsWith('rec') ? 'rec' : 'cmp', id!)
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  view.setUint32(12, view.getUint32(12) ^ seq)
  return bytes
}

function digestWord(sha256: string): number {
  return wordAt(fromHex(sha256.slice(0, 8)), 0)
}
