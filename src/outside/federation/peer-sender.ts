import { setTimeout as sleep } from 'node:timers/promises'
import { withPooledTransaction } from '../../db/connect/transaction.ts'
import {
  type DrainedPeer,
  endDrain,
  type PeerLease,
  readPeer,
  type SentResults,
  settleSent,
  storeSummary,
} from '../../db/peers/peer-leases.ts'
import { readRotations, storeRequestBytes } from '../../db/peers/shared-entries.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import type { JsonObject } from '../../proof/json/json-value.ts'
import {
  PEER_ENTRIES_OVERLAP_MIN,
  PEER_LEASE_MS,
  PEER_LEASE_USE_MS_MAX,
  PEER_LINGER_MS,
  PEER_PAGE_BYTES_MAX,
  PEER_POLL_MS,
  PEER_REQUEST_ENTRY_BYTES_SLOW,
  PEER_REQUEST_GROW_AFTER_MS,
  PEER_REQUESTS_UNDER_WAY,
  PEER_ROTATIONS_PER_REQUEST_MAX,
} from './limits.ts'
import { type Outgoing, readLaterShare, readOutgoing, renderOutgoing } from './outbox.ts'
import { authenticKeys } from './peer-keys.ts'
import { PeerError, type PeerPost, type PostDeps, postToPeer } from './post.ts'
import { readOutcomes } from './read-outcomes.ts'
import { readReceipt } from './receipts.ts'
import { judgeRefused } from './refused-entry.ts'
import { RequestLimits } from './request-limits.ts'
import {
  type AnsweredRequest,
  answerBytesMax,
  isAllReceived,
  nothingSent,
  type Request,
  readAfter,
  requireDone,
  retryMs,
  settled,
  type UnderWay,
} from './requests.ts'
import { type ShakeHandsDeps, shakeHands } from './shake-hands.ts'
import { fetchSummary } from './summary.ts'

type PeerSenderDeps = PostDeps &
  ShakeHandsDeps & {
    readonly observeSending: PeerSenderObserver
    /** Traces requests to peers. null if tracing is off. */
    readonly tracePost: PostTracer | null
    readonly log: { warn(details: object, message: string): void }
  }

export type PeerSenderObserver = {
  /** Called when a request ends, whether it succeeds or fails. */
  readonly request: (ms: number) => void
  /** Called when a failed request ends a lease. `code`: the code of the PeerError. */
  readonly failure: (code: string) => void
  /** Called with two numbers: the entries that the peer has received, and the entries that it has refused for good. */
  readonly entries: (counts: { readonly received: number; readonly refused: number }) => void
}

/**
 * Called when a request to a peer starts. May return a callback, which is called at the request's end with the code of
 * the failure, or with null for success.
 */
export type PostTracer = (
  peer: Pick<DrainedPeer, 'ledgerId' | 'peerId' | 'remoteUrl'>,
  path: string,
) => ((failure: string | null) => void) | null

/** Sends to many peerings at once, with up to PEER_REQUESTS_UNDER_WAY requests to each. */
export class PeerSenders {
  readonly #deps: PeerSenderDeps
  readonly #stopping = new AbortController()
  readonly #leases = new Set<Promise<void>>()

  constructor(deps: PeerSenderDeps) {
    this.#deps = deps
  }

  get size(): number {
    return this.#leases.size
  }

