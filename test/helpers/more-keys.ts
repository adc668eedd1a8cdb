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

/** Adds an agent to the ledger with the same entry that the route would append. */
export async function addAgent(app: TestApp, name: string, ledger: NewLedger = app.ledger): Promise<string> {
  const { agent, entry } = makeAgent(app, name)
  await append(app, ledger, [entry])
  return agent
}

type KeyOptions = { scopes: readonly Scope[]; agent?: string; expiresAtMs?: number; ledger?: NewLedger }

/** Adds a key to the ledger and returns its secret. By default the key belongs to the ledger's first agent. */
export async function addKey(app: TestApp, options: KeyOptions): Promise<string> {
  const { secret, entry } = makeKey(app, options)
  await append(app, options.ledger ?? app.ledger, [entry])
  return secret
}

export async function addAgentsWithKeys<Name extends string>(
  app: TestApp,
  scopes: Readonly<Record<Name, readonly Scope[]>>,
): Promise<Record<Name, { readonly id: string; readonly key: string }>> {
  const entries: NewEntry[] = []
  const made: Record<string, { readonly id: string; readonly key: string }> = {}
  for (const name of Object.keys(scopes) as Name[]) {
    const { agent, entry } = makeAgent(app, name)
    const { secret, entry: keyEntry } = makeKey(app, { agent, scopes: scopes[name] })
    entries.push(entry, keyEntry)
    made[name] = { id: agent, key: secret }
  }
  await append(app, app.ledger, entries)
  return made as Record<Name, { readonly id: string; readonly key: string }>
}

type NewEntry = {
  readonly kind: EntryKind
  readonly subject: { readonly id: Uuid; readonly name: string; readonly digest: Buffer }
  readonly predicate: object
  readonly columns: object
}

function makeAgent(app: TestApp, name: string): { agent: string; entry: NewEntry } {
  const id = app.deps.entropy.uuidv7(Date.now())
  const agent = formatId('agt', id)
  const digest = sha256(`{"agent":"${agent}","name":${JSON.stringify(name)}}`)
  const subject = { id, name: agent, digest }
  return {
    agent,
    entry: { kind: 'agent-registered', subject, predicate: { agent, name }, columns: { name } },
  }
}

function makeKey(app: TestApp, options: KeyOptions): { secret: string; entry: NewEntry } {
  const ledger = options.ledger ?? app.ledger
  const agent = options.agent ?? ledger.agent.id
  const id = app.deps.entropy.uuidv7(Date.now())
  const key = formatId('key', id)
  const scopes = [...options.scopes].sort()
  const expiresAt = options.expiresAtMs === undefined ? null : new Date(options.expiresAtMs).toISOString()
  const secret = makeApiKey(parseId('led', ledger.ledger.id))
  const digest = sha256(JSON.stringify({ agent, expiresAt, key, scopes })) // The members are in the order of JCS.
  const agentId = parseId('agt', agent)
  const secretHash = hashKey(secret)
  const expiresAtMs = options.expiresAtMs ?? null
  const mac = app.deps.keyMac.of({ ledger: ledger.ledger.id, key, agent, scopes, expiresAtMs, secretHash })
  const hex = { secretHash: secretHash.toString('hex'), mac: mac.toString('hex') }
  const columns = { agentId, name: `key ${key}`, scopes, ...hex, expiresAt }
  const subject = { id, name: key, digest }
  return { secret, entry: { kind: 'key-created', subject, predicate: { agent, scopes, expiresAt }, columns } }
}

async function append(app: TestApp, ledger: NewLedger, entries: readonly NewEntry[]): Promise<void> {
  const signer = await app.deps.signers.load()
  const recordedAtMs = Date.now()
  const rows = entries.map(({ kind, subject, predicate, columns }): EntryRow => {
    const digest = { name: subject.name, sha256: subject.digest.toString('hex') }
    const statement = buildStatement(kind, [digest], {
      ledger: ledger.ledger.id,
      actor: ledger.agent.id,
      key: ledger.key.id,
      recordedAt: new Date(recordedAtMs).toISOString(),
      ...predicate,
    })
    const about = { issuer: ledger.ledger.issuer, subject: subject.name, recordedAtMs }
    return {
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
      detail: columns as EntryRow['detail'],
      records: [],
      chunks: [],
      itemCount: null,
    }
  })
  const client = await app.deps.writePool.connect()
  try {
    const answers = await appendEntries(client, rows)
    const refused = answers.find(({ outcome }) => outcome !== 'appended')
    if (refused) throw new Error(`append_entries answered ${refused.outcome}`)
  } finally {
    client.release()
  }
}
