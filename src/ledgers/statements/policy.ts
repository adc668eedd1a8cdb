import type { Author } from '../../append/entry.ts'
import { readFindKey, readFirstEntries } from '../../db/chain/signed-entries.ts'
import type { Db } from '../../db/connect/client.ts'
import { findPolicyEntry } from '../../db/ledgers/statements.ts'
import { ApiError } from '../../errors.ts'
import { fromBase64, toHex, utf8Encode } from '../../proof/bytes.ts'
import { verifySignedEntry } from '../../proof/entry/verify-entry.ts'
import { ProofError } from '../../proof/error.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import { canonicalize } from '../../proof/json/jcs.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'
import { keyThumbprint, parsePublicKey } from '../../proof/keys.ts'
import type { IssuerKey, RegistrationPolicy } from '../../proof/scitt/registration-policy.ts'
import { nativeProviders } from '../../signing/native.ts'
import { type AdministerDeps, administer } from '../administration.ts'
import { readDefinition } from '../ledger-definition.ts'
import { POLICY_BYTES_MAX } from '../limits.ts'

type PolicyDeps = { readonly readPool: Db }

/** The current registration policy of a ledger. `leaf`: leaf of the entry that set the policy, in lower-case hex. */
export type SetPolicy = RegistrationPolicy & {
  readonly seq: number
  readonly leaf: string
  readonly setAt: string
  readonly actor: string
}

/** A policy as requested. For a key without a kid, the kid becomes the key's thumbprint (RFC 9679). */
export type PolicyRequest = {
  readonly issuers: readonly {
    readonly issuer: string
    readonly keys: readonly (Omit<IssuerKey, 'kid'> & { readonly kid?: string | undefined })[]
  }[]
  readonly contentTypes?: readonly string[] | undefined
}

/**
 * Returns the newest registration policy, or null if no policy was set. The policy is read from its signed entry.
 * Otherwise a database login that can write to a table could make the server register anything. Throws
 * `integrity_fault`.
 */
export async function findPolicy({ readPool }: PolicyDeps, ledgerId: Uuid): Promise<SetPolicy | null> {
  const line = await findPolicyEntry(readPool, ledgerId)
  if (!line) return null
  try {
    const { statement } = verifySignedEntry(line, await readFindKey(readPool), nativeProviders)
    const { kind, ledger, actor, predicate } = statement
    if (kind !== 'registration-policy-set' || ledger !== formatId('led', ledgerId))
      throw new ProofError(
        'ledger_foreign',
        `the entry of the policy is ${kind} of ${ledger}, not registration-policy-set of ${formatId('led', ledgerId)}`,
      )
    const { issuers, contentTypes } = predicate as unknown as RegistrationPolicy
    const { seq, leaf, recordedAt } = line
    return { issuers, ...(contentTypes && { contentTypes }), seq, leaf, setAt: recordedAt, actor }
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    throw new ApiError('integrity_fault', 'the registration policy differs from what was signed', {
      cause: error,
    })
  }
}

/** Replaces the ledger's policy. The new policy applies to all later statements. Throws `invalid_request`. */
export async function setPolicy(
  deps: AdministerDeps & PolicyDeps,
  author: Author,
  wanted: PolicyRequest,
): Promise<SetPolicy> {
  const policy = completePolicy(wanted)
  const [findKey, [first]] = await Promise.all([
    readFindKey(deps.readPool),
    readFirstEntries(deps.readPool, [author.ledgerId]),
  ])
  const { digest } = readDefinition(author.ledgerId, first!, findKey)
  await administer(deps, author, {
    kind: 'registration-policy-set',
    subject: { id: author.ledgerId, name: author.ledger, digest },
    predicate: policy,
    detail: {},
  })
  return (await findPolicy(deps, author.ledgerId))!
}

function completePolicy({ issuers, contentTypes }: PolicyRequest): RegistrationPolicy {
  const policy = {
    issuers: issuers.map(({ issuer, keys }, i) => ({
      issuer,
      keys: keys.map((key, k) => completeKey(key, `/issuers/${i}/keys/${k}`)),
    })),
    ...(contentTypes && { contentTypes }),
  }
  for (const [i, { issuer, keys }] of policy.issuers.entries()) {
    if (policy.issuers.findIndex((one) => one.issuer === issuer) !== i)
      throw refused(`${issuer} is named twice`, `/issuers/${i}/issuer`)
    if (new Set(keys.map(({ kid }) => kid)).size !== keys.length)
      throw refused(`two keys of ${issuer} have the same kid`, `/issuers/${i}/keys`)
  }
  const bytes = utf8Encode(canonicalize(policy as unknown as JsonValue)).length
  if (bytes > POLICY_BYTES_MAX)
    throw refused(
      `the policy has ${bytes} bytes; at most ${POLICY_BYTES_MAX} are allowed: name fewer keys`,
      '',
    )
  return policy
}

function completeKey(
  { kid, alg, spki }: PolicyRequest['issuers'][number]['keys'][number],
  path: string,
): IssuerKey {
  try {
    const key = parsePublicKey(alg, fromBase64(spki))
    return { kid: kid ?? toHex(keyThumbprint(nativeProviders.sha256, key)), alg, spki }
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    throw refused(error.detail, `${path}/spki`)
  }
}

function refused(detail: string, path: string): ApiError {
  return new ApiError('invalid_request', detail, { members: { path } })
}
