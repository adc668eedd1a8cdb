import type pg from 'pg'
import type { DrainedPeer, SentResults } from '../../db/peers/peer-leases.ts'
import type { JsonObject } from '../../proof/json/json-value.ts'
import { isObject } from '../../proof/statement/fields.ts'
import {
  PEER_ANSWER_BYTES_BASE,
  PEER_OUTCOME_BYTES_MAX,
  PEER_RETRY_AFTER_MS_MAX,
  PEER_RETRY_MS_MAX,
  PEER_RETRY_MS_MIN,
} from './limits.ts'
import { type Outgoing, type RequestMax, readOutgoing } from './outbox.ts'

export function answerBytesMax(entries: number): number {
  return PEER_ANSWER_BYTES_BASE + entries * PEER_OUTCOME_BYTES_MAX
}

export type Request = { readonly peer: DrainedPeer; readonly outgoing: Outgoing }
export type AnsweredRequest = Request & { readonly answer: JsonObject }
export type UnderWay = {
  readonly request: Request
  readonly posted: Promise<PromiseSettledResult<JsonObject>>
}

/**
 * Reads the next entries of the chain. Returns null if there are fewer than `entriesMin`, or if the backlog must be
 * sent first.
 */
export async function readAfter(
  pool: pg.Pool,
  { peer, outgoing: { nextSeq, backlog } }: Request,
  entriesMin: number,
  max: RequestMax,
): Promise<Outgoing | null> {
  if (backlog !== null || nextSeq >= peer.size) return null
  const next = await readOutgoing(pool, { ...peer, nextSeq }, max)
  return next.entries.length < entriesMin && !next.isFull ? null : next
}

/** Returns true if the peer has received all entries of the request. If not, later entries may have to wait. */
export function isAllReceived({ outgoing: { entries }, answer: { outcomes } }: AnsweredRequest): boolean {
  return (
    Array.isArray(outcomes) &&
    outcomes.length === entries.length &&
    outcomes.every((outcome) => isObject(outcome) && outcome['outcome'] === 'received')
  )
}

export async function settled<T>(work: Promise<T>): Promise<PromiseSettledResult<T>> {
  const [result] = await Promise.allSettled([work])
  return result
}

export function requireDone<T>(result: PromiseSettledResult<T>): T {
  if (result.status === 'fulfilled') return result.value
  throw result.reason
}

export function nothingSent({ nextSeq, knownKid }: DrainedPeer): SentResults {
  return { receipts: [], dead: [], backlog: [], nextSeq, knownKid, answered: false }
}

/**
 * Returns the pause in ms after failures. The pause doubles with each failure. A random share of at most half is
 * subtracted. The pause is never shorter than the peer's Retry-After, which counts up to PEER_RETRY_AFTER_MS_MAX.
 */
export function retryMs(failures: number, retryAfterMs: number | null): number {
  const backoffMs = Math.min(PEER_RETRY_MS_MAX, PEER_RETRY_MS_MIN * 2 ** Math.min(failures, 20))
  const asked = Math.min(retryAfterMs ?? 0, PEER_RETRY_AFTER_MS_MAX)
  return Math.max(asked, backoffMs * (0.5 + Math.random() / 2))
}
