import {
  generateKeyPairSync,
  hash,
  type KeyObject,
  sign as signWith,
  verify as verifyWith,
} from 'node:crypto'
import { SCOPES } from '../../src/ledgers/scopes.ts'
import { fromBase64Url, fromHex, toBase64, toBase64Url, toHex, utf8Encode } from '../../src/proof/bytes.ts'
import type { ProofProviders, Signer } from '../../src/proof/crypto.ts'
import { encodeEnvelope, encodeProtected, toBeSigned } from '../../src/proof/envelope/cose.ts'
import { formatIdBytes, type IdPrefix, parseIdBytes } from '../../src/proof/ids.ts'
import { canonicalize } from '../../src/proof/json/jcs.ts'
import type { JsonValue } from '../../src/proof/json/json-value.ts'
import { keyThumbprint, parsePublicKey } from '../../src/proof/keys.ts'
import { agentKeyText } from '../../src/proof/statement/agent-key.ts'
import { type BatchItem, batchRoot, itemBytes, itemLeaf } from '../../src/proof/statement/batch.ts'
import { documentDigest } from '../../src/proof/statement/document.ts'
import type { EntryKind, Subject } from '../../src/proof/statement/kinds.ts'
import { buildStatement } from '../../src/proof/statement/statement.ts'
import { genesis, link } from '../../src/proof/tree/chain.ts'
import { signCheckpoint } from '../../src/proof/tree/checkpoint.ts'
import { leafHash, merkleRoot } from '../../src/proof/tree/merkle.ts'

/*
 * A whole ledger in memory. It makes keys, appends entries of every kind like a server, and exports lines. It signs
 * everything that a test appends, valid or not, like an attacker who has stolen the envelope key.
 */

export const sha256 = (data: Uint8Array): Uint8Array => new Uint8Array(hash('sha256', data, 'buffer'))

/**
 * Providers on node:crypto, which need no native module and are fast enough. Tests of src/signing check that signatures
 * are verified strictly.
 */
export const providers: ProofProviders = {
  sha256,
  verifySignature: (key, message, signature) =>
    verifyWith(null, message, { key: Buffer.from(key.spki), format: 'der', type: 'spki' }, signature),
}

export type TestSigner = Signer & { readonly kidHex: string }

export function makeSigner(): TestSigner {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const key = parsePublicKey('EdDSA', new Uint8Array(publicKey.export({ format: 'der', type: 'spki' })))
  const kid = keyThumbprint(sha256, key)
  return { kid, kidHex: toHex(kid), key, sign: signer(privateKey) }
}

const signer = (key: KeyObject) => (message: Uint8Array) => new Uint8Array(signWith(null, message, key))

/** Ids are consecutive and the same in every run, so that tests can name them. */
let lastId = 0
export function makeId(prefix: IdPrefix): string {
  const uuid = new Uint8Array(16)
  uuid.set(fromHex('0193a1b2c3d47000800000'))
  new DataView(uuid.buffer).setUint32(12, ++lastId)
  return formatIdBytes(prefix, uuid)
}

/** Returns the ids of a batch's records. The ids are consecutive, and the low 12 bits of the first id are zero. */
export function makeRecordIds(count: number): string[] {
  lastId = Math.ceil((lastId + 1) / 4_096) * 4_096 - 1
  return Array.from({ length: count }, () => makeId('rec'))
}

export type TestDocument = {
  subject: string
  digest: string
  salt: string | null
  document: JsonValue
  references?: readonly string[] | null
  erasedBy: number | null
}
export type TestLine = {
  seq: number
  kind: string
  recordedAt: string
  leaf: string
  chain: string
  envelope: string
  documents: TestDocument[]
  items: BatchItem[] | null
  /** Envelope of the other ledger's entry; absent unless this entry receives an entry of another ledger. */
  received?: string
  signer?: { alg: string; spki: string }
}

/** Members of an entry. A test may give them values that a server would not. */
type Appending = {
  kind: EntryKind
  subjects: readonly Subject[]
  predicate: Record<string, unknown>
  documents?: TestDocument[]
  items?: BatchItem[] | null
  received?: string | undefined
  signer?: TestSigner
  /** Signer with the agent's own key; absent if the server signs. The line then contains the agent's key. */
  own?: TestSigner | undefined
  issuer?: string
  subject?: string
  issuedAtSeconds?: number
}

