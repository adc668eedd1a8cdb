import type { IdempotencyRow } from '../db/chain/append-entries.ts'
import { findAgent } from '../db/ledgers/agents.ts'
import { findSigningKey, type SigningKeyRow } from '../db/ledgers/signing-keys.ts'
import { ApiError } from '../errors.ts'
import { fromBase64, toBase64, toHex } from '../proof/bytes.ts'
import type { PublicKey, SignatureAlgorithm } from '../proof/crypto.ts'
import { ProofError } from '../proof/error.ts'
import { formatId, type Uuid } from '../proof/ids.ts'
import { keyThumbprint, parsePublicKey } from '../proof/keys.ts'
import { agentKeyText } from '../proof/statement/agent-key.ts'
import type { EnvelopeKeys } from '../signing/envelope-keys.ts'
import { nativeProviders } from '../signing/native.ts'
import { administer, digestOf } from './administration.ts'
import { type AgentDeps, requireActive } from './agents.ts'
import type { Caller } from './caller.ts'

/* Keys with which agents sign for themselves (docs/formats/statements.md, "Keys of agents"). */

type SigningKeyDeps = AgentDeps & { readonly envelopeKeys: EnvelopeKeys }

/**
 * A new signing key. Signatures and `spki` are in base64. `endorsement`: signature by a current key of the agent.
 * Absent for the agent's first key.
 */
type NewSigningKey = {
  readonly alg: SignatureAlgorithm
  readonly spki: string
  readonly proof: string
  readonly endorsement?: { readonly kid: string; readonly signature: string } | undefined
  readonly required?: boolean | undefined
}

type SigningKeyWritten = { readonly key: SigningKeyRow; readonly replayed: boolean }

/**
 * Registers a signing key. Everybody who may manage agents can register an agent's first key. Each further key needs a
 * signature by a current key of the agent, which the database checks. Throws `key_proof_refused`, `endorsement_needed`,
 * `signing_key_exists`.
 */
export async function registerSigningKey(
  deps: SigningKeyDeps,
  caller: Caller,
  agentId: Uuid,
  { endorsement, required = false, ...given }: NewSigningKey,
  idempotency: IdempotencyRow | null,
): Promise<SigningKeyWritten> {
  const about = await aboutKeysOf(deps, caller, agentId, 'agent-key-registered')
  const { agent } = about.predicate
  const key = parseKey(given)
  const kid = toHex(keyThumbprint(nativeProviders.sha256, key))
  const text = agentKeyText({ ledger: caller.ledger, agent, kid, required })
  verifyOver(text, key, given.proof, '/proof')
  if (endorsement) {
    const by = await deps.envelopeKeys.findAgentKey(caller.ledgerId, endorsement.kid)
    if (by?.agent.agent !== agent) throw proofRefused('/endorsement/kid', `is not a key of ${agent}`)
    verifyOver(text, by, endorsement.signature, '/endorsement/signature')
  }
  requireMayChange(caller, agentId, endorsement !== undefined)
  if ((await deps.envelopeKeys.finderFor([kid]))(kid))
    throw new ApiError('signing_key_exists', 'the key is already a key of the server: make a new key')
  const newKey = { kid, alg: key.alg, spki: toBase64(key.spki) }
  const { replayed } = await administer(deps, caller, {
    ...about,
    predicate: { agent, newKey, required, proof: given.proof, ...(endorsement && { endorsement }) },
    detail: { ...newKey, required, endorsedBy: endorsement?.kid ?? null },
    idempotency,
  })
  return { key: await getSigningKey(deps, caller, agentId, kid), replayed }
}

/** Revokes a signing key. Entries that it signs later are refused. Entries that it signed earlier stay valid. */
export async function revokeSigningKey(
  deps: SigningKeyDeps,
  caller: Caller,
  agentId: Uuid,
  kid: string,
  idempotency: IdempotencyRow | null,
): Promise<SigningKeyWritten> {
  const key = await getSigningKey(deps, caller, agentId, kid)
  requireMayChange(caller, agentId, true)
  // A request with an Idempotency-Key skips this check, because an earlier attempt of the same request may have revoked
  // the key. The database then finds the earlier attempt.
  if (key.revokedAt !== null && idempotency === null)
    throw new ApiError('already_ended', `the key ${kid} was already revoked`)
  const about = await aboutKeysOf(deps, caller, agentId, 'agent-key-revoked')
  const predicate = { ...about.predicate, kid }
  const { replayed } = await administer(deps, caller, { ...about, predicate, detail: { kid }, idempotency })
  return { key: await getSigningKey(deps, caller, agentId, kid), replayed }
}

/**
 * Throws if the caller may not change the agent's keys. `isOfOwnKey`: true if the agent itself may make this change.
 * All other callers need the scope `agents:manage`.
 */
function requireMayChange(caller: Caller, agentId: Uuid, isOfOwnKey: boolean): void {
  if (caller.scopes.has('agents:manage') || (isOfOwnKey && caller.agentId === agentId)) return
  throw new ApiError('forbidden', `the API key ${caller.key} lacks the scope agents:manage`, {
    members: { scope: 'agents:manage' },
  })
}

/**
 * Returns the part that the entries `agent-key-registered` and `agent-key-revoked` have in common. Both repeat the
 * digest of the agent's registration, because verifiers compare the digests.
 */
async function aboutKeysOf<Kind extends 'agent-key-registered' | 'agent-key-revoked'>(
  { readPool }: SigningKeyDeps,
  { ledgerId }: Caller,
  agentId: Uuid,
  kind: Kind,
) {
  const row = await findAgent(readPool, ledgerId, agentId)
  const agent = formatId('agt', agentId)
  if (!row) throw new ApiError('not_found', `the ledger has no agent ${agent}`)
  if (kind === 'agent-key-registered') requireActive(row)
  const digest = digestOf({ agent, name: row.name })
  return { kind, subject: { id: agentId, name: agent, digest }, predicate: { agent } }
}

function parseKey({ alg, spki }: Pick<NewSigningKey, 'alg' | 'spki'>): PublicKey {
  try {
    return parsePublicKey(alg, fromBase64(spki))
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    throw new ApiError('invalid_request', `/spki: ${error.detail}`, { members: { path: '/spki' } })
  }
}

function verifyOver(text: Uint8Array, key: PublicKey, signature: string, path: string): void {
  if (nativeProviders.verifySignature(key, text, fromBase64(signature))) return
  throw proofRefused(path, 'is not a valid signature of the key text')
}

function proofRefused(path: string, what: string): ApiError {
  return new ApiError('key_proof_refused', `${path} ${what}`, { members: { path } })
}

async function getSigningKey(
  { readPool }: SigningKeyDeps,
  { ledgerId }: Caller,
  agentId: Uuid,
  kid: string,
): Promise<SigningKeyRow> {
  const key = await findSigningKey(readPool, ledgerId, agentId, kid)
  if (!key) throw new ApiError('not_found', `${formatId('agt', agentId)} has no signing key ${kid}`)
  return key
}
