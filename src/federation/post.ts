import { randomBytes } from 'node:crypto'
import type { DrainedPeer } from '../db/peer-turns.ts'
import type { Connector } from '../outbound/connector.ts'
import { OutboundError } from '../outbound/error.ts'
import { PEER_ANSWER_BYTES_MAX } from '../peer-limits.ts'
import { utf8Decode } from '../proof/bytes.ts'
import { ProofError } from '../proof/error.ts'
import { isObject } from '../proof/fields.ts'
import { formatId } from '../proof/ids.ts'
import { type JsonObject, type JsonValue, parseJsonText } from '../proof/json-text.ts'
import type { Signers } from '../signing/signers.ts'
import { isCode } from './answer-fields.ts'
import { NONCE_BYTES, signRequest } from './http-signature.ts'

export type PostDeps = {
  readonly connector: Connector
  readonly signers: Signers
  readonly now: () => number
  readonly userAgent: string
}

/** Why a peer has not taken a request. `code`: of its problem document, or of ours. */
export class PeerError extends Error {
  readonly code: string
  /** As the peer asks; null where it does not. */
  readonly retryAfterMs: number | null

  constructor(code: string, detail: string, retryAfterMs: number | null = null) {
    super(`${code}: ${detail}`)
    this.name = 'PeerError'
    this.code = code
    this.retryAfterMs = retryAfterMs
  }
}

/**
 * Posts to the server of a peer, signed by the ledger's key, and answers the JSON object of a 200. Throws PeerError for every other
 * end: the peer may then have done what the request asks, or not. The answer is not signed; what it holds must be.
 */
export async function postToPeer(
  deps: PostDeps,
  peer: DrainedPeer,
  { path, body, signal }: { readonly path: string; readonly body: string; readonly signal: AbortSignal },
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
  try {
    const answer = await deps.connector.post({
      url,
      headers: { 'content-type': 'application/json', 'user-agent': deps.userAgent, ...headers },
      body,
      signal,
      answerBytesMax: PEER_ANSWER_BYTES_MAX,
    })
    const json = answer.body === null ? null : parseAnswer(answer.body)
    if (answer.status === 200 && json !== null && isObject(json)) return json
    throw problemOf(answer.status, json, answer.retryAfterMs)
  } catch (error) {
    if (error instanceof OutboundError) throw new PeerError(error.code, error.message)
    throw error
  }
}

/** null: it is no JSON. */
function parseAnswer(body: Buffer): JsonValue | null {
  try {
    return parseJsonText(utf8Decode(body))
  } catch (error) {
    if (error instanceof ProofError) return null
    throw error
  }
}

/** A tenant reads it: of what the peer says only the code, and that only if it is one. */
function problemOf(status: number, json: JsonValue | null, retryAfterMs: number | null): PeerError {
  const code = json !== null && isObject(json) ? json['code'] : null
  return isCode(code)
    ? new PeerError(code, `the peer answered ${status}`, retryAfterMs)
    : new PeerError('unexpected_answer', `the peer answered ${status}, and not as a peer does`, retryAfterMs)
}
