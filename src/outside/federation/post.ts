import { randomBytes } from 'node:crypto'
import type { DrainedPeer } from '../../db/peers/peer-leases.ts'
import { BODY_BYTES_MAX } from '../../load/limits.ts'
import type { Shares } from '../../load/shares.ts'
import { ThreadError } from '../../load/threads/error.ts'
import { type JsonThreads, parseJsonInThread } from '../../load/threads/parse-json.ts'
import { utf8Decode } from '../../proof/bytes.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId } from '../../proof/ids.ts'
import { parseJsonText } from '../../proof/json/json-text.ts'
import type { JsonObject, JsonValue } from '../../proof/json/json-value.ts'
import { JSON_DEPTH_MAX } from '../../proof/request-limits.ts'
import { isObject } from '../../proof/statement/fields.ts'
import type { Signers } from '../../signing/signers.ts'
import type { Connector } from '../connector/connector.ts'
import { OutboundError } from '../connector/error.ts'
import type { OutboundAnswer } from '../connector/exchange.ts'
import { isCode } from './answer-fields.ts'
import { NONCE_BYTES, signRequest } from './http-signature.ts'
import { PEER_RETRY_AFTER_NONSENSE_MS } from './limits.ts'
import type { Refusal } from './request-limits.ts'

export type PostDeps = {
  readonly connector: Connector
  readonly threads: JsonThreads
  /** Divides the memory for answers that are being read among the ledgers. */
  readonly answers: Shares
  readonly signers: Signers
  readonly now: () => number
  readonly userAgent: string
}

/**
 * Error of a request that the peer has not accepted. `code`: the code of the peer's problem document, or a code of this
 * server.
 */
export class PeerError extends Error {
  readonly code: string
  /** The peer's Retry-After in ms. null if the answer has no such header. */
  readonly retryAfterMs: number | null
  /**
   * `size` or `contents` if the request was refused for its size or its content. null if the reason is another one or
   * unknown.
   */
  readonly refusal: Refusal | null

  constructor(
    code: string,
    detail: string,
    retryAfterMs: number | null = null,
    refusal: Refusal | null = null,
  ) {
    super(`${code}: ${detail}`)
    this.name = 'PeerError'
    this.code = code
    this.retryAfterMs = retryAfterMs
    this.refusal = refusal
  }
}

type PostedPeer = Pick<
  DrainedPeer,
  'ledgerId' | 'peerId' | 'remoteLedgerId' | 'remoteUrl' | 'issuer' | 'envelopeKid'
>

export type PeerPost = {
  readonly path: string
  readonly body: string
  /** Maximum size in bytes of the answer's body. A longer body is discarded. */
  readonly answerBytesMax: number
}

/**
 * Sends a request to a peer's server, signed with the ledger's key. Returns the JSON object of an answer with status
 * 200.
 *
 * Throws PeerError for any other result. The peer may nevertheless have done what the request demands. The answer
 * itself is not signed, but the envelopes in the answer must be signed.
 */
export async function postToPeer(
  deps: PostDeps,
  peer: PostedPeer,
  { path, body, answerBytesMax, signal }: PeerPost & { readonly signal: AbortSignal },
): Promise<JsonObject> {
  const url = peer.remoteUrl + path
  const signer = await deps.signers.signerOf(peer)
  const signed = {
    method: 'POST',
    targetUri: url,
    body,
    peering: formatId('peer', peer.peerId),
    from: formatId('led', peer.ledgerId),
    to: formatId('led', peer.remoteLedgerId),
  }
  const headers = signRequest(signed, signer, { nowMs: deps.now(), nonce: randomBytes(NONCE_BYTES) })
  const memory = reserveFrom(deps.answers, signed.from)
  try {
    const answer = await deps.connector.post({
      url,
      headers: { 'content-type': 'application/json', 'user-agent': deps.userAgent, ...headers },
      body,
      signal,
      answerBytesMax,
      takeMemory: memory.take,
    })
    if (answer.status === 200 && (answer.ended === 'cut' || answer.ended === 'slow'))
      throw brokenOff(answer.ended)
    const json = answer.body === null ? null : await parseAnswer(deps.threads, answer.body, signed)
    if (answer.status === 200 && json !== null && isObject(json)) return json
    throw problemOf(answer, json, deps.now())
  } catch (error) {
    if (error instanceof OutboundError) throw new PeerError(error.code, error.message)
    if (error instanceof ThreadError) throw new PeerError('aborted', error.message)
    throw error
  } finally {
    memory.release()
  }
}

