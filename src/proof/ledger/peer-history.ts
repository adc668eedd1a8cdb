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

/** As a statement names it; its kid was found to be its thumbprint. */
export type NamedKey = { readonly kid: string; readonly alg: SignatureAlgorithm; readonly spki: string }

/** `since`, `until`: signs what stands behind the one seq of the other chain, up to the other; null: it is current. */
export type PeerKey = NamedKey & {
  readonly key: PublicKey
  readonly since: number
  readonly until: number | null
}

const PEER = 'the peer'

/**
 * Received entries of one peering: the other ledger's keys, which of its entries, and its records as they stand by those.
 *
 * Takes 24 bytes for each entry and each record, in two tables, and an object for each record that can still move.
 */
export class PeerHistory {
  readonly #sha256: Sha256
  readonly #ring = new KeyRing<NamedKey & { readonly key: PublicKey }>('peer')
  /** By seq of the other chain; the tag is of the name and the digest of the document that the entry digests, or 0. */
  readonly #entries: IdTable
  /** The other ledger's records; the tag is the first word of the payload's digest. */
  readonly #ids: IdTable
  readonly #gated = new Map<string, GatedRecord>()
  /** Records that were shared after their creation, which has not come yet. */
  readonly #shared = new Set<string>()

  constructor(sha256: Sha256, first: NamedKey, idSeed: number) {
    this.#sha256 = sha256
    this.#give(first, null, -1)
    this.#entries = new IdTable(idSeed)
    this.#ids = new IdTable(idSeed)
  }

  /** The other ledger's keys, oldest first. */
  get keys(): readonly PeerKey[] {
    return this.#ring.keys.map(({ key, since, until }) => ({ ...key, since, until }))
  }

  /** Throws `key_not_current`, or as verifySigner: 73 µs each, natively. `seq`: that of the entry in its own chain. */
  verifySigner(seq: number, { envelope, kid }: ReceivedEntry, verifySignature: VerifySignature): void {
    const {
      kid: current,
      key: { key },
    } = this.#ring.at(seq)
    if (kid !== current)
      throw new ProofError('key_not_current', `signed by ${kid}, but ${current} signs entry ${seq} there`)
    verifySigner(envelope, key, verifySignature)
  }

  /** False: an entry of this seq came before. `at`: the seq of ours. */
  addEntry(seq: number, statement: ParsedStatement, at: number): boolean {
    const [document] = signedDocuments(statement)
    return this.#entries.add(seqId(seq), 0, at, document ? this.#tagOf(document) : 0)
  }

  /** `seq`: that of the entry that names the key, the last one under the key before it. A key does not come back. */
  rotate(next: NamedKey, seq: number): void {
    // The entry was found to be signed by the key of that seq, which endorses this one if it is current.
    this.#give(next, this.#ring.at(seq).kid, seq)
  }

  #give({ kid, alg, spki }: NamedKey, endorsedBy: string | null, seq: number): void {
    this.#ring.verifyNew({ kid, holder: PEER, endorsedBy })
    this.#ring.give(kid, PEER, { kid, alg, spki, key: parsePublicKey(alg, fromBase64(spki)) }, seq)
  }

  /** The record's entries may come now: the entry that shares it names this peering, as verifyReceived has found. */
  share(record: string): void {
    this.#shared.add(record)
  }

  /** The first event of a record. `at`: the seq of ours that received it. */
  create(event: RecordEvent, peer: string, at: number): GatedRecord {
    const [{ name, sha256 }] = event.statement.subjects
    const share = (event.statement.predicate['share'] ?? []) as readonly { readonly peer: string }[]
    if (!this.#shared.delete(name) && !share.some((one) => one.peer === peer))
      throw new ProofError('not_shared', `${name} is not shared with ${peer}`)
    if (!this.#ids.add(parseIdBytes('rec', name), 0, at, digestWord(sha256)))
      throw new ProofError('received_twice', `the creation of ${name}`)
    const record = beginGated(event)
    this.#gated.set(name, record)
    return record
  }

  /** A later event of a record. */
  step(event: RecordEvent): GatedRecord {
    const [{ name }] = event.statement.subjects
    const record = this.#gated.get(name)
    if (!record) {
      const known = this.#ids.get(parseIdBytes('rec', name))
      if (known) throw new ProofError('transition_refused', `${name} is in a terminal state`)
      throw new ProofError('subject_unknown', `the creation of ${name} did not come`)
    }
    stepGated(record, event)
    if (isFinal(record)) this.#gated.delete(name)
    return record
  }

  /** Throws unless the record came, with this payload. It may have moved since the caller has looked. */
  verifyRecord(name: string, sha256: string): void {
    if (this.#ids.get(parseIdBytes('rec', name))?.tag !== digestWord(sha256))
      throw new ProofError('subject_unknown', `${name} did not come, or with another payload`)
  }

  /** Throws unless the entry at `seq` came and digests this, as far as 32 bits tell. */
  verifyDigested(seq: number, { name, sha256 }: Subject): void {
    if (this.#entries.get(seqId(seq))?.tag !== this.#tagOf({ name, sha256 }))
      throw new ProofError(
        'erasure_of_nothing',
        `no ${name} with this digest came at seq ${seq} of the other chain`,
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
