import type pg from 'pg'
import { toApiError } from '../append/append-one.ts'
import { commitTogether } from '../append/commit.ts'
import type { EntryRow } from '../db/append-entries.ts'
import type { ServerKey } from '../db/server-keys.ts'
import type { Entropy } from '../entropy.ts'
import { toBase64, toHex } from '../proof/bytes.ts'
import type { Signer } from '../proof/crypto.ts'
import { formatId } from '../proof/ids.ts'
import { canonicalize } from '../proof/jcs.ts'
import type { JsonValue } from '../proof/json-text.ts'
import type { EntryKind } from '../proof/kinds.ts'
import { buildStatement } from '../proof/statement.ts'
import { BUILT_IN_TYPES } from '../records/types.ts'
import { nativeProviders } from '../signing/native.ts'
import { signEntry } from '../signing/sign-entry.ts'
import { hashKey, type KeyMac, makeApiKey } from './api-keys.ts'
import { SCOPES, type Scope } from './scopes.ts'

type CreateLedgerDeps = {
  readonly writePool: pg.Pool
  readonly signer: Signer
  readonly noteKey: ServerKey
  readonly publicUrl: string
  readonly keyMac: KeyMac
  readonly entropy: Entropy
  readonly now: () => number
}

export type NewLedger = {
  readonly ledger: {
    readonly id: string
    readonly name: string
    readonly issuer: string
    readonly origin: string
  }
  readonly agent: { readonly id: string; readonly name: string }
  /** `key` is the secret: it is shown here, and never again. */
  readonly key: {
    readonly id: string
    readonly key: string
    readonly name: string
    readonly scopes: readonly Scope[]
    readonly expiresAt: string | null
  }
}

/** Makes a ledger with its first agent and a key that may do everything: three entries, one transaction. */
export async function createLedger(
  deps: CreateLedgerDeps,
  request: { name: string; agentName: string; scopes?: readonly Scope[]; expiresAtMs?: number },
): Promise<NewLedger> {
  const recordedAtMs = deps.now()
  const [ledgerId, agentId, keyId] = [0, 1, 2].map(() => deps.entropy.uuidv7(recordedAtMs)) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ]
  const ledger = formatId('led', ledgerId)
  const agent = formatId('agt', agentId)
  const key = formatId('key', keyId)
  const definition = defineLedger(deps, ledger, request.name)
  const scopes = [...(request.scopes ?? SCOPES)].sort()
  const expiresAt = request.expiresAtMs === undefined ? null : new Date(request.expiresAtMs).toISOString()
  const secret = makeApiKey(ledgerId)
  const secretHash = hashKey(secret)
  const mac = deps.keyMac({
    ledger,
    key,
    agent,
    scopes,
    expiresAtMs: request.expiresAtMs ?? null,
    secretHash,
  })
  const keyName = 'first key'

  const entryOf = makeSystemEntries(deps, { ledger, ledgerId, issuer: definition.issuer, recordedAtMs })
  const outcome = await commitTogether(deps.writePool, [
    entryOf(
      'ledger-created',
      { id: ledgerId, name: ledger, digestOf: definition },
      { definition },
      {
        name: request.name,
        issuer: definition.issuer,
        origin: definition.origin,
        noteKid: toHex(deps.noteKey.kid),
      },
    ),
    entryOf(
      'agent-registered',
      { id: agentId, name: agent, digestOf: { agent, name: request.agentName } },
      { agent, name: request.agentName },
      { name: request.agentName },
    ),
    entryOf(
      'key-created',
      { id: keyId, name: key, digestOf: { key, agent, scopes, expiresAt } },
      { agent, scopes, expiresAt },
      {
        agentId: toHex(agentId),
        name: keyName,
        scopes,
        secretHash: toHex(secretHash),
        mac: toHex(mac),
        expiresAt,
      },
    ),
  ])
  // Nobody saw the key of a ledger that was made without an answer: a retry makes another ledger.
  if (outcome.status !== 'appended') throw toApiError(outcome, false)
  return {
    ledger: { id: ledger, name: request.name, issuer: definition.issuer, origin: definition.origin },
    agent: { id: agent, name: request.agentName },
    key: { id: key, key: secret, name: keyName, scopes, expiresAt },
  }
}

/** What the ledger is, for as long as it lives: a changed public URL does not change it. */
function defineLedger(deps: CreateLedgerDeps, ledger: string, name: string) {
  return {
    name,
    issuer: deps.publicUrl,
    origin: `${new URL(deps.publicUrl).host}/${ledger}`,
    envelopeKey: {
      kid: toHex(deps.signer.kid),
      alg: deps.signer.key.alg,
      spki: toBase64(deps.signer.key.spki),
    },
    noteKey: toBase64(deps.noteKey.key.spki),
    types: Object.fromEntries([...BUILT_IN_TYPES.values()].map((type) => [type.name, type.digest])),
  }
}

/** Entries of the ledger's beginning: nobody's key signs for them yet, so their actor is `system`. */
function makeSystemEntries(
  deps: CreateLedgerDeps,
  about: { ledger: string; ledgerId: Uint8Array; issuer: string; recordedAtMs: number },
) {
  return (
    kind: EntryKind,
    subject: { id: Uint8Array; name: string; digestOf: object },
    predicate: object,
    detail: object,
  ): EntryRow => {
    const canonical = canonicalize(subject.digestOf as JsonValue)
    const sha256 = toHex(nativeProviders.sha256(Buffer.from(canonical)))
    const statement = buildStatement(kind, [{ name: subject.name, sha256 }], {
      ledger: about.ledger,
      actor: 'system',
      recordedAt: new Date(about.recordedAtMs).toISOString(),
      ...predicate,
    })
    const signed = signEntry(deps.signer, { ...about, subject: subject.name }, statement)
    return {
      ledgerId: about.ledgerId,
      kind,
      subjectId: subject.id,
      version: null,
      toState: null,
      previousLeaf: null,
      actorId: null,
      keyId: null,
      kid: deps.signer.kid,
      recordedAtMs: about.recordedAtMs,
      ...signed,
      idempotency: null,
      detail: JSON.stringify(detail),
      records: [],
    }
  }
}
