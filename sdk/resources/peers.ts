import { TallystickError } from '../errors.ts'
import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import { wrongServer } from '../http/answers.ts'
import type { Listing } from '../http/listing.ts'
import { sleep } from '../http/retries.ts'
import type { CallOptions, Transport, WriteOptions } from '../http/transport.ts'

export type PeersQuery = Omit<api.GetPeersQuery, 'cursor'>
/** A peering with the invitation to it, which is answered once: its holder can become the peer. */
export type PeerInvitation = api.NewPeer & { readonly invitation: string }
export type PeerChange = api.PostPeersByIdSuspendBody

const POLL_MS_MIN = 50
const POLL_MS_MAX = 1_000

/**
 * Ledgers of other servers that the ledger shares records with. To share one: `share` of `records.create`, or `records.share`.
 *
 * `invite` and `accept` take no idempotency key, and are not repeated: where an answer is lost, look at `list`.
 */
export class Peers {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /** `POST /v1/peers`: an invitation for the other side's administrator, by a way that both trust. `name`: theirs, as it is called here. */
  async invite(request: { readonly name: string }, options?: CallOptions): Promise<PeerInvitation> {
    const { name } = request
    const made = await this.#http.json<api.NewPeer>(operations.postPeers, { body: { name }, options })
    if (typeof made.invitation !== 'string') throw wrongServer('no invitation was answered')
    return made as PeerInvitation
  }

  /** `POST /v1/peers` with their invitation: the worker carries it out, and `state` says when it has. */
  accept(
    request: { readonly name: string; readonly invitation: string },
    options?: CallOptions,
  ): Promise<api.Peer> {
    return this.#http.json(operations.postPeers, { body: request, options })
  }

  /** `GET /v1/peers`: in the order in which they were invited. */
  list(query: PeersQuery = {}, options?: CallOptions): Listing<api.Peer> {
    return this.#http.list(operations.getPeers, { query, options })
  }

  /** `GET /v1/peers/{id}`: `drain` says how far it has heard, and how it answers. */
  get(id: string, options?: CallOptions): Promise<api.Peer> {
    return this.#http.json(operations.getPeersById, { params: { id }, options })
  }

  /** `POST /v1/peers/{id}/suspend`: nothing is sent, and nothing taken, until it is resumed. */
  suspend(id: string, request: PeerChange = {}, options?: WriteOptions): Promise<api.Peer> {
    return this.#http.json(operations.postPeersByIdSuspend, { params: { id }, body: request, options })
  }

  /** `POST /v1/peers/{id}/resume`. */
  resume(id: string, request: PeerChange = {}, options?: WriteOptions): Promise<api.Peer> {
    return this.#http.json(operations.postPeersByIdResume, { params: { id }, body: request, options })
  }

  /** `POST /v1/peers/{id}/revoke`: for good; the other side is told. */
  revoke(id: string, request: PeerChange = {}, options?: WriteOptions): Promise<api.Peer> {
    return this.#http.json(operations.postPeersByIdRevoke, { params: { id }, body: request, options })
  }

  /**
   * `PUT /v1/peers/{id}/budget`: the bytes that this side stores for it in 24 hours; null: the default of every peer.
   */
  setBudget(
    id: string,
    budget: api.PutPeersByIdBudgetBody['budget'],
    options?: CallOptions,
  ): Promise<api.Peer> {
    return this.#http.json(operations.putPeersByIdBudget, { params: { id }, body: { budget }, options })
  }

  /** `GET /v1/peers/{id}/records`: records shared with it, both ways. */
  records(
    id: string,
    query: Omit<api.GetPeersByIdRecordsQuery, 'cursor'> = {},
    options?: CallOptions,
  ): Listing<api.SharedRecord> {
    return this.#http.list(operations.getPeersByIdRecords, { params: { id }, query, options })
  }

  /** `GET /v1/peers/{id}/records/{record}`: with the definition of its type, where that came along. */
  record(id: string, record: string, options?: CallOptions): Promise<api.SharedRecordWithType> {
    return this.#http.json(operations.getPeersByIdRecordsByRecord, { params: { id, record }, options })
  }

  /**
   * `GET /v1/peers/{id}/dead-letters`: entries that the other side refused for good. Later entries of those records
   * wait.
   */
  deadLetters(
    id: string,
    query: Omit<api.GetPeersByIdDeadLettersQuery, 'cursor'> = {},
    options?: CallOptions,
  ): Listing<api.PeerDeadLetter> {
    return this.#http.list(operations.getPeersByIdDeadLetters, { params: { id }, query, options })
  }

  /** `POST /v1/peers/{id}/replay`: sends dead letters again, all or those of `seqs`, and what waits behind them; how many. */
  async replay(
    id: string,
    request: api.PostPeersByIdReplayBody = {},
    options?: CallOptions,
  ): Promise<number> {
    const call = { params: { id }, body: request, options }
    return (await this.#http.json<api.PeerReplay>(operations.postPeersByIdReplay, call)).replayed
  }

  /** `GET /v1/peers/{id}/forks`: entries, signed by the other side, that contradict what it sent before. */
  forks(
    id: string,
    query: Omit<api.GetPeersByIdForksQuery, 'cursor'> = {},
    options?: CallOptions,
  ): Listing<api.PeerFork> {
    return this.#http.list(operations.getPeersByIdForks, { params: { id }, query, options })
  }

  /**
   * `GET /v1/peers/{id}/reconciliation`: compares the exchanged entries with those that the other side last said it
   * holds.
   */
  reconciliation(id: string, options?: CallOptions): Promise<api.PeerReconciliation> {
    return this.#http.json(operations.getPeersByIdReconciliation, { params: { id }, options })
  }

  /**
   * `POST /v1/peers/{id}/reconciliation`: the same, after the other side was asked anew; its answer is waited for, by default 60 s.
   * Throws TallystickError when that time is up.
   */
  async reconcile(
    id: string,
    { timeoutMs = 60_000, ...options }: CallOptions = {},
  ): Promise<api.PeerReconciliation> {
    const deadline = Date.now() + timeoutMs
    const call = { params: { id }, body: {}, options }
    let found = await this.#http.json<api.PeerReconciliation>(operations.postPeersByIdReconciliation, call)
    for (let pollMs = POLL_MS_MIN; found.asking; pollMs = Math.min(POLL_MS_MAX, pollMs * 1.5)) {
      if (Date.now() + pollMs > deadline)
        throw new TallystickError(`the other side of ${id} has not answered within ${timeoutMs} ms`, {
          retryable: true,
        })
      await sleep(pollMs, options.signal)
      found = await this.reconciliation(id, options)
    }
    return found
  }
}
