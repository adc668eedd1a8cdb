import {
  equalBytes,
  fromBase64,
  fromBase64Url,
  toBase64,
  toBase64Url,
  toHex,
  utf8Encode,
} from '../../proof/bytes.ts'
import {
  HASH_BYTES,
  type PublicKey,
  SIGNATURE_BYTES,
  type Signer,
  type VerifySignature,
} from '../../proof/crypto.ts'
import { ProofError } from '../../proof/error.ts'
import { type IdPrefix, isId } from '../../proof/ids.ts'
import { nativeProviders } from '../../signing/native.ts'
import { StacklessError } from '../../stackless-error.ts'
import { PEER_CLOCK_WINDOW_MS } from './limits.ts'

/*
 * Signatures of requests between peers: one profile of RFC 9421 with RFC 9530 (docs/formats/federation.md, "Requests").
 *
 * The profile leaves no choices. Each header has exactly one spelling, so the receiver only compares. A more liberal
 * receiver would have to interpret two labels, a component that is covered twice, or an unknown parameter.
 */

const CONTENT_DIGEST = 'content-digest'
const PEERING = 'tallystick-peering'
const FROM = 'tallystick-from'
const TO = 'tallystick-to'
const SIGNATURE_INPUT = 'signature-input'
const SIGNATURE = 'signature'

export const NONCE_BYTES = 16

const LABEL = 'tallystick'
const COMPONENTS = ['@method', '@target-uri', CONTENT_DIGEST, PEERING, FROM, TO] as const
const COVERED = `(${COMPONENTS.map((name) => `"${name}"`).join(' ')})`
const TAG = 'tallystick-federation-v1'

/** `created` has exactly 10 digits. A time in seconds has 10 digits until the year 2286. */
const PARAMETERS = new RegExp(
  `^;created=(?<created>[1-9][0-9]{9});nonce="(?<nonce>[\\w-]{22})";keyid="(?<keyid>[0-9a-f]{64})";alg="ed25519";tag="${TAG}"$`,
)
/** Only visible ASCII is allowed, because a line feed would begin another component of the signature base. */
const TARGET_URI = /^[\x21-\x7e]+$/
const METHOD = /^[A-Z]+$/

/**
 * Input of a signature.
 *
 * - `targetUri`: the receiver's public URL followed by the path.
 * - `peering`: id of the peering, `peer_…`.
 * - `from`, `to`: ids of the sender's and the receiver's ledger, `led_…`.
 */
type SignedRequest = {
  readonly method: string
  readonly targetUri: string
  readonly body: Uint8Array | string
  readonly peering: string
  readonly from: string
  readonly to: string
}

/** Headers of a signed request. They are trusted only after `verifyRequestSignature` has returned true. */
export type RequestSignature = {
  readonly peering: string
  readonly from: string
  readonly to: string
  /** Kid of the signing key, in hex. */
  readonly keyid: string
  readonly createdMs: number
  /** 16 bytes. */
  readonly nonce: Uint8Array
  /** 32 bytes. */
  readonly contentDigest: Uint8Array
  readonly base: Uint8Array
  /** 64 bytes. */
  readonly signature: Uint8Array
}

/** Headers as Node returns them: names in lower case, repeated headers joined. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** Error codes, in the order of the checks. */
export type RequestSignatureErrorCode = 'peer_unknown' | 'signature_malformed'

export class RequestSignatureError extends StacklessError {
  readonly code: RequestSignatureErrorCode

  constructor(code: RequestSignatureErrorCode, detail: string) {
    super(detail)
    this.name = 'RequestSignatureError'
    this.code = code
  }
}

/**
 * Returns the headers of a signed request, except `content-type`. `nonce`: 16 bytes that were never used before.
 * Throws if the key is not Ed25519.
 */
export function signRequest(
  { method, targetUri, body, peering, from, to }: SignedRequest,
  signer: Signer,
  { nowMs, nonce }: { readonly nowMs: number; readonly nonce: Uint8Array },
): Record<string, string> {
  if (signer.key.alg !== 'EdDSA')
    throw new TypeError(`requests must be signed with Ed25519, not ${signer.key.alg}`)
  const headers = {
    [CONTENT_DIGEST]: `sha-256=:${toBase64(digestOf(body))}:`,
    [PEERING]: peering,
    [FROM]: from,
    [TO]: to,
  }
  const parameters = [
    COVERED,
    `created=${Math.floor(nowMs / 1000)}`,
    `nonce="${toBase64Url(nonce)}"`,
    `keyid="${toHex(signer.kid)}"`,
    'alg="ed25519"',
    `tag="${TAG}"`,
  ].join(';')
  const base = makeSignatureBase(coveredOf(method, targetUri, headers), parameters)
  const signed = {
    ...headers,
    [SIGNATURE_INPUT]: `${LABEL}=${parameters}`,
    [SIGNATURE]: `${LABEL}=:${toBase64(signer.sign(base))}:`,
  }
  parseRequestSignature(signed, { method, targetUri })
  return signed
}

/**
 * Parses the headers, in exactly the form that `signRequest` writes.
 *
 * `method`, `targetUri`: values of the request as the receiver knows them, never taken from a header. So a signature
 * for another target is invalid here.
 *
 * Throws RequestSignatureError. The code is `peer_unknown` if one of the three headers that name the peering is missing
 * or is not an id; otherwise `signature_malformed`.
 */
