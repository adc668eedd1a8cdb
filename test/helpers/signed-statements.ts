import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { encode, rfc8949EncodeOptions, Tagged } from 'cborg'
import type { NewLedger } from '../../src/ledgers/create-ledger.ts'
import { toBase64, utf8Encode } from '../../src/proof/bytes.ts'
import { toBeSigned } from '../../src/proof/envelope/cose.ts'
import { expectStatus, type TestApp } from './app.ts'

/* Makes Signed Statements like other issuers. The COSE code is independent of ours, except for the Sig_structure. */

export type Issuer = {
  readonly issuer: string
  readonly alg: 'EdDSA' | 'ES256'
  readonly kid: Uint8Array
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  /** The key as a registration policy lists it. */
  readonly key: { readonly kid: string; readonly alg: 'EdDSA' | 'ES256'; readonly spki: string }
}

export function makeIssuer(
  issuer = 'https://build.example',
  alg: Issuer['alg'] = 'EdDSA',
  name = 'k1',
): Issuer {
  const { publicKey, privateKey } =
    alg === 'EdDSA' ? generateKeyPairSync('ed25519') : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const kid = utf8Encode(name)
  const spki = toBase64(publicKey.export({ format: 'der', type: 'spki' }))
  return {
    issuer,
    alg,
    kid,
    privateKey,
    publicKey,
    key: { kid: Buffer.from(kid).toString('hex'), alg, spki },
  }
}

export type StatementParts = {
  readonly subject?: string
  readonly contentType?: string
  readonly payload?: Uint8Array
  /** Changes of the protected header. A member with the value undefined is removed. */
  readonly header?: ReadonlyMap<unknown, unknown>
  readonly unprotected?: ReadonlyMap<unknown, unknown>
}

const ALGS = { EdDSA: -8, ES256: -7 }

export function signStatement(by: Issuer, parts: StatementParts = {}): Uint8Array {
  const {
    subject = 'pkg:generic/copper@1',
    contentType = 'application/json',
    unprotected = new Map(),
  } = parts
  const { payload = utf8Encode('{"built":"copper"}') } = parts
  const header = new Map<unknown, unknown>([
    [1, ALGS[by.alg]],
    [3, contentType],
    [4, by.kid],
    [
      15,
      new Map([
        [1, by.issuer],
        [2, subject],
      ]),
    ],
  ])
  for (const [label, value] of parts.header ?? []) {
    if (value === undefined) header.delete(label)
    else header.set(label, value)
  }
  const protectedBytes = encode(header, rfc8949EncodeOptions)
  return encodeSign1([protectedBytes, unprotected, payload, signBytes(by, protectedBytes, payload)])
}

export function signBytes(by: Issuer, protectedBytes: Uint8Array, payload: Uint8Array): Uint8Array {
  const message = toBeSigned(protectedBytes, payload)
  return by.alg === 'EdDSA'
    ? sign(null, message, by.privateKey)
    : sign('sha256', message, { key: by.privateKey, dsaEncoding: 'ieee-p1363' })
}

export function encodeSign1(parts: readonly unknown[]): Uint8Array {
  return new Uint8Array(encode(new Tagged(18, parts), rfc8949EncodeOptions))
}

export async function setPolicy(
  app: TestApp,
  issuers: readonly Issuer[],
  { contentTypes, key }: { readonly contentTypes?: readonly string[]; readonly key?: string } = {},
) {
  const body = {
    issuers: issuers.map(({ issuer, key }) => ({ issuer, keys: [key] })),
    ...(contentTypes && { contentTypes }),
  }
  const options = { body, ...(key !== undefined && { key }) }
  return expectStatus(200, await app.send('PUT', '/v1/registration-policy', options)).json()
}

/** Registers a statement of a new issuer. Returns the statement as it is in the list of statements. */
export async function addStatement(app: TestApp, { key: { key } }: NewLedger = app.ledger) {
  const issuer = makeIssuer()
  await setPolicy(app, [issuer], { key })
  const headers = { 'content-type': 'application/cose', accept: 'application/json' }
  const text = Buffer.from(signStatement(issuer))
  return expectStatus(201, await app.send('POST', '/entries', { key, text, headers })).json()
}
