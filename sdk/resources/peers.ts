import { TallystickError } from '../errors.ts'
import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import { wrongServer } from '../http/answers.ts'
import type { Listing } from '../http/listing.ts'
import { sleep } from '../http/retries.ts'
import type { CallOptions, Transport, WriteOptions } from '../http/transport.ts'

export type PeersQuery = Omit<api.GetPeersQuery, 'cursor'>
/**
 * A peering with its invitation. The server returns the invitation only once. Anybody who has the invitation can become
 * the peer.
 */
export type PeerInvitation = api.NewPeer & { readonly invitation: string }
export type PeerChange = api.PostPeersByIdSuspendBody

const POLL_MS_MIN = 50
const POLL_MS_MAX = 1_000

/**
 * Peers: ledgers of other servers with which this ledger shares records.
 *
 * To share a record, use `share` of `records.create`, or `records.share`. `invite` and `accept` have no idempotency
 * key and are not retried. After a lost answer, check `list`.
 */
export class Peers {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /**
   * Makes an invitation: `POST /v1/peers`. Send it to the other side's administrator by a channel that both sides
   * trust. `name` is the name of the other ledger on this server.
   */
  async invite(request: { readonly name: string }, options?: CallOptions): Promise<PeerInvitation> {
    const { name } = request
    const made = await this.#http.json<api.NewPeer>(operations.postPeers, { body: { name }, options })
    if (typeof made.invitation !== 'string') throw wrongServer('the server answered without an invitation')
    return made as PeerInvitation
  }

  /**
   * Accepts an invitation of the other side: `POST /v1/peers`. The worker completes the peering later; `state` shows
   * when.
   */
  accept(
    request: { readonly name: string; readonly invitation: string },
    options?: CallOptions,
  ): Promise<api.Peer> {
    return this.#http.json(operations.postPeers, { body: request, options })
  }

  /** Lists peers in the order of invitation: `GET /v1/peers`. */
  list(query: PeersQuery = {}, options?: CallOptions): Listing<api.Peer> {
    return this.#http.list(operations.getPeers, { query, options })
  }

  /**
   * Returns a peer: `GET /v1/peers/{id}`. Its member `drain` shows how much was sent to the peer, and how the peer
   * answers. Throws NotFoundError if the peer does not exist.
   */
  get(id: string, options?: CallOptions): Promise<api.Peer> {
    return this.#http.json(operations.getPeersById, { params: { id }, options })
  }

  /**
   * Suspends a peer: `POST /v1/peers/{id}/suspend`. Until `resume`, nothing is sent to the peer or accepted from it.
   */
  suspend(id: string, request: PeerChange = {}, options?: WriteOptions): Promise<api.Peer> {
    return this.#http.json(operations.postPeersByIdSuspend, { params: { id }, body: request, options })
  }

  /** Resumes a suspended peer: `POST /v1/peers/{id}/resume`. */
  resume(id: string, request: PeerChange = {}, options?: WriteOptions): Promise<api.Peer> {
    return this.#http.json(operations.postPeersByIdResume, { params: { id }, body: request, options })
  }

  /** Revokes a peer for good: `POST /v1/peers/{id}/revoke`. The other side is notified. */
  revoke(id: string, request: PeerChange = {}, options?: WriteOptions): Promise<api.Peer> {
    return this.#http.json(operations.postPeersByIdRevoke, { params: { id }, body: request, options })
  }

  /**
   * Sets how many bytes this side stores for the peer in 24 hours: `PUT /v1/peers/{id}/budget`. The value null sets the
   * default.
   */
  setBudget(
    id: string,
    budget: api.PutPeersByIdBudgetBody['budget'],
    options?: CallOptions,
  ): Promise<api.Peer> {
    return this.#http.json(operations.putPeersByIdBudget, { params: { id }, body: { budget }, options })
  }

  /** Lists records shared with the peer, in both directions: `GET /v1/peers/{id}/records`. */
  records(
    id: string,
    query: Omit<api.GetPeersByIdRecordsQuery, 'cursor'> = {},
    options?: CallOptions,
  ): Listing<api.SharedRecord> {
    return this.#http.list(operations.getPeersByIdRecords, { params: { id }, query, options })
  }

  /**
   * Returns a shared record, with the definition of its type if the peer sent it: `GET
   * /v1/peers/{id}/records/{record}`.
   */
  record(id: string, record: string, options?: CallOptions): Promise<api.SharedRecordWithType> {
    return this.#http.json(operations.getPeersByIdRecordsByRecord, { params: { id, record }, options })
  }

  /**
   * Lists entries that the other side refused for good: `GET /v1/peers/{id}/dead-letters`. Later entries of the same
   * records wait until these entries are sent again.
   */
  deadLetters(
    id: string,
    query: Omit<api.GetPeersByIdDeadLettersQuery, 'cursor'> = {},
    options?: CallOptions,
  ): Listing<api.PeerDeadLetter> {
    return this.#http.list(operations.getPeersByIdDeadLetters, { params: { id }, query, options })
  }

  /**
   * Sends dead letters again, and the entries that wait for them: `POST /v1/peers/{id}/replay`. `seqs` selects the dead
   * letters; without it, all dead letters are sent. Returns their number.
   */
  async replay(
    id: string,
    request: api.PostPeersByIdReplayBody = {},
    options?: CallOptions,
  ): Promise<number> {
    const call = { params: { id }, body: request, options }
    return (await this.#http.json<api.PeerReplay>(operations.postPeersByIdReplay, call)).replayed
  }

  /**
   * Lists entries that the other side signed and that contradict entries it sent before: `GET /v1/peers/{id}/forks`.
   */
  forks(
    id: string,
    query: Omit<api.GetPeersByIdForksQuery, 'cursor'> = {},
    options?: CallOptions,
  ): Listing<api.PeerFork> {
    return this.#http.list(operations.getPeersByIdForks, { params: { id }, query, options })
  }

  /** Compares the exchanged entries with the other side's last report: `GET /v1/peers/{id}/reconciliation`. */
  reconciliation(id: string, options?: CallOptions): Promise<api.PeerReconciliation> {
    return this.#http.json(operations.getPeersByIdReconciliation, { params: { id }, options })
  }

  /**
   * Like `reconciliation`, but with a new report from the other side: `POST /v1/peers/{id}/reconciliation`. Waits up
   * to `timeoutMs`, by default 60 s. Throws TallystickError if the report has not come by then.
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
        throw new TallystickError(`the peer ${id} has not answered within ${timeoutMs} ms`, {
          retryable: true,
        })
      await sleep(pollMs, options.signal)
      found = await this.reconciliation(id, options)
    }
    return found
  }
}