export function parseRequestSignature(
  headers: RequestHeaders,
  { method, targetUri }: Pick<SignedRequest, 'method' | 'targetUri'>,
): RequestSignature {
  const peering = parseIdHeader(headers, PEERING, 'peer')
  const from = parseIdHeader(headers, FROM, 'led')
  const to = parseIdHeader(headers, TO, 'led')
  if (!METHOD.test(method) || !TARGET_URI.test(targetUri))
    throw new RequestSignatureError('signature_malformed', 'the method or the target cannot be signed')

  const parameters = readParameters(headers)
  const covered = coveredOf(method, targetUri, headers)
  return {
    peering,
    from,
    to,
    keyid: parameters.keyid,
    createdMs: parameters.createdMs,
    nonce: parameters.nonce,
    contentDigest: parseBytes(headers, CONTENT_DIGEST, 'sha-256', HASH_BYTES),
    base: makeSignatureBase(covered, parameters.text),
    signature: parseBytes(headers, SIGNATURE, LABEL, SIGNATURE_BYTES),
  }
}

/**
 * Returns true if the key signed the request. `key`: the key with the kid `keyid` among the keys of the ledger `from`.
 */
export function verifyRequestSignature(
  { base, signature }: Pick<RequestSignature, 'base' | 'signature'>,
  key: PublicKey,
  verifySignature: VerifySignature,
): boolean {
  return key.alg === 'EdDSA' && verifySignature(key, base, signature)
}

/** Returns true if the digest matches the body. `body`: the bytes as received, before any parsing. */
export function verifyContentDigest(
  { contentDigest }: Pick<RequestSignature, 'contentDigest'>,
  body: Uint8Array | string,
): boolean {
  return equalBytes(contentDigest, digestOf(body))
}

/**
 * Returns true if the request's time is within PEER_CLOCK_WINDOW_MS of our time, in either direction. A nonce must be
 * stored for twice the window, because a request can be within the window for that long.
 */
export function isWithinWindow(createdMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - createdMs) <= PEER_CLOCK_WINDOW_MS
}

/**
 * Builds the signature base (RFC 9421 §2.5). `components`: identifiers with their values, in order. `parameters`: the
 * parameters of `Signature-Input`. No value may contain a line feed.
 */
export function makeSignatureBase(
  components: readonly (readonly [identifier: string, value: string])[],
  parameters: string,
): Uint8Array {
  const lines = [...components, ['@signature-params', parameters]].map(
    ([name, value]) => `"${name}": ${value}`,
  )
  return utf8Encode(lines.join('\n'))
}

function coveredOf(
  method: string,
  targetUri: string,
  headers: RequestHeaders,
): (readonly [identifier: string, value: string])[] {
  return COMPONENTS.map((name) => {
    if (name === '@method') return [name, method]
    if (name === '@target-uri') return [name, targetUri]
    return [name, textOf(headers, name)]
  })
}

function readParameters(headers: RequestHeaders): {
  readonly text: string
  readonly createdMs: number
  readonly nonce: Uint8Array
  readonly keyid: string
} {
  const text = textOf(headers, SIGNATURE_INPUT)
  const head = `${LABEL}=${COVERED}`
  if (!text.startsWith(head)) throw malformed(SIGNATURE_INPUT)
  const found = PARAMETERS.exec(text.slice(head.length))?.groups
  if (!found) throw malformed(SIGNATURE_INPUT)
  return {
    text: text.slice(LABEL.length + 1),
    createdMs: Number(found['created']) * 1000,
    nonce: decode(fromBase64Url, found['nonce']!, NONCE_BYTES, SIGNATURE_INPUT),
    keyid: found['keyid']!,
  }
}

function parseIdHeader(headers: RequestHeaders, name: string, prefix: IdPrefix): string {
  const value = headers[name]
  if (typeof value === 'string' && isId(prefix, value)) return value
  throw new RequestSignatureError('peer_unknown', `${name} is missing or not an id`)
}

/** Parses a structured field: a dictionary of one member, whose value is a byte sequence (RFC 8941 §3.2, §3.3.5). */
function parseBytes(headers: RequestHeaders, header: string, name: string, bytes: number): Uint8Array {
  const text = textOf(headers, header)
  const head = `${name}=:`
  if (!text.startsWith(head) || !text.endsWith(':')) throw malformed(header)
  return decode(fromBase64, text.slice(head.length, -1), bytes, header)
}

function decode(from: (text: string) => Uint8Array, text: string, bytes: number, header: string): Uint8Array {
  try {
    const decoded = from(text)
    if (decoded.length === bytes) return decoded
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
  }
  throw malformed(header)
}

/** Returns a header's value. Throws if the header is repeated, because it is unclear which value the sender signed. */
function textOf(headers: RequestHeaders, name: string): string {
  const value = headers[name]
  if (typeof value !== 'string') throw malformed(name)
  return value
}

function malformed(header: string): RequestSignatureError {
  return new RequestSignatureError(
    'signature_malformed',
    `${header} does not have the form of docs/formats/federation.md`,
  )
}

function digestOf(body: Uint8Array | string): Uint8Array {
  return nativeProviders.sha256(typeof body === 'string' ? utf8Encode(body) : body)
}
