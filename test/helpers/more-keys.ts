import { appendEntries, type EntryRow } from '../../src/db/chain/append-entries.ts'
import { hashKey, makeApiKey } from '../../src/ledgers/api-keys.ts'
import type { NewLedger } from '../../src/ledgers/create-ledger.ts'
import type { Scope } from '../../src/ledgers/scopes.ts'
import { formatId, parseId, type Uuid } from '../../src/proof/ids.ts'
import type { EntryKind } from '../../src/proof/statement/kinds.ts'
import { buildStatement } from '../../src/proof/statement/statement.ts'
import { signEntry } from '../../src/signing/sign-entry.ts'
import type { TestApp } from './app.ts'
import { sha256 } from './open-envelope.ts'

/** Another agent of the ledger, by the entry that the route would append. */
export async function addAgent(app: TestApp, name: string, ledger: NewLedger = app.ledger): Promise<string> {
  const id = app.deps.entropy.uuidv7(Date.now())
  const agent = formatId('agt', id)
  const digest = sha256(`{"agent":"${agent}","name":${JSON.stringify(name)}}`)
  await append(app, ledger, 'agent-registered', { id, name: agent, digest }, { agent, name }, { name })
  return agent
}

/** Another key of the ledger, of its first agent where none is given; the secret. */
export async function addKey(
  app: TestApp,
  options: { scopes: readonly Scope[]; agent?: string; expiresAtMs?: number; ledger?: NewLedger },
): Promise<string> {
  const ledger = options.ledger ?? app.ledger
  const agent = options.agent ?? ledger.agent.id
  const id = app.deps.entropy.uuidv7(Date.now())
  const key = formatId('key', id)
  const scopes = [...options.scopes].sort()
  const expiresAt = options.expiresAtMs === undefined ? null : new Date(options.expiresAtMs).toISOString()
  const secret = makeApiKey(parseId('led', ledger.ledger.id))
  const digest = sha256(JSON.stringify({ agent, expiresAt, key, scopes })) // its members are in JCS order
  const agentId = parseId('agt', agent)
  const secretHash = hashKey(secret)
  const expiresAtMs = options.expiresAtMs ?? null
  const mac = app.deps.keyMac.of({ ledger: ledger.ledger.id, key, agent, scopes, expiresAtMs, secretHash })
  const hex = { secretHash: secretHash.toString('hex'), mac: mac.toString('hex') }
  const columns = { agentId, name: `key ${key}`, scopes, ...hex, expiresAt }
  await append(app, ledger, 'key-created', { id, name: key, digest }, { agent, scopes, expiresAt }, columns)
  return secret
}

async function append(
  app: TestApp,
  ledger: NewLedger,
  kind: EntryKind,
  subject: { id: Uuid; name: string; digest: Buffer },
  predicate: object,
  columns: object,
): Promise<void> {
  const signer = await app.deps.signers.load()
  const recordedAtMs = Date.now()
  const statement = buildStatement(kind, [{ name: subject.name, sha256: subject.digest.toString('hex') }], {
    ledger: ledger.ledger.id,
    actor: ledger.agent.id,
    key: ledger.key.id,
    recordedAt: new Date(recordedAtMs).toISOString(),
    ...predicate,
  })
  const about = { issuer: ledger.ledger.issuer, subject: subject.name, recordedAtMs }
  const entry: EntryRow = {
    ledgerId: parseId('led', ledger.ledger.id),
    kind,
    subjectId: subject.id,
    version: null,
    toState: null,
    previousLeaf: null,
    actorId: parseId('agt', ledger.agent.id),
    keyId: parseId('key', ledger.key.id),
    kid: signer.kid,
    recordedAtMs,
    ...signEntry(signer, about, statement),
    idempotency: null,
    detail: columns,
    records: [],
  }
  const client = await app.deps.writePool.connect()
  try {
    const [answer] = await appendEntries(client, [entry])
    if (answer?.outcome !== 'appended') throw new Error(`append_entries answered ${answer?.outcome}`)
  } finally {
    client.release()
  }
}
