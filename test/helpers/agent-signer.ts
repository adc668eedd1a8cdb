import { generateKeyPairSync, type KeyObject, randomBytes, sign as signWith } from 'node:crypto'
import { fromHex, toBase64, toBase64Url, toHex, utf8Encode } from '../../src/proof/bytes.ts'
import type { PublicKey, SignatureAlgorithm } from '../../src/proof/crypto.ts'
import { encodeEnvelope, encodeProtected, toBeSigned } from '../../src/proof/envelope/cose.ts'
import { formatId, type Uuid } from '../../src/proof/ids.ts'
import { canonicalize } from '../../src/proof/json/jcs.ts'
import type { JsonValue } from '../../src/proof/json/json-value.ts'
import { keyThumbprint, parsePublicKey } from '../../src/proof/keys.ts'
import { hasLowS } from '../../src/proof/p256-low-s.ts'
import { agentKeyText } from '../../src/proof/statement/agent-key.ts'
import { batchRoot, itemBytes, itemLeaf } from '../../src/proof/statement/batch.ts'
import { firstRecordId, formatRecordIds, ownRecordId } from '../../src/proof/statement/batch-ids.ts'
import { documentDigest } from '../../src/proof/statement/document.ts'
import type { EntryKind, Subject } from '../../src/proof/statement/kinds.ts'
import { buildStatement } from '../../src/proof/statement/statement.ts'
import { makeEntropy } from '../../src/signing/entropy.ts'
import { expectStatus, type TestApp } from './app.ts'
import { sha256 } from './test-chain.ts'

/*
 * An agent that signs its own entries, correctly or with faults. It uses the format functions and node:crypto instead
 * of the SDK, so that a test can change any member.
 */

export type TestAgentKey = {
  readonly kid: string
  readonly key: PublicKey
  readonly sign: (message: Uint8Array) => Uint8Array
}

const ORDER = BigInt('0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551')

export function makeAgentKey(alg: SignatureAlgorithm = 'EdDSA'): TestAgentKey {
  const pair =
    alg === 'EdDSA' ? generateKeyPairSync('ed25519') : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = parsePublicKey(alg, new Uint8Array(pair.publicKey.export({ format: 'der', type: 'spki' })))
  return {
    kid: toHex(keyThumbprint(sha256, key)),
    key,
    sign: (message) => signAs(alg, pair.privateKey, message),
  }
}

function signAs(alg: SignatureAlgorithm, key: KeyObject, message: Uint8Array): Uint8Array {
  if (alg === 'EdDSA') return new Uint8Array(signWith(null, message, key))
  const signature = new Uint8Array(signWith('sha256', message, { key, dsaEncoding: 'ieee-p1363' }))
  return hasLowS(signature) ? signature : withOtherS(signature)
}

/** Returns (r, n - s) for the signature (r, s). */
export function withOtherS(signature: Uint8Array): Uint8Array {
  const s = ORDER - BigInt(`0x${toHex(signature.subarray(32))}`)
  return new Uint8Array([...signature.subarray(0, 32), ...fromHex(s.toString(16).padStart(64, '0'))])
}

export type Signing = {
  readonly ledger: string
  readonly issuer: string
  readonly agent: string
  readonly key: string
}

export function signingOf({ ledger: { ledger, agent, key } }: TestApp): Signing {
  return { ledger: ledger.id, issuer: ledger.issuer, agent: agent.id, key: key.id }
}

/** Members whose values differ from those of an honest agent. */
export type Otherwise = {
  readonly atMs?: number
  readonly predicate?: object
  readonly signature?: (signature: Uint8Array) => Uint8Array
  readonly issuer?: string
  readonly record?: string
}

