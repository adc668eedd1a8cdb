import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { withPooledTransaction } from '../../db/connect/transaction.ts'
import {
  type DrainedPeer,
  endPeerTurn,
  keepSummary,
  lookAtPeer,
  type PeerTurn,
  type Sent,
  settleSent,
} from '../../db/peers/peer-turns.ts'
import { readRotations } from '../../db/peers/peer-work.ts'
import { formatId } from '../../proof/ids.ts'
import type { JsonObject } from '../../proof/json/json-value.ts'
import { isObject } from '../../proof/statement/fields.ts'
import {
  PEER_ANSWER_BYTES_BASE,
  PEER_ENTRIES_OVERLAP_MIN,
  PEER_LEASE_MS,
  PEER_LINGER_MS,
  PEER_LOOK_EVERY_MS,
  PEER_OUTCOME_BYTES_MAX,
  PEER_PAGE_BYTES_MAX,
  PEER_REQUESTS_UNDER_WAY,
  PEER_RETRY_AFTER_MS_MAX,
  PEER_RETRY_MS_MAX,
  PEER_RETRY_MS_MIN,
  PEER_ROTATIONS_PER_REQUEST_MAX,
  PEER_TURN_MS_MAX,
} from './limits.ts'
import { type Outgoing, readOutgoing, renderOutgoing } from './outbox.ts'
import { believedKeys } from './peer-keys.ts'
import { PeerError, type PeerPost, type PostDeps, postToPeer } from './post.ts'
import { readOutcomes } from './read-outcomes.ts'
import { readReceipt } from './receipts.ts'
import { type ShakeHandsDeps, shakeHands } from './shake-hands.ts'
import { askSummary } from './summary.ts'

type DrainDeps = PostDeps &
  ShakeHandsDeps & {
    readonly observeDrain: DrainObserver
    /** null: nobody traces. */
    readonly tracePost: PostTracer | null
    readonly log: { warn(details: object, message: string): void }
  }

/** Hears of what is sent to peers. */
export type DrainObserver = {
  /** A request has ended, however. */
  readonly request: (ms: number) => void
  /** A turn has ended because the peer refused the request; `code`: that of the PeerError. */
  readonly failure: (code: string) => void
  /** So many entries the peer has received, or refused for good. */
  readonly entries: (counts: { readonly received: number; readonly refused: number }) => void
}

/** Hears that a request to a peer begins; answers what is to be told when it has ended: the code of why it failed, or null. */
export type PostTracer = (
  peer: Pick<DrainedPeer, 'ledgerId' | 'peerId' | 'remoteUrl'>,
  path: string,
) => ((failure: string | null) => void) | null

/** All peerings that this process drains at the moment: PEER_REQUESTS_UNDER_WAY requests to each, many peerings at once. */
export class PeerDrains {
  readonly #deps: DrainDeps
  readonly #stopping = new AbortController()
  readonly #turns = new Set<Promise<void>>()

  constructor(deps: DrainDeps) {
    this.#deps = deps
  }

  get size(): number {
    return this.#turns.size
  }

