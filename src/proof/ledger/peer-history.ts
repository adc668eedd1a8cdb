import { fromBase64, fromHex, utf8Encode } from '../bytes.ts'
import type { PublicKey, Sha256, SignatureAlgorithm, VerifySignature } from '../crypto.ts'
import { IdTable, wordAt } from '../entry/id-table.ts'
import { signedDocuments } from '../entry/verify-entry.ts'
import type { ReceivedEntry } from '../entry/verify-received.ts'
import { verifySigner } from '../envelope/cose.ts'
import { ProofError } from '../error.ts'
import { ID_BYTES, parseIdBytes } from '../ids.ts'
import { parsePublicKey } from '../keys.ts'
import type { Subject } from '../statement/kinds.ts'
import type { ParsedStatement } from '../statement/statement.ts'
import { beginGated, type GatedRecord, isFinal, type RecordEvent, stepGated } from './gated-record.ts'
import { KeyRing } from './key-ring.ts'

/** A key from a statement. Its kid was verified to be the key's thumbprint. */
export type NamedKey = { readonly kid: string; readonly alg: SignatureAlgorithm; readonly spki: string }

/**
 * A key of the other ledger. It signs entries of the other chain after seq `since`, up to and including seq `until`.
 * `until` is null if the key is current.
 */
export type PeerKey = NamedKey & {
  readonly key: PublicKey
  readonly since: number
  readonly until: number | null
}

const PEER = 'the peer'

/**
 * Received entries of one peering. They determine the other ledger's keys, the received seqs and digests, and the state
 * of the shared records. Takes 24 bytes for each entry and each record, in two tables, and one object for each record
 * that can still change.
 */
export class PeerHistory {
  readonly #sha256: Sha256
  readonly #ring = new KeyRing<NamedKey & { readonly key: PublicKey }>('peer')
  /**
   * Received entries, by their seq in the other chain. The table stores a tag for each entry, made from the name and
   * digest of the entry's document. The tag is 0 if the entry has no document.
   */
  readonly #entries: IdTable
  /** Records of the other ledger. The table stores the first word of each payload's digest as the record's tag. */
  readonly #ids: IdTable
  readonly #gated = new Map<string, GatedRecord>()
  /** Records that were shared after their creation, and whose `record-created` was not received yet. */
  readonly #shared = new Set<string>()

  constructor(sha256: Sha256, first: NamedKey, idSeed: number) {
    this.#sha256 = sha256
    this.#give(first, null, -1)
    this.#entries = new IdTable(idSeed)
    this.#ids = new IdTable(idSeed)
  }

  get keys(): readonly PeerKey[] {
    return this.#ring.keys.map(({ key, since, until }) => ({ ...key, since, until }))
  }

  /**
   * Verifies the signature of a received entry. `seq`: position of the entry in its own chain. Takes 73 µs with native
   * cryptography. Throws `key_not_current`, or the codes of `verifySigner` (envelope/cose.ts).
   */
  verifySigner(seq: number, { envelope, kid }: ReceivedEntry, verifySignature: VerifySignature): void {
    const {
      kid: current,
      key: { key },
    } = this.#ring.at(seq)
    if (kid !== current)
      throw new ProofError(
        'key_not_current',
        `the peer’s entry ${seq} is signed by ${kid}, but the peer’s key for this entry is ${current}`,
      )
    verifySigner(envelope, key, verifySignature)
  }

  /**
   * Adds a received entry. Returns false if an entry with this seq was received before. `at`: seq of this ledger's
   * entry that records the reception.
   */
  addEntry(seq: number, statement: ParsedStatement, at: number): boolean {
    const [document] = signedDocuments(statement)
    return this.#entries.add(seqId(seq), 0, at, document ? this.#tagOf(document) : 0)
  }

  /**
   * Adds the other ledger's next key. `seq`: position of the entry that names the next key. This entry is the last one
   * that the previous key signs. A replaced key never becomes current again.
   */
  rotate(next: NamedKey, seq: number): void {
    // The entry at `seq` names the new key. The key that was valid at `seq` signed this entry, and so endorses the new
    // key if it is still current.
    this.#give(next, this.#ring.at(seq).kid, seq)
  }

  #give({ kid, alg, spki }: NamedKey, endorsedBy: string | null, seq: number): void {
    this.#ring.verifyNew({ kid, holder: PEER, endorsedBy })
    this.#ring.introduce(kid, PEER, { kid, alg, spki, key: parsePublicKey(alg, fromBase64(spki)) }, seq)
  }

  /**
   * Allows entries of this record to be received. verifyReceived has checked that the sharing entry names this
   * peering.
   */
  share(record: string): void {
    this.#shared.add(record)
  }

  /** Adds a record by its first event. `at`: seq of this ledger's entry that received the event. */
  create(event: RecordEvent, peer: string, at: number): GatedRecord {
    const [{ name, sha256 }] = event.statement.subjects
    const share = (event.statement.predicate['share'] ?? []) as readonly { readonly peer: string }[]
    if (!this.#shared.delete(name) && !share.some((one) => one.peer === peer))
      throw new ProofError('not_shared', `${name} is not shared with this ledger through the peering ${peer}`)
    if (!this.#ids.add(parseIdBytes('rec', name), 0, at, digestWord(sha256)))
      throw new ProofError('received_twice', `the creation of ${name} was already received`)
    const record = beginGated(event)
    this.#gated.set(name, record)
    return record
  }

  step(event: RecordEvent): GatedRecord {
    const [{ name }] = event.statement.subjects
    const record = this.#gated.get(name)
    if (!record) {
      const known = this.#ids.get(parseIdBytes('rec', name))
      if (known)
        throw new ProofError(
          'transition_refused',
          `${name} is in a terminal state, so no further step is possible`,
        )
      throw new ProofError('subject_unknown', `a step of ${name} was received before the creation of ${name}`)
    }
    stepGated(record, event)
    if (isFinal(record)) this.#gated.delete(name)
    return record
  }

  /**
   * Throws if the record was not received, or if it was received with another payload. Does not check the record's
   * state, because the state known here may be outdated.
   */
  verifyRecord(name: string, sha256: string): void {
    if (this.#ids.get(parseIdBytes('rec', name))?.tag !== digestWord(sha256))
      throw new ProofError('subject_unknown', `${name} was not received with this payload`)
  }

  /** Throws if no received entry at `seq` digests this document. Compares 32 bits of the digest. */
  verifyDigested(seq: number, { name, sha256 }: Subject): void {
    if (this.#entries.get(seqId(seq))?.tag !== this.#tagOf({ name, sha256 }))
      throw new ProofError(
        'erasure_of_nothing',
        `no ${name} with this digest was received from seq ${seq} of the other chain`,
      )
  }

  #tagOf({ name, sha256 }: Subject): number {
    return wordAt(this.#sha256(utf8Encode(`${name} ${sha256}`)), 0)
  }
}

function digestWord(sha256: string): number {
  return wordAt(fromHex(sha256.slice(0, 8)), 0)
}

function seqId(seq: number): Uint8Array {
  const id = new Uint8Array(ID_BYTES)
  new DataView(id.buffer).setBigUint64(0, BigInt(seq))
  return id
}