export function signEnvelope(
  by: TestAgentKey,
  who: Signing,
  said: { readonly kind: EntryKind; readonly subjects: readonly Subject[]; readonly predicate: object },
  { atMs = Date.now(), predicate, signature = (made) => made, issuer = who.issuer }: Otherwise = {},
): string {
  const statement = utf8Encode(
    buildStatement(said.kind, said.subjects, {
      ledger: who.ledger,
      actor: who.agent,
      key: who.key,
      recordedAt: new Date(atMs).toISOString(),
      ...said.predicate,
      ...predicate,
    }),
  )
  const header = encodeProtected({
    alg: by.key.alg,
    kid: fromHex(by.kid),
    issuer,
    subject: said.subjects[0]!.name,
    issuedAtSeconds: Math.floor(atMs / 1000),
  })
  return toBase64(encodeEnvelope(header, statement, signature(by.sign(toBeSigned(header, statement)))))
}

const entropy = makeEntropy()

export function makeSalt(): Uint8Array {
  return new Uint8Array(randomBytes(16))
}

function digestOf(document: unknown, salt: Uint8Array): string {
  return toHex(documentDigest(sha256, salt, utf8Encode(canonicalize(document as JsonValue))))
}

/** Returns a body for POST /v1/records, signed by the agent. */
export function signedRecord(
  by: TestAgentKey,
  who: Signing,
  payload: object = { tool: 'search' },
  otherwise: Otherwise = {},
) {
  const salt = makeSalt()
  const record =
    otherwise.record ?? formatId('rec', ownRecordId(entropy.uuidv7(otherwise.atMs ?? Date.now())))
  const said = {
    kind: 'record-notarized',
    subjects: [{ name: record, sha256: digestOf(payload, salt) }],
    predicate: { record, version: 1, type: 'generic/1' },
  } as const
  const envelope = signEnvelope(by, who, said, otherwise)
  return { type: 'generic/1', payload, salt: toBase64Url(salt), envelope }
}

type TestItem = { readonly payload: object; readonly onBehalfOf?: string }

/** Returns a body for POST /v1/records/batch, signed by the agent. */
export function signedBatch(
  by: TestAgentKey,
  who: Signing,
  items: readonly TestItem[],
  otherwise: Otherwise & { readonly first?: Uuid } = {},
) {
  const first = otherwise.first ?? firstRecordId(entropy.uuidv7(otherwise.atMs ?? Date.now()))
  const batch = formatId('bat', first)
  const ids = formatRecordIds(first, items.length)
  const records = items.map((item) => ({ type: 'generic/1', ...item, salt: makeSalt() }))
  const leaves = records.map(({ salt, payload, ...item }, i) =>
    itemLeaf(sha256, itemBytes({ record: ids[i]!, digest: digestOf(payload, salt), ...item })),
  )
  const said = {
    kind: 'batch-notarized',
    subjects: [{ name: batch, sha256: toHex(batchRoot(sha256, leaves)) }],
    predicate: { batch, count: items.length, tree: 'RFC9162_SHA256' },
  } as const
  return {
    records: records.map((record) => ({ ...record, salt: toBase64Url(record.salt) })),
    envelope: signEnvelope(by, who, said, otherwise),
  }
}

export function keyRegistration(
  { ledger, agent }: Pick<Signing, 'ledger' | 'agent'>,
  key: TestAgentKey,
  { required = false, endorsedBy }: { readonly required?: boolean; readonly endorsedBy?: TestAgentKey } = {},
) {
  const text = agentKeyText({ ledger, agent, kid: key.kid, required })
  return {
    alg: key.key.alg,
    spki: toBase64(key.key.spki),
    proof: toBase64(key.sign(text)),
    required,
    ...(endorsedBy && { endorsement: { kid: endorsedBy.kid, signature: toBase64(endorsedBy.sign(text)) } }),
  }
}

export async function addSigningKey(
  app: TestApp,
  options: {
    readonly alg?: SignatureAlgorithm
    readonly required?: boolean
    readonly endorsedBy?: TestAgentKey
  } = {},
): Promise<TestAgentKey> {
  const who = signingOf(app)
  const key = makeAgentKey(options.alg)
  const body = keyRegistration(who, key, options)
  expectStatus(201, await app.send('POST', `/v1/agents/${who.agent}/signing-keys`, { body }))
  return key
}