  /** One peering's turn, to its end. */
  async take(turn: PeerTurn): Promise<void> {
    if (this.#stopping.signal.aborted) return
    const taken = new Drain(this.#deps, turn, this.#stopping.signal).run()
    const ended = taken.catch(() => {}).finally(() => this.#turns.delete(ended))
    this.#turns.add(ended)
    await taken
  }

  /** Begins no request more, and gives up those under way: others send entries without an answer again. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#turns)
  }
}

class Drain {
  readonly #deps: DrainDeps
  readonly #turn: PeerTurn
  readonly #stopping: AbortSignal
  readonly #beganAtMs = performance.now()

  constructor(deps: DrainDeps, turn: PeerTurn, stopping: AbortSignal) {
    this.#deps = deps
    this.#turn = turn
    this.#stopping = stopping
  }

  /** Until there has been nothing to say for a while, or the peer does not answer. Throws only where the database fails. */
  async run(): Promise<void> {
    let busyAtMs = performance.now()
    while (!this.#isOver()) {
      const peer = await this.#look()
      if (peer === null) return
      try {
        if (await this.#step(peer)) busyAtMs = performance.now()
        else if (performance.now() - busyAtMs > PEER_LINGER_MS) break
        else await sleep(PEER_LOOK_EVERY_MS, undefined, { signal: this.#stopping }).catch(() => {})
      } catch (error) {
        if (!(error instanceof PeerError)) throw error
        if (this.#stopping.aborted) break
        return this.#fail(peer, error)
      }
    }
    await endPeerTurn(this.#deps.pool, this.#turn, null)
  }

  async #look(): Promise<DrainedPeer | null> {
    const peer = await lookAtPeer(this.#deps.pool, this.#turn, PEER_LEASE_MS)
    return peer && { ...peer, keys: believedKeys(this.#deps.peerMacs, peer, peer.keys) }
  }

  #isOver(): boolean {
    return this.#stopping.aborted || performance.now() - this.#beganAtMs > PEER_TURN_MS_MAX
  }

  async #fail(peer: DrainedPeer, error: PeerError): Promise<void> {
    this.#deps.observeDrain.failure(error.code)
    // Something between repeats what is sent: once that is nothing, and another nonce all that it needs. Every time it is a failure
    // like others, and a peer that always says so is not asked without a pause.
    const isReplayed = error.code === 'request_replayed'
    const afterMs = isReplayed && peer.failures === 0 ? 0 : retryMs(peer.failures, error.retryAfterMs)
    if (peer.failures === (isReplayed ? 1 : 0)) {
      const ids = { ledger: formatId('led', peer.ledgerId), peer: formatId('peer', peer.peerId) }
      this.#deps.log.warn({ ...ids, error: error.message }, 'a peer does not take what is sent')
    }
    await endPeerTurn(this.#deps.pool, this.#turn, { error: error.message, afterMs })
  }

  /** Whether there was anything to do. */
  async #step(peer: DrainedPeer): Promise<boolean> {
    const post = (path: string, body: string) =>
      this.#post(peer, { path, body, answerBytesMax: PEER_PAGE_BYTES_MAX })
    if (peer.state === 'pending' && peer.role === 'invited') {
      await shakeHands(this.#deps, peer, post)
      return true
    }
    if (peer.state === 'revoked') return this.#sayEnd(peer)
    if (peer.state !== 'active') return false
    if (peer.knownKid !== peer.envelopeKid) return this.#tellKey(peer)
    if (peer.summaryDue) return this.#compare(post)
    if (peer.backlog === null && peer.nextSeq >= peer.size) return false
    return this.#send(peer, await readOutgoing(this.#deps.pool, peer))
  }

  /** A hundred pages may take longer than a lease: without a new one for each, another turn would begin with the first page again. */
  async #compare(post: (path: string, body: string) => Promise<JsonObject>): Promise<boolean> {
    const held = await askSummary(async (path, body) => ((await this.#look()) ? post(path, body) : null))
    if (held !== null)
      await withPooledTransaction(this.#deps.pool, (client) => keepSummary(client, this.#turn, held))
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
      this.#deps.observeDrain.request(performance.now() - beganAtMs)
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
   * One request after another, as long as the peer receives all of each, and two under way: the peer checks one while it appends the
   * other, and the answer to the one before them is verified and written down here. Answers are taken in the order of the
   * requests, so the cursor never passes an entry without an outcome. A crash in between has all of them sent again.
   */
  async #sendAll(first: Request): Promise<void> {
    const underWay = [this.#begin(first)]
    try {
      let newest: Request | null = first
      for (let oldest = underWay[0]; oldest !== undefined; oldest = underWay[0]) {
        newest = newest && (await this.#sendNext(newest, underWay))
        const before = { ...oldest.request, answer: requireDone(await oldest.posted) }
        underWay.shift()
        const isAll = isAllReceived(before)
        newest = isAll ? newest && (await this.#sendNext(newest, underWay)) : null
        await this.#takeAnswer(before)
        // The entries of the others may have to wait now: what becomes of them is heard when they are sent again.
        if (!isAll) return
      }
    } finally {
      // All of them end before any failure counts: nothing of this peering is then under way any more.
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

  /** Sends what follows, if there is room and enough of it. Returns the newest request; null: something else comes first. */
  async #sendNext(newest: Request, underWay: UnderWay[]): Promise<Request | null> {
    if (underWay.length >= PEER_REQUESTS_UNDER_WAY) return newest
    const entriesMin = underWay.length === 0 ? 1 : PEER_ENTRIES_OVERLAP_MIN
    const outgoing = await readAfter(this.#deps.pool, newest, entriesMin)
    if (outgoing === null) return newest
    const next = await this.#lookAgain(newest.peer, outgoing)
    if (next !== null) underWay.push(this.#begin(next))
    return next
  }

  /** null: something else comes first. */
  async #lookAgain(before: DrainedPeer, outgoing: Outgoing): Promise<Request | null> {
    if (this.#isOver()) return null
    const peer = await this.#look()
    const isAsBefore =
      peer?.state === 'active' &&
      peer.envelopeKid === before.envelopeKid &&
      !peer.summaryDue &&
      peer.backlog === null
    return isAsBefore ? { peer, outgoing } : null
  }

  async #takeAnswer({ peer, outgoing, answer }: Answered): Promise<void> {
    const sent = await readOutcomes(this.#deps.pool, peer, outgoing, answer)
    await this.#settle(sent)
    this.#deps.observeDrain.entries({ received: sent.receipts.length, refused: sent.dead.length })
  }

  async #settle(sent: Sent): Promise<void> {
    await withPooledTransaction(this.#deps.pool, (client) =>
      settleSent(client, this.#turn, sent, PEER_LEASE_MS),
    )
  }

  /** A new key of ours: the old one says so, before anything else is said. */
  async #tellKey(peer: DrainedPeer): Promise<boolean> {
    const { pool } = this.#deps
    const rotations = await readRotations(pool, peer.ledgerId, peer.knownKid, PEER_ROTATIONS_PER_REQUEST_MAX)
    if (rotations.length === 0)
      throw new PeerError('key_unknown', 'no entry of ours names the key that signs now')
    const sent = rotations.map(({ seq, envelope }) => ({ seq, envelope: envelope.toString('base64') }))
    const answer = await this.#post(peer, {
      path: '/v1/federation/rotations',
      body: JSON.stringify({ rotations: sent }),
      answerBytesMax: answerBytesMax(sent.length),
    })
    const envelopes = Array.isArray(answer['envelopes']) ? answer['envelopes'] : []
    // The receipts of a request whose answer was lost do not come again.
    const newest = rotations.slice(rotations.length - envelopes.length)
    const receipts = newest.map((one, i) => ({
      seq: one.seq,
      envelope: readReceipt(peer, one, envelopes[i]),
    }))
    await this.#settle({ ...nothingSent(peer), receipts, knownKid: peer.envelopeKid, answered: true })
    return true
  }

  /** Tells the peer of the revocation, and nothing more. */
  async #sayEnd(peer: DrainedPeer): Promise<boolean> {
    const { revokedSeq } = peer
    if (revokedSeq === null || peer.nextSeq > revokedSeq) return false
    const outgoing = await readOutgoing(this.#deps.pool, {
      ...peer,
      backlog: null,
      nextSeq: revokedSeq,
      size: revokedSeq + 1,
    })
    try {
      return await this.#send(peer, outgoing)
    } catch (error) {
      // Both have ended it: there is nobody left to be told.
      if (!(error instanceof PeerError && error.code === 'peer_revoked')) throw error
      await this.#settle({ ...nothingSent(peer), nextSeq: revokedSeq + 1 })
      return true
    }
  }
}

function answerBytesMax(entries: number): number {
  return PEER_ANSWER_BYTES_BASE + entries * PEER_OUTCOME_BYTES_MAX
}

type Request = { readonly peer: DrainedPeer; readonly outgoing: Outgoing }
type Answered = Request & { readonly answer: JsonObject }
type UnderWay = {
  readonly request: Request
  readonly posted: Promise<PromiseSettledResult<JsonObject>>
}

/** Reads what follows in the chain. null: too little does, or the backlog comes first. */
async function readAfter(
  pool: pg.Pool,
  { peer, outgoing: { nextSeq, backlog } }: Request,
  entriesMin: number,
): Promise<Outgoing | null> {
  if (backlog !== null || nextSeq >= peer.size) return null
  const next = await readOutgoing(pool, { ...peer, nextSeq })
  return next.entries.length < entriesMin && !next.isFull ? null : next
}

/** Otherwise what was read after it may have to wait. */
function isAllReceived({ outgoing: { entries }, answer: { outcomes } }: Answered): boolean {
  return (
    Array.isArray(outcomes) &&
    outcomes.length === entries.length &&
    outcomes.every((outcome) => isObject(outcome) && outcome['outcome'] === 'received')
  )
}

async function settled<T>(work: Promise<T>): Promise<PromiseSettledResult<T>> {
  const [result] = await Promise.allSettled([work])
  return result
}

function requireDone<T>(result: PromiseSettledResult<T>): T {
  if (result.status === 'fulfilled') return result.value
  throw result.reason
}

function nothingSent({ nextSeq, knownKid }: DrainedPeer): Sent {
  return { receipts: [], dead: [], backlog: [], nextSeq, knownKid, answered: false }
}

/** Twice as long after each failure, jittered by half, and at least as long as the peer asks, up to a bound. */
function retryMs(failures: number, retryAfterMs: number | null): number {
  const backoffMs = Math.min(PEER_RETRY_MS_MAX, PEER_RETRY_MS_MIN * 2 ** Math.min(failures, 20))
  const asked = Math.min(retryAfterMs ?? 0, PEER_RETRY_AFTER_MS_MAX)
  return Math.max(asked, backoffMs * (0.5 + Math.random() / 2))
}
