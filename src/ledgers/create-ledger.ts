import type pg from 'pg'
import { toApiError } from '../append/append-one.ts'
import { commitTogether } from '../append/commit.ts'
import { sealEntry } from '../append/entry.ts'
import type { ServerKey } from '../db/schema/server-keys.ts'
import { toBase64, toHex } from '../proof/bytes.ts'
import type { Signer } from '../proof/crypto.ts'
import { formatId, type Uuid } from '../proof/ids.ts'
import type { Entropy } from '../signing/entropy.ts'
import type { Signers } from '../signing/signers.ts'
import { type Administration, digestOf } from './administration.ts'
import { registrationOf } from './agents.ts'
import type { KeyMac } from './api-keys.ts'
import { makeKey, type NewKey } from './new-key.ts'
import { SCOPES, type Scope } from './scopes.ts'
import { BUILT_IN_TYPES } from './types/built-in.ts'

type CreateLedgerDeps = {
  readonly writePool: pg.Pool
  readonly signers: Signers
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
  readonly key: NewKey
}

/**
 * Creates a ledger with its first agent and an API key with all scopes. This makes three entries in one transaction.
 */
export async function createLedger(
  deps: CreateLedgerDeps,
  request: { name: string; agentName: string; scopes?: readonly Scope[]; expiresAtMs?: number },
): Promise<NewLedger> {
  const recordedAtMs = deps.now()
  const [ledgerId, agentId, keyId] = [0, 1, 2].map(() => deps.entropy.uuidv7(recordedAtMs)) as [
    Uuid,
    Uuid,
    Uuid,
  ]
  const ledger = formatId('led', ledgerId)
  const agent = formatId('agt', agentId)
  // The signer is loaded again, because its key may just have been retired. A ledger that was created with a retired
  // key could sign no more entries.
  const signer = await deps.signers.load()
  const definition = defineLedger(deps, signer, ledger, request.name)
  const { made: key, claims: keyCreated } = makeKey(deps.keyMac, {
    ledger,
    ledgerId,
    keyId,
    agent,
    agentId,
    name: 'first key',
    scopes: request.scopes ?? SCOPES,
    expiresAtMs: request.expiresAtMs ?? null,
  })
  const entries: Administration[] = [
    {
      kind: 'ledger-created',
      subject: { id: ledgerId, name: ledger, digest: digestOf(definition) },
      predicate: { definition },
      detail: {
        name: request.name,
        issuer: definition.issuer,
        origin: definition.origin,
        noteKid: toHex(deps.noteKey.kid),
      },
    },
    registrationOf(agentId, request.agentName),
    keyCreated,
  ]
  // No API key exists yet, so the author is `system`.
  const author = {
    ledger,
    ledgerId,
    issuer: definition.issuer,
    envelopeKid: toHex(signer.kid),
    agent: 'system',
  } as const
  const outcome = await commitTogether(
    deps.writePool,
    entries.map((about) => sealEntry(signer, author, about, recordedAtMs).entry),
  )
  // If the outcome is unknown, nobody has the API key of the new ledger, and a retry makes another ledger. So the error
  // says that the outcome is unknown.
  if (outcome.status !== 'appended') throw toApiError(outcome, { idempotency: null })
  return {
    ledger: { id: ledger, name: request.name, issuer: definition.issuer, origin: definition.origin },
    agent: { id: agent, name: request.agentName },
    key,
  }
}

/**
 * Returns the definition of a ledger. The definition never changes, even if the public URL of the deployment changes.
 */
function defineLedger(deps: CreateLedgerDeps, signer: Signer, ledger: string, name: string) {
  return {
    name,
    issuer: deps.publicUrl,
    origin: `${new URL(deps.publicUrl).host}/${ledger}`,
    envelopeKey: { kid: toHex(signer.kid), alg: signer.key.alg, spki: toBase64(signer.key.spki) },
    noteKey: toBase64(deps.noteKey.key.spki),
    types: Object.fromEntries([...BUILT_IN_TYPES.values()].map((type) => [type.name, type.digest])),
  }
}