const START_MS = Date.parse('2026-11-20T12:00:00.000Z')

export type TestChain = ReturnType<typeof makeChain>

export function makeChain(
  options: { signer?: TestSigner; noteSigner?: TestSigner; ledger?: string; empty?: boolean } = {},
) {
  const ledger = options.ledger ?? makeId('led')
  const issuer = 'https://ledger.example'
  const origin = `ledger.example/${ledger}`
  const noteSigner = options.noteSigner ?? makeSigner()
  const firstSigner = options.signer ?? makeSigner()
  const signers = [firstSigner]
  const lines: TestLine[] = []
  const leaves: Uint8Array[] = []
  const chains: Uint8Array[] = [genesis(sha256, parseIdBytes('led', ledger))]
  const agent = makeId('agt')
  const key = makeId('key')
  const definition = {
    name: 'test',
    issuer,
    origin,
    envelopeKey: { kid: firstSigner.kidHex, alg: 'EdDSA', spki: toBase64(firstSigner.key.spki) },
    noteKey: toBase64(noteSigner.key.spki),
    types: { 'generic/1': '11'.repeat(32), 'task/1': '22'.repeat(32) },
  }

  let passedMs = 0
  /** Returns `recordedAt` of the next entry, which is one second after the last entry. */
  const nowMs = () => START_MS + lines.length * 1000 + passedMs
  const system = () => ({ ledger, actor: 'system', recordedAt: new Date(nowMs()).toISOString() })
  const acting = (actor = agent, actorKey = key) => ({
    ledger,
    actor,
    key: actorKey,
    recordedAt: new Date(nowMs()).toISOString(),
  })

  function append(entry: Appending): TestLine {
    const signing = entry.own ?? entry.signer ?? signers.at(-1)!
    const recordedAt = entry.predicate['recordedAt'] as string
    const payload = utf8Encode(buildStatement(entry.kind, entry.subjects, entry.predicate))
    const header = encodeProtected({
      alg: 'EdDSA',
      kid: signing.kid,
      issuer: entry.issuer ?? issuer,
      subject: entry.subject ?? entry.subjects[0]!.name,
      issuedAtSeconds: entry.issuedAtSeconds ?? Math.floor(Date.parse(recordedAt) / 1000),
    })
    const envelope = encodeEnvelope(header, payload, signing.sign(toBeSigned(header, payload)))
    return push(entry.kind, recordedAt, envelope, entry)
  }

  function push(
    kind: string,
    recordedAt: string,
    envelope: Uint8Array,
    entry: Pick<Appending, 'documents' | 'items' | 'received' | 'own'> = {},
  ): TestLine {
    const leaf = leafHash(sha256, envelope)
    leaves.push(leaf)
    chains.push(link(sha256, chains.at(-1)!, leaf))
    const line: TestLine = {
      seq: lines.length,
      kind,
      recordedAt,
      leaf: toHex(leaf),
      chain: toHex(chains.at(-1)!),
      envelope: toBase64(envelope),
      documents: entry.documents ?? [],
      items: entry.items ?? null,
      ...(entry.received !== undefined && { received: entry.received }),
      ...(entry.own && { signer: { alg: 'EdDSA', spki: toBase64(entry.own.key.spki) } }),
    }
    lines.push(line)
    return line
  }

  const aboutLedger = (): Subject => ({ name: ledger, sha256: digestOf(definition) })
  const chain = {
    ledger,
    issuer,
    origin,
    agent,
    key,
    definition,
    noteSigner,
    firstSigner,
    signers,
    lines,
    nowMs,
    system,
    acting,
    append,
    push,
    aboutLedger,

    pass: (ms: number): void => {
      passedMs += ms
    },

    /**
     * Removes the last entry, although a peer may have received it. The next entry takes the removed entry's position.
     */
    forget: (): void => {
      for (const list of [lines, leaves, chains]) list.pop()
    },

    create: (predicate: object = {}) =>
      append({
        kind: 'ledger-created',
        subjects: [aboutLedger()],
        predicate: { ...system(), definition, ...predicate },
      }),
    registerAgent: (id = makeId('agt'), name = 'agent', predicate: object = system()) =>
      append({
        kind: 'agent-registered',
        subjects: [{ name: id, sha256: digestOf({ agent: id, name }) }],
        predicate: { ...predicate, agent: id, name },
      }),
    disableAgent: (id: string, name = 'agent', by: object = {}) =>
      append({
        kind: 'agent-disabled',
        subjects: [{ name: id, sha256: digestOf({ agent: id, name }) }],
        predicate: { ...acting(), ...by, agent: id, name },
      }),
    createKey: (
      id: string,
      ofAgent: string,
      options: { scopes?: readonly string[]; expiresAt?: string | null; by?: object } = {},
    ) => {
      const { scopes = SCOPES, expiresAt = null, by = system() } = options
      return append({
        kind: 'key-created',
        subjects: [{ name: id, sha256: digestOf({ key: id, agent: ofAgent, scopes, expiresAt }) }],
        predicate: { ...by, agent: ofAgent, scopes, expiresAt },
      })
    },
    revokeKey: (
      id: string,
      ofAgent: string,
      scopes: readonly string[] = SCOPES,
      expiresAt: string | null = null,
      by: object = {},
    ) =>
      append({
        kind: 'key-revoked',
        subjects: [{ name: id, sha256: digestOf({ key: id, agent: ofAgent, scopes, expiresAt }) }],
        predicate: { ...acting(), ...by, agent: ofAgent, scopes, expiresAt },
      }),
    registerSigningKey: (
      key: TestSigner,
      {
        required = false,
        of = agent,
        name = 'agent',
        endorsedBy,
        by = {},
        wrong = {},
        own,
      }: {
        required?: boolean
        of?: string
        name?: string
        endorsedBy?: TestSigner
        by?: object
        wrong?: object
        own?: TestSigner
      } = {},
    ) => {
      const text = agentKeyText({ ledger, agent: of, kid: key.kidHex, required })
      return append({
        kind: 'agent-key-registered',
        subjects: [{ name: of, sha256: digestOf({ agent: of, name }) }],
        predicate: {
          ...acting(),
          ...by,
          agent: of,
          newKey: { kid: key.kidHex, alg: 'EdDSA', spki: toBase64(key.key.spki) },
          required,
          proof: toBase64(key.sign(text)),
          ...(endorsedBy && {
            endorsement: { kid: endorsedBy.kidHex, signature: toBase64(endorsedBy.sign(text)) },
          }),
          ...wrong,
        },
        own,
      })
    },
    revokeSigningKey: (key: TestSigner, by: object = {}, of = agent, name = 'agent') =>
      append({
        kind: 'agent-key-revoked',
        subjects: [{ name: of, sha256: digestOf({ agent: of, name }) }],
        predicate: { ...acting(), ...by, agent: of, kid: key.kidHex },
      }),
    registerType: (type: string, digest = '33'.repeat(32), by: object = {}) =>
      append({
        kind: 'type-registered',
        subjects: [{ name: type, sha256: digest }],
        predicate: { ...acting(), ...by },
      }),
    rotateServerKey: (next = makeSigner(), signedBy?: TestSigner) => {
      const newKey = { kid: next.kidHex, alg: 'EdDSA', spki: toBase64(next.key.spki) }
      const line = append({
        kind: 'server-key-rotated',
        subjects: [aboutLedger()],
        predicate: { ...system(), newKey },
        ...(signedBy && { signer: signedBy }),
      })
      signers.push(next)
      return line
    },
    restore: (found = { size: lines.length, chain: toHex(chains.at(-1)!) }) =>
      append({
        kind: 'ledger-restored',
        subjects: [aboutLedger()],
        predicate: { ...system(), known: { size: lines.length + 3, chain: 'ab'.repeat(32) }, found },
      }),
    notarize: (
      predicate: object = {},
      record = makeId('rec'),
      document: JsonValue = { n: lines.length },
      own?: TestSigner,
    ) => {
      const salted = saltDocument(record, document)
      return append({
        kind: 'record-notarized',
        subjects: [{ name: record, sha256: salted.digest }],
        predicate: { ...acting(), record, version: 1, type: 'generic/1', ...predicate },
        documents: [salted],
        own,
      })
    },
    notarizeBatch: (
      count: number,
      changes: {
        item?: Partial<BatchItem>
        items?: readonly Partial<BatchItem>[]
        records?: string[]
        references?: readonly string[]
        predicate?: object
        batch?: string
        own?: TestSigner
      } = {},
    ) => {
      const { references } = changes
      const documents = (changes.records ?? makeRecordIds(count)).map((record, i) => ({
        ...saltDocument(record, { i }),
        ...(references && { references }),
      }))
      const items = documents.map(({ subject, digest, salt }, i) => ({
        record: subject,
        type: 'generic/1',
        digest,
        ...(references && { references: digestWith(salt!, references) }),
        ...changes.item,
        ...changes.items?.[i],
      }))
      const root = batchRoot(
        sha256,
        items.map((item) => itemLeaf(sha256, itemBytes(item))),
      )
      const batch = changes.batch ?? makeId('bat')
      return append({
        kind: 'batch-notarized',
        subjects: [{ name: batch, sha256: toHex(root) }],
        predicate: { ...acting(), batch, count, tree: 'RFC9162_SHA256', ...changes.predicate },
        documents,
        items,
        own: changes.own,
      })
    },
    /** Appends an erasure without removing the document. */
    sayErased: (of: TestLine, index = 0, changes: { seq?: number; sha256?: string; by?: object } = {}) => {
      const { subject, digest } = of.documents[index]!
      return append({
        kind: 'payload-erased',
        subjects: [{ name: subject, sha256: changes.sha256 ?? digest }],
        predicate: { ...acting(), ...changes.by, seq: changes.seq ?? of.seq, code: 'data_subject_request' },
      })
    },
    erase: (of: TestLine, index = 0) => {
      const erasure = chain.sayErased(of, index)
      const document = of.documents[index]!
      Object.assign(document, { salt: null, document: null, erasedBy: erasure.seq })
      if (document.references) document.references = null
      return erasure
    },

    checkpoint: (
      size = lines.length,
      changes: { root?: Uint8Array; chain?: Uint8Array; signer?: Signer; origin?: string } = {},
    ) =>
      signCheckpoint(
        {
          origin: changes.origin ?? origin,
          size,
          root: changes.root ?? merkleRoot(sha256, leaves.slice(0, size)),
          chain: changes.chain ?? chains[size]!,
        },
        changes.signer ?? noteSigner,
        sha256,
      ),
    keys: () =>
      signers.map(({ kidHex, key }) => ({
        kid: kidHex,
        use: 'envelope',
        alg: 'EdDSA',
        spki: toBase64(key.spki),
        activatedAt: '2026-11-20T12:00:00.000Z',
        retiredAt: null as string | null,
        compromisedAt: null as string | null,
      })),
    exportLines: (note: string | null = chain.checkpoint()) => [
      JSON.stringify({ export: 1, ledger: { id: ledger, name: 'test', issuer, origin }, keys: chain.keys() }),
      ...lines.map((line) => JSON.stringify(line)),
      JSON.stringify({ checkpoint: note }),
    ],
  }
  if (!options.empty) {
    chain.create()
    chain.registerAgent(agent)
    chain.createKey(key, agent)
  }
  return chain
}

export function digestOf(value: JsonValue | object): string {
  return toHex(sha256(utf8Encode(canonicalize(value as JsonValue))))
}

let lastSalt = 0
export function saltDocument(subject: string, document: JsonValue): TestDocument {
  const bytes = new Uint8Array(16)
  new DataView(bytes.buffer).setUint32(0, ++lastSalt)
  const salt = toBase64Url(bytes)
  return { subject, digest: digestWith(salt, document), salt, document, erasedBy: null }
}

/** Returns the digest of a document, or of references, with this salt (base64url). */
export function digestWith(salt: string, document: JsonValue | readonly string[]): string {
  return toHex(documentDigest(sha256, fromBase64Url(salt), utf8Encode(canonicalize(document as JsonValue))))
}
