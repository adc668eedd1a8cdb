import { BASE_URL_DEFAULT, environment } from './environment.ts'
import type * as api from './generated/api.ts'
import { operations } from './generated/operations.ts'
import { type CallOptions, Transport, type TransportOptions } from './http/transport.ts'
import { Notarizer } from './notarizer/notarizer.ts'
import type { NotarizerOptions } from './notarizer/options.ts'
import { Agents } from './resources/agents.ts'
import { Audits } from './resources/audits.ts'
import { Batches } from './resources/batches.ts'
import { Bundles } from './resources/bundles.ts'
import { Checkpoints } from './resources/checkpoints.ts'
import { Entries, Exports } from './resources/entries.ts'
import { Events } from './resources/events.ts'
import { Health } from './resources/health.ts'
import { Keys } from './resources/keys.ts'
import { OwnLedger } from './resources/ledgers.ts'
import { Peers } from './resources/peers.ts'
import { Records } from './resources/records.ts'
import { Holds, Retention } from './resources/retention.ts'
import { Statements } from './resources/statements.ts'
import { Subjects } from './resources/subjects.ts'
import { RecordTypes } from './resources/types.ts'
import { Webhooks } from './resources/webhooks.ts'
import type { AnyTypes, TypeMap } from './typed.ts'

export type TallystickOptions = Partial<TransportOptions>

/**
 * Client for one ledger, with the API key of one of its agents.
 *
 *     const tallystick = new Tallystick({ baseUrl: 'http://localhost:3000', apiKey: 'tly_…' })
 *     await tallystick.records.notarize({ payload: { tool: 'search', query: 'price of copper' } })
 *
 * Missing options come from TALLYSTICK_URL and TALLYSTICK_API_KEY. Throws UsageError if there is no key.
 */
export class Tallystick<Types extends TypeMap = AnyTypes> {
  readonly records: Records<Types>
  readonly batches: Batches<Types>
  readonly types: RecordTypes
  readonly agents: Agents
  readonly keys: Keys
  readonly ledger: OwnLedger
  readonly entries: Entries
  readonly exports: Exports
  readonly bundles: Bundles
  readonly events: Events
  readonly checkpoints: Checkpoints
  readonly audits: Audits
  readonly webhooks: Webhooks
  readonly peers: Peers
  readonly statements: Statements
  readonly retention: Retention
  readonly holds: Holds
  readonly subjects: Subjects
  readonly health: Health
  readonly #http: Transport

  constructor(options: TallystickOptions = {}) {
    this.#http = new Transport({
      ...options,
      baseUrl: options.baseUrl ?? environment.baseUrl() ?? BASE_URL_DEFAULT,
      apiKey: options.apiKey ?? environment.apiKey() ?? '',
    })
    this.records = new Records(this.#http)
    this.batches = new Batches(this.#http)
    this.types = new RecordTypes(this.#http)
    this.agents = new Agents(this.#http)
    this.keys = new Keys(this.#http)
    this.ledger = new OwnLedger(this.#http)
    this.entries = new Entries(this.#http)
    this.exports = new Exports(this.#http)
    this.events = new Events(this.#http)
    this.checkpoints = new Checkpoints(this.#http)
    this.audits = new Audits(this.#http)
    this.webhooks = new Webhooks(this.#http)
    this.peers = new Peers(this.#http)
    this.statements = new Statements(this.#http)
    this.retention = new Retention(this.#http)
    this.holds = new Holds(this.#http)
    this.subjects = new Subjects(this.#http)
    this.bundles = new Bundles(new Records(this.#http), this.entries, this.agents, this.statements)
    this.health = new Health(this.#http)
  }

  /**
   * Returns the keys that sign envelopes: `GET /.well-known/tallystick-keys.json`. They are only as trustworthy as
   * the connection.
   */
  keyDocument(options?: CallOptions): Promise<api.GetWellKnownTallystickKeysJsonAnswer> {
    return this.#http.json(operations.getWellKnownTallystickKeysJson, { options })
  }

  /** Returns a notarizer, which records in batches without waiting for the server. */
  notarizer(options?: NotarizerOptions): Notarizer<Types> {
    return new Notarizer(this.#http, options)
  }
}
