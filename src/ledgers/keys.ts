import type { IdempotencyRow } from '../db/chain/append-entries.ts'
import { findSubject } from '../db/chain/read-entries.ts'
import { findAgent } from '../db/ledgers/agents.ts'
import { findKey, type KeyRow, type KeySecretRow, replaceKeySecrets } from '../db/ledgers/api-keys.ts'
import { ApiError } from '../errors.ts'
import { formatId, type Uuid } from '../proof/ids.ts'
import { administer } from './administration.ts'
import { type AgentDeps, ensureAgent, requireActive } from './agents.ts'
import { type GrantedKey, hashKey, type KeyMac, makeApiKey } from './api-keys.ts'
import type { Caller } from './caller.ts'
import { KEY_SECRETS_MAX } from './limits.ts'
import { makeKey } from './new-key.ts'
import type { Scope } from './scopes.ts'

export type KeyDeps = AgentDeps & { readonly keyMac: KeyMac }

/**
 * A key, and its secret. The secret is shown only once. It is null if the request repeats an earlier request, because
 * that request got the secret.
 */
type KeyWithSecret = { readonly key: KeyRow; readonly secret: string | null }

/**
 * Creates a key for the given agent. If no agent is given, the key is for the agent that has the same name as the key.
 * The new key expires no later than the secret with which the caller made the request.
 */
export async function createKey(
  deps: KeyDeps,
  caller: Caller,
  request: {
    readonly name: string
    readonly agentId: Uuid | null
    readonly scopes: readonly Scope[]
    readonly expiresAtMs: number | null
    readonly idempotency: IdempotencyRow | null
  },
): Promise<KeyWithSecret> {
  requireScopes(caller, request.scopes)
  const expiresAtMs = request.expiresAtMs ?? caller.expiresAtMs
  requireEnd(caller, expiresAtMs)
  const { agentId } = request.agentId
    ? await getActiveAgent(deps, caller, request.agentId)
    : await ensureAgent(deps, caller, request.name)
  const keyId = deps.entropy.uuidv7(deps.now())
  const { made, claims } = makeKey(deps.keyMac, {
    ledger: caller.ledger,
    ledgerId: caller.ledgerId,
    keyId,
    agent: formatId('agt', agentId),
    agentId,
    name: request.name,
    scopes: request.scopes,
    expiresAtMs,
  })
  const done = await administer(deps, caller, { ...claims, idempotency: request.idempotency })
  if (!done.replayed) return { key: await getKey(deps, caller, keyId), secret: made.key }
  const first = await findSubject(deps.readPool, caller.ledgerId, done.seq)
  return { key: await getKey(deps, caller, first!), secret: null }
}

/**
 * Gives a key a new secret. The older secrets expire after `overlapMs`. The caller learns the new secret, so the
 * caller's own key must grant everything that the rotated key grants, for at least as long. Therefore a secret that
 * expires before its key cannot rotate the key.
 */
export async function rotateKey(
  deps: KeyDeps,
  caller: Caller,
  keyId: Uuid,
  overlapMs: number,
): Promise<KeyWithSecret> {
  const row = await getKey(deps, caller, keyId)
  if (row.revokedAt !== null)
    throw new ApiError('already_ended', `${formatId('key', keyId)} was already revoked`)
  requireScopes(caller, row.scopes as Scope[])
  requireOwnRow(deps, caller, row)
  const nowMs = deps.now()
  const keyEndMs = row.expiresAt?.getTime() ?? null
  requireEnd(caller, keyEndMs)
  const previous = row.secrets
    .map(({ secretHash, expiresAtMs }) => ({ secretHash, endMs: earliest(expiresAtMs, nowMs + overlapMs) }))
    .filter(({ endMs }) => endMs > nowMs)
  if (previous.length >= KEY_SECRETS_MAX) {
    throw new ApiError(
      'state_conflict',
      `the key has ${previous.length} secrets that are still valid: wait until one expires, or rotate with an overlap of 0`,
    )
  }
  const secret = makeApiKey(caller.ledgerId)
  const secrets = [
    ...previous.map(({ secretHash, endMs }) => signSecret(deps, caller, row, secretHash, endMs)),
    signSecret(deps, caller, row, hashKey(secret), keyEndMs),
  ]
  if (!(await replaceKeySecrets(deps.readPool, caller.ledgerId, keyId, row.secrets, secrets))) {
    throw new ApiError('state_conflict', 'another request changed the key at the same time', {
      retryable: true,
    })
  }
  deps.callers.forget(caller.ledgerId)
  return { key: await getKey(deps, caller, keyId), secret }
}

function signSecret(
  deps: KeyDeps,
  caller: Caller,
  row: KeyRow,
  secretHash: Buffer,
  expiresAtMs: number | null,
): KeySecretRow {
  const mac = deps.keyMac.of(grantedBy(caller, row, { secretHash, expiresAtMs }))
  return { secretHash, expiresAtMs, mac }
}

function grantedBy(
  caller: Caller,
  row: KeyRow,
  { secretHash, expiresAtMs }: Pick<KeySecretRow, 'secretHash' | 'expiresAtMs'>,
): GrantedKey {
  return {
    ledger: caller.ledger,
    key: formatId('key', row.keyId),
    agent: formatId('agt', row.agentId),
    scopes: row.scopes,
    expiresAtMs,
    secretHash,
  }
}

/**
 * Throws if the row of the key is not authentic, because a rotation writes a new MAC for the row. Checks each secret,
 * and that the key expires together with its newest secret.
 */
function requireOwnRow(deps: KeyDeps, caller: Caller, row: KeyRow): void {
  const ends = row.secrets.map(({ expiresAtMs }) => expiresAtMs ?? Number.POSITIVE_INFINITY)
  const isOwn =
    Math.max(...ends) === (row.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY) &&
    row.secrets.every((secret) => deps.keyMac.isOf(grantedBy(caller, row, secret), secret.mac))
  if (!isOwn)
    throw new Error(
      `the key ${formatId('key', row.keyId)} was not made by a server, or was changed outside it`,
    )
}

function requireScopes(caller: Caller, scopes: readonly Scope[]): void {
  const missing = scopes.filter((scope) => !caller.scopes.has(scope))
  if (missing.length === 0) return
  throw new ApiError('scope_not_held', `the API key ${caller.key} lacks ${missing.join(', ')}`, {
    members: { scopes: missing },
  })
}

/**
 * Throws `expiry_not_held` if the new secret would be valid longer than the secret with which the caller made the
 * request.
 */
function requireEnd({ key, expiresAtMs }: Caller, endMs: number | null): void {
  if (expiresAtMs === null || (endMs !== null && endMs <= expiresAtMs)) return
  const expiresAt = new Date(expiresAtMs).toISOString()
  throw new ApiError('expiry_not_held', `this request used a secret of ${key} that expires at ${expiresAt}`, {
    members: { expiresAt },
  })
}

async function getActiveAgent(deps: KeyDeps, caller: Caller, agentId: Uuid) {
  const agent = await findAgent(deps.readPool, caller.ledgerId, agentId)
  if (!agent) throw new ApiError('unknown_agent', `the ledger has no agent ${formatId('agt', agentId)}`)
  return requireActive(agent)
}

export async function getKey(deps: KeyDeps, caller: Caller, keyId: Uuid): Promise<KeyRow> {
  const key = await findKey(deps.readPool, caller.ledgerId, keyId)
  if (!key) throw new ApiError('not_found', `the ledger has no key ${formatId('key', keyId)}`)
  return key
}

function earliest(one: number | null, other: number): number {
  return one === null ? other : Math.min(one, other)
}