function reserveFrom(budget: Shares, owner: string) {
  let reserved = 0
  return {
    take(bytes: number): boolean {
      if (!budget.admits(owner, bytes)) return false
      budget.take(owner, bytes)
      reserved += bytes
      return true
    },
    release: () => budget.release(owner, reserved),
  }
}

/** Parses an answer. Returns null if the answer is not JSON, or too costly to parse. */
async function parseAnswer(
  threads: JsonThreads,
  body: Buffer,
  { from, peering }: { readonly from: string; readonly peering: string },
): Promise<JsonValue | null> {
  try {
    if (body.length <= BODY_BYTES_MAX) return parseJsonText(utf8Decode(body), { depthMax: JSON_DEPTH_MAX })
    const owners = { owner: `${from} ${peering}`, ofAll: `peers of ${from}` }
    const read = await parseJsonInThread(threads, body, { ...owners, depthMax: JSON_DEPTH_MAX })
    return 'value' in read ? read.value : null
  } catch (error) {
    if (error instanceof ProofError) return null
    throw error
  }
}

/**
 * Makes the error for any answer that is not a success. A tenant reads the error, so it contains no text of the peer.
 * Only the peer's code is included, if it has the form of a code.
 */
function problemOf(
  { status, retryAfterMs, dateMs }: OutboundAnswer,
  json: JsonValue | null,
  nowMs: number,
): PeerError {
  const code = json !== null && isObject(json) ? json['code'] : null
  const refusal = refusalOf(status, isCode(code))
  if (isCode(code)) {
    const clock = code === 'request_expired' && dateMs !== null ? `: ${clockText(dateMs - nowMs)}` : ''
    return new PeerError(code, `the peer answered ${status}${clock}`, retryAfterMs, refusal)
  }
  const detail = `the peer answered ${status} in an unknown form`
  if (refusal !== null) return new PeerError(REFUSED[refusal], detail, retryAfterMs, refusal)
  // Any other status may come from a proxy. The peer may be available again soon.
  return status === 200 ? unexpectedAnswer(detail) : new PeerError('unexpected_answer', detail, retryAfterMs)
}

/** Error codes for requests that a proxy or firewall refused, not the peer. */
const REFUSED = { size: 'request_too_large', contents: 'request_refused' } as const

/**
 * Statuses that refuse a body for its content. REFUSES_CONTENTS is for answers of a peer. REFUSES_CONTENTS_BETWEEN is
 * for answers of a firewall in front of the peer.
 */
const REFUSES_CONTENTS: readonly number[] = [400, 422]
const REFUSES_CONTENTS_BETWEEN: readonly number[] = [400, 403, 406, 414, 422, 431, 451]

function refusalOf(status: number, isOfPeer: boolean): Refusal | null {
  if (status === 413) return 'size'
  return (isOfPeer ? REFUSES_CONTENTS : REFUSES_CONTENTS_BETWEEN).includes(status) ? 'contents' : null
}

/**
 * Describes how far the clocks differ. `aheadMs`: the peer's time minus the time of our database, which stamps
 * requests.
 */
function clockText(aheadMs: number): string {
  const seconds = Math.round(Math.abs(aheadMs) / 1_000)
  return `the peer’s clock is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the clock of this database`
}

/**
 * Makes the error for an answer whose body did not end. The error is the same as for no answer: the peer may have
 * accepted the request, and the sender retries soon.
 */
function brokenOff(ended: 'cut' | 'slow'): PeerError {
  return ended === 'cut'
    ? new PeerError('reset', 'the connection was closed in the middle of the answer')
    : new PeerError('timeout', 'the answer did not end in time')
}

/** Makes the error for an invalid answer with status 200. The sender retries only after a long pause. */
export function unexpectedAnswer(detail: string): PeerError {
  return new PeerError('unexpected_answer', detail, PEER_RETRY_AFTER_NONSENSE_MS)
}