  /** Sends to one peer until the lease ends. */
  async take(lease: PeerLease): Promise<void> {
    if (this.#stopping.signal.aborted) return
    const taken = new PeerSender(this.#deps, lease, this.#stopping.signal).run()
    const ended = taken.catch(() => {}).finally(() => this.#leases.delete(ended))
    this.#leases.add(ended)
    await taken
  }

  /** Starts no more requests and aborts the running ones. Another worker sends unanswered entries again. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#leases)
  }
}

class PeerSender {
  readonly #deps: PeerSenderDeps
  readonly #lease: PeerLease
  readonly #stopping: AbortSignal
  readonly #beganAtMs = performance.now()
  #limits = new RequestLimits(null)
  /** The request with entries that failed with a PeerError. null if no request failed. */
  #failed: Request | null = null
  #isLost = false
  /** Records whose `record-shared` entry was sent during this lease. */
  readonly #shared = new Set<Uuid>()

  constructor(deps: PeerSenderDeps, lease: PeerLease, stopping: AbortSignal) {
    this.#deps = deps
    this.#lease = lease
    this.#stopping = stopping
  }

  /**
   * Sends until there was nothing to send for PEER_LINGER_MS, or until a request fails for good. Throws only database
   * errors.
   */
  async run(): Promise<void> {
    let busyAtMs = performance.now()
    let isFirst = true
    while (!this.#isOver()) {
      const peer = await this.#readPeer()
      if (peer === null) return
      if (isFirst) this.#limits = new RequestLimits(peer.requestBytes)
      isFirst = false
      this.#failed = null
      try {
        if (await this.#step(peer)) busyAtMs = performance.now()
        else if (performance.now() - busyAtMs > PEER_LINGER_MS) break
        else await sleep(PEER_POLL_MS, undefined, { signal: this.#stopping }).catch(() => {})
      } catch (error) {
        if (!(error instanceof PeerError)) throw error
        if (this.#stopping.aborted) break
        const failure = await this.#sendLess(error)
        if (failure !== null) return this.#fail(peer, failure)
        busyAtMs = performance.now()
      }
    }
    await endDrain(this.#deps.pool, this.#lease, null)
  }

  async #readPeer(): Promise<DrainedPeer | null> {
    const peer = await readPeer(this.#deps.pool, this.#lease, PEER_LEASE_MS)
    return peer && { ...peer, keys: authenticKeys(this.#deps.peerMacs, peer, peer.keys) }
  }

  #isOver(): boolean {
    return this.#stopping.aborted || performance.now() - this.#beganAtMs > PEER_LEASE_USE_MS_MAX
  }

  /**
   * Lowers the limits after a request with entries was refused or got no answer. Returns null if sending can go on.
   * Otherwise returns the failure that ends the lease.
   */
  async #sendLess(error: PeerError): Promise<PeerError | null> {
    if (this.#failed === null) return error
    const { peer, outgoing } = this.#failed
    const size = { entries: outgoing.entries.length, bytes: outgoing.bytes }
    const before = this.#limits.learnt
    if (error.refusal === null) {
      // The limit is lowered only from the second failure on, because a single failure may have any cause. If the peer
      // is down, smaller requests do not help, but they do no harm either.
      const isSlow = (error.code === 'reset' || error.code === 'timeout') && peer.failures > 0
      if (isSlow && size.entries > 1 && size.bytes > PEER_REQUEST_ENTRY_BYTES_SLOW)
        this.#limits.shrink(size.bytes)
      await this.#storeLimit(peer, before, error)
      return error
    }
    if (this.#limits.refuse(error.refusal, size)) {
      await this.#storeLimit(peer, before, error)
      return null
    }
    return this.#judgeRefused(peer, outgoing, error)
  }

  async #storeLimit(peer: DrainedPeer, before: number | null, error: PeerError): Promise<void> {
    const { learnt } = this.#limits
    if (learnt === before) return
    await storeRequestBytes(this.#deps.pool, this.#lease, learnt, true)
    const about = { ...idsOf(peer), error: error.message, entryBytes: learnt }
    if (before === null)
      this.#deps.log.warn(about, 'a peer, or a proxy before it, accepts only smaller requests')
  }

  async #judgeRefused(peer: DrainedPeer, outgoing: Outgoing, error: PeerError): Promise<PeerError | null> {
    try {
      const sent = await judgeRefused(this.#deps.pool, peer, { outgoing, error }, (one) =>
        this.#sendAlone(peer, one),
      )
      if (sent === 'unknown') return error
      await this.#settle(sent)
      this.#report(outgoing, sent)
      return null
    } catch (cause) {
      if (!(cause instanceof PeerError)) throw cause
      return this.#isLost ? null : cause
    }
  }

  /** Sends one entry. Returns the answer, or the PeerError of a refusal. Throws PeerError for any other failure. */
  async #sendAlone(peer: DrainedPeer, outgoing: Outgoing): Promise<JsonObject | PeerError> {
    // Renews the lease, which only lasts for one request.
    if ((await this.#readPeer()) === null) {
      this.#isLost = true
      throw new PeerError('aborted', 'the lease of this peer has ended')
    }
    const result = await this.#begin({ peer, outgoing }).posted
    if (result.status === 'fulfilled') return result.value
    if (result.reason instanceof PeerError && result.reason.refusal !== null) return result.reason
    throw result.reason
  }

  async #fail(peer: DrainedPeer, error: PeerError): Promise<void> {
    this.#deps.observeSending.failure(error.code)
    // A proxy may have repeated the request. The first time the sender retries at once, because a new nonce is enough.
    // A second time is handled like any other failure, with a pause.
    const isReplayed = error.code === 'request_replayed'
    const afterMs = isReplayed && peer.failures === 0 ? 0 : retryMs(peer.failures, error.retryAfterMs)
    if (peer.failures === (isReplayed ? 1 : 0)) {
      this.#deps.log.warn({ ...idsOf(peer), error: error.message }, 'a peer does not accept what is sent')
    }
    await endDrain(this.#deps.pool, this.#lease, { error: error.message, afterMs })
  }

  /** Sends the next thing that is due to the peer. Returns false if there was nothing to send. */
  async #step(peer: DrainedPeer): Promise<boolean> {
    const post = (path: string, body: string) =>
      this.#post(peer, { path, body, answerBytesMax: PEER_PAGE_BYTES_MAX })
    if (peer.state === 'pending' && peer.role === 'invited') {
      await shakeHands(this.#deps, peer, post)
      return true
    }
    if (peer.state === 'revoked') return this.#sendRevocation(peer)
    if (peer.state !== 'active') return false
    if (peer.knownKid !== peer.envelopeKid) return this.#sendRotations(peer)
    if (peer.summaryDue) return this.#compare(post)
    if (peer.backlog === null && peer.nextSeq >= peer.size) return false
    if (peer.backlog !== null && !this.#shared.has(peer.backlog.recordId)) {
      const share = await readLaterShare(this.#deps.pool, peer, peer.backlog, this.#limits.max)
      if (share !== null) await this.#send(peer, share)
      // The record is added only after its `record-shared` entry was sent. If sending fails, the entry is sent again
      // before the backlog.
      this.#shared.add(peer.backlog.recordId)
      if (share !== null) return true
    }
    return this.#send(peer, await this.#readNext(peer))
  }

  async #readNext(peer: DrainedPeer): Promise<Outgoing> {
    const outgoing = await readOutgoing(this.#deps.pool, peer, this.#limits.max)
    const { recordId } = outgoing.entries.find(({ kind }) => kind === 'record-shared') ?? {}
    if (recordId) this.#shared.add(recordId)
    return outgoing
  }

  /**
   * Fetches the peer's summary. The lease is renewed for each page, because a hundred pages may take longer than a
   * lease, and another lease would start with the first page again.
   */
  async #compare(post: (path: string, body: string) => Promise<JsonObject>): Promise<boolean> {
    const summary = await fetchSummary(async (path, body) =>
      (await this.#readPeer()) ? post(path, body) : null,
    )
    if (summary !== null)
      await withPooledTransaction(this.#deps.pool, (client) => storeSummary(client, this.#lease, summary))
    return true
  }

  async #post(peer: DrainedPeer, post: PeerPost): Promise<JsonObject> {
    const beganAtMs = performance.now()
    const ended = this.#deps.tracePost?.(peer, post.path)
    try {
      const answer = await postToPeer(this.#deps, peer, { ...post, signal: this.#stopping })
      ended?.(null)
      return answer
    } catch (error) {
      ended?.(error instanceof PeerError ? error.code : 'error')
      throw error
    } finally {
      this.#deps.observeSending.request(performance.now() - beganAtMs)
    }
  }

  async #send(peer: DrainedPeer, outgoing: Outgoing): Promise<boolean> {
    if (outgoing.entries.length > 0) {
      await this.#sendAll({ peer, outgoing })
    } else {
      const { nextSeq, backlog } = outgoing
      await this.#settle({ ...nothingSent(peer), nextSeq, backlog: backlog === null ? [] : [backlog] })
    }
    return true
  }

  /**
   * Sends request after request, two at a time, as long as the peer receives all entries of each.
   *
   * The peer checks one request while it appends the other. Meanwhile the previous answer is verified and written here.
   * Answers are handled in the order of the requests, so the cursor never passes an entry without an outcome. After a
   * crash all unanswered requests are sent again.
   */
  async #sendAll(first: Request): Promise<void> {
    const underWay = [this.#begin(first)]
    try {
      let newest: Request | null = first
      for (let oldest = underWay[0]; oldest !== undefined; oldest = underWay[0]) {
        newest = newest && (await this.#sendNext(newest, underWay))
        this.#failed = oldest.request
        const before = { ...oldest.request, answer: requireDone(await oldest.posted) }
        this.#failed = null
        underWay.shift()
        const isAll = isAllReceived(before)
        newest = isAll ? newest && (await this.#sendNext(newest, underWay)) : null
        await this.#takeAnswer(before)
        // Stops, because later requests may depend on the entries that the peer did not receive. The outcomes of later
        // requests are read when they are sent again.
        if (!isAll) return
      }
    } finally {
      // Waits for all requests of this peering, so that none is running when a failure is counted.
      await Promise.all(underWay.map(({ posted }) => posted))
    }
  }

  #begin(request: Request): UnderWay {
    const posting = this.#post(request.peer, {
      path: '/v1/federation/entries',
      body: renderOutgoing(request.outgoing),
      answerBytesMax: answerBytesMax(request.outgoing.entries.length),
    })
    return { request, posted: settled(posting) }
  }

  /**
   * Sends the next entries, if another request may start and there are enough entries. Returns the newest request, or
   * null if something other than entries must be sent first.
   */
  async #sendNext(newest: Request, underWay: UnderWay[]): Promise<Request | null> {
    if (underWay.length >= (this.#limits.isSearching ? 1 : PEER_REQUESTS_UNDER_WAY)) return newest
    const entriesMin = underWay.length === 0 ? 1 : PEER_ENTRIES_OVERLAP_MIN
    const outgoing = await readAfter(this.#deps.pool, newest, entriesMin, this.#limits.max)
    if (outgoing === null) return newest
    const next = await this.#readPeerAgain(newest.peer, outgoing)
    if (next !== null) underWay.push(this.#begin(next))
    return next
  }

  /**
   * Reads the peering again. Returns null if the lease is over, or if something other than entries must be sent first.
   */
  async #readPeerAgain(before: DrainedPeer, outgoing: Outgoing): Promise<Request | null> {
    if (this.#isOver()) return null
    const peer = await this.#readPeer()
    const isAsBefore =
      peer?.state === 'active' &&
      peer.envelopeKid === before.envelopeKid &&
      !peer.summaryDue &&
      peer.backlog === null
    return isAsBefore ? { peer, outgoing } : null
  }

  async #takeAnswer({ peer, outgoing, answer }: AnsweredRequest): Promise<void> {
    const sent = await readOutcomes(this.#deps.pool, peer, outgoing, answer)
    await this.#settle(sent)
    this.#report(outgoing, sent)
    const mayGrow = this.#limits.learnt !== null && peer.refusedAgoMs > PEER_REQUEST_GROW_AFTER_MS
    if (!outgoing.isFull || !mayGrow) return
    this.#limits.grow()
    await storeRequestBytes(this.#deps.pool, this.#lease, this.#limits.learnt, false)
  }

  #report({ entries }: Outgoing, { receipts, dead }: SentResults): void {
    this.#limits.settle(entries.length)
    this.#deps.observeSending.entries({ received: receipts.length, refused: dead.length })
  }

  async #settle(sent: SentResults): Promise<void> {
    await withPooledTransaction(this.#deps.pool, (client) =>
      settleSent(client, this.#lease, sent, PEER_LEASE_MS),
    )
  }

  /** Sends our key rotations. Each is signed by the old key. Nothing else is sent until the peer knows the new key. */
  async #sendRotations(peer: DrainedPeer): Promise<boolean> {
    const { pool } = this.#deps
    const rotations = await readRotations(pool, peer.ledgerId, peer.knownKid, PEER_ROTATIONS_PER_REQUEST_MAX)
    if (rotations.length === 0)
      throw new PeerError('key_unknown', 'no entry of this ledger names the current signing key')
    const sent = rotations.map(({ seq, envelope }) => ({ seq, envelope: envelope.toString('base64') }))
    const answer = await this.#post(peer, {
      path: '/v1/federation/rotations',
      body: JSON.stringify({ rotations: sent }),
      answerBytesMax: answerBytesMax(sent.length),
    })
    const envelopes = Array.isArray(answer['envelopes']) ? answer['envelopes'] : []
    // The answer has receipts only for rotations that were new to the peer. If an answer was lost, its receipts are not
    // sent again.
    const newest = rotations.slice(rotations.length - envelopes.length)
    const receipts = newest.map((one, i) => ({
      seq: one.seq,
      envelope: readReceipt(peer, one, envelopes[i]),
    }))
    await this.#settle({ ...nothingSent(peer), receipts, knownKid: peer.envelopeKid, answered: true })
    return true
  }

  /** Sends the revocation as the last entry. */
  async #sendRevocation(peer: DrainedPeer): Promise<boolean> {
    const { revokedSeq } = peer
    if (revokedSeq === null || peer.nextSeq > revokedSeq) return false
    const end = { ...peer, backlog: null, nextSeq: revokedSeq, size: revokedSeq + 1 }
    const outgoing = await readOutgoing(this.#deps.pool, end, this.#limits.max)
    try {
      return await this.#send(peer, outgoing)
    } catch (error) {
      // Both sides have revoked the peering, so there is nothing left to send.
      if (!(error instanceof PeerError && error.code === 'peer_revoked')) throw error
      await this.#settle({ ...nothingSent(peer), nextSeq: revokedSeq + 1 })
      return true
    }
  }
}

function idsOf({ ledgerId, peerId }: DrainedPeer) {
  return { ledger: formatId('led', ledgerId), peer: formatId('peer', peerId) }
}
