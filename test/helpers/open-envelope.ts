import { createHash, createPublicKey, verify } from 'node:crypto'
import canonicalize from 'canonicalize'
import { decode, encode, Tagged } from 'cborg'

/*
 * Second implementation of docs/formats, for tests of the server. It shares no code with src/proof, so that an error
 * there is not repeated here.
 */

export type PublishedKey = { kid: string; use: string; alg: string; spki: string }

type OpenedEnvelope = {
  readonly header: ReadonlyMap<number, unknown>
  readonly claims: ReadonlyMap<number, unknown>
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
  readonly statement: any
}

/**
 * Verifies the signature with the published key that the envelope names. Returns the content. Throws if the signature
 * or the envelope is invalid.
 */
export function openEnvelope(base64: string, keys: readonly PublishedKey[]): OpenedEnvelope {
  const bytes = Buffer.from(base64, 'base64')
  const tagged = decode(bytes, { useMaps: true, tags: Tagged.preserve(18), strict: true }) as Tagged
  const [protectedBytes, unprotected, payload, signature] = tagged.value as [
    Uint8Array,
    Map<unknown, unknown>,
    Uint8Array,
    Uint8Array,
  ]
  if (unprotected.size !== 0) throw new Error('the unprotected header is not empty')
  const header = decode(protectedBytes, { useMaps: true, strict: true }) as Map<number, unknown>
  const kid = Buffer.from(header.get(4) as Uint8Array).toString('hex')
  const published = keys.find((key) => key.kid === kid)
  if (!published) throw new Error(`the keys document has no key ${kid}`)
  const key = createPublicKey({ key: Buffer.from(published.spki, 'base64'), format: 'der', type: 'spki' })
  const signed = encode(['Signature1', protectedBytes, new Uint8Array(0), payload])
  if (!verify(null, signed, key, signature)) throw new Error('the signature does not hold')
  const statement = JSON.parse(Buffer.from(payload).toString('utf8'))
  return { header, claims: header.get(15) as Map<number, unknown>, statement }
}

export function sha256(...parts: (Uint8Array | string)[]): Buffer {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

export function digestOf(salt: string, document: unknown): string {
  return sha256(Buffer.of(3), Buffer.from(salt, 'base64url'), canonicalize(document)!).toString('hex')
}

export function leafOf(bytes: Uint8Array | string): Buffer {
  return sha256(Buffer.of(0), bytes)
}

/** Returns the Merkle root by the recursive definition of RFC 9162 §2.1.1. */
export function rootOf(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return sha256('')
  if (leaves.length === 1) return leaves[0]!
  let split = 1
  while (split * 2 < leaves.length) split *= 2
  return sha256(Buffer.of(1), rootOf(leaves.slice(0, split)), rootOf(leaves.slice(split)))
}

export function itemLeafOf(item: object): Buffer {
  return leafOf(canonicalize(item)!)
}

export function linkOf(previous: string, leaf: string): string {
  return sha256(Buffer.of(2), Buffer.from(previous, 'hex'), Buffer.from(leaf, 'hex')).toString('hex')
}
