import type { SignedLine } from '../../proof/entry/verify-entry.ts'
import type { Uuid } from '../../proof/ids.ts'
import { findCreations, type RecordKey } from '../chain/signed-entries.ts'
import type { Db } from '../connect/client.ts'
import { Coalescer } from '../connect/coalescer.ts'
import { type AgentKey, type AgentState, findAgentStates } from '../ledgers/agents.ts'
import {
  BATCH_ITEMS_MAX,
  CONTACT_QUERIES_MAX,
  CONTACTS_PER_QUERY_MAX,
  CONTACTS_WAITING_MAX,
  LOOKUP_QUERIES_MAX,
  LOOKUPS_PER_QUERY_MAX,
} from '../limits.ts'
import { type ContactKey, findContacts, type PeerContact } from '../peers/peers.ts'
import { findRemoteClaims, type RemoteClaimKey, type RemoteRecordRow } from '../peers/remote-records.ts'
import { type FoundRecord, findEachRecord, type RecordRowRead, readReleased } from './read-records.ts'
import { listNewestSteps, type RecordVersion, type StepRow } from './read-steps.ts'

/**
 * Look-ups by id of records, steps, remote records, agents and peerings.
 *
 * Most requests begin with such look-ups, so look-ups of several requests share a query.
 */
export class Lookups {
  readonly #db: Db
  readonly #records: Coalescer<RecordKey, FoundRecord>
  readonly #steps: Coalescer<RecordVersion, StepRow[]>
  readonly #creations: Coalescer<RecordKey, SignedLine | null>
  readonly #remoteClaims: Coalescer<RemoteClaimKey, RemoteRecordRow | null>
  readonly #agents: Coalescer<AgentKey, AgentState>
  readonly #contacts: Coalescer<ContactKey, PeerContact | null>

  constructor(pool: Db) {
    this.#db = pool
    const limits = { keysMax: LOOKUPS_PER_QUERY_MAX, queriesMax: LOOKUP_QUERIES_MAX }
    this.#records = new Coalescer((keys) => findEachRecord(pool, keys), limits)
    this.#steps = new Coalescer((keys) => listNewestSteps(pool, keys), limits)
    this.#creations = new Coalescer((keys) => findCreations(pool, keys), limits)
    this.#remoteClaims = new Coalescer((keys) => findRemoteClaims(pool, keys), limits)
    // The limit for agents is larger, because a batch may name one agent for each of its items.
    this.#agents = new Coalescer((keys) => findAgentStates(pool, keys), {
      ...limits,
      keysMax: BATCH_ITEMS_MAX,
    })
    this.#contacts = new Coalescer((keys) => findContacts(pool, keys), {
      keysMax: CONTACTS_PER_QUERY_MAX,
      queriesMax: CONTACT_QUERIES_MAX,
      waitingMax: CONTACTS_WAITING_MAX,
    })
  }

  get figures() {
    return {
      records: this.#records.figures,
      steps: this.#steps.figures,
      creations: this.#creations.figures,
      remoteClaims: this.#remoteClaims.figures,
      agents: this.#agents.figures,
      contacts: this.#contacts.figures,
    }
  }

  /**
   * Returns the record, or null if the record does not exist. Throws ProofError `chunk_syntax` and ApiError
   * `archive_unavailable`.
   */
  async findRecord(ledgerId: Uuid, recordId: Uuid): Promise<RecordRowRead | null> {
    const found = await this.#records.find({ ledgerId, recordId })
    const [row] = await readReleased(this.#db, [found])
    return row ?? null
  }

  /** Finds a peering like findContacts. Throws ApiError `overloaded` if too many look-ups are waiting. */
  findContact(key: ContactKey): Promise<PeerContact | null> {
    return this.#contacts.find(key)
  }

  findAgent(ledgerId: Uuid, agentId: Uuid): Promise<AgentState> {
    return this.#agents.find({ ledgerId, agentId })
  }

  /** Returns the entry that created a gated record, or null if there is no such record. */
  findCreation(ledgerId: Uuid, { recordId }: Pick<RecordRowRead, 'recordId'>): Promise<SignedLine | null> {
    return this.#creations.find({ ledgerId, recordId })
  }

  findRemoteClaim(key: RemoteClaimKey): Promise<RemoteRecordRow | null> {
    return this.#remoteClaims.find(key)
  }

  /** Returns the newest step of each kind up to this version of the record. */
  listSteps(ledgerId: Uuid, { recordId, version }: Pick<RecordRowRead, 'recordId' | 'version'>) {
    return this.#steps.find({ ledgerId, recordId, version })
  }
}
