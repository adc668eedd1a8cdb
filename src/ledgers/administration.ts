import { type AppendDeps, appendOne } from '../append/append-one.ts'
import { type Author, type EntryClaims, sealEntry } from '../append/entry.ts'
import type { AdministrativeDetails } from '../db/chain/entry-details.ts'
import { translateConstraint } from '../db/connect/constraints.ts'
import { toHex, utf8Encode } from '../proof/bytes.ts'
import type { Signer } from '../proof/crypto.ts'
import { canonicalize } from '../proof/json/jcs.ts'
import type { JsonValue } from '../proof/json/json-value.ts'
import type { EntryKind } from '../proof/statement/kinds.ts'
import { nativeProviders } from '../signing/native.ts'

/**
 * Claims of an entry about something other than a record: an agent, a key, a type, an erasure, or the ledger itself.
 */
export type Administration = Extract<EntryClaims, { readonly kind: keyof AdministrativeDetails }>

export type AdministerDeps = AppendDeps & { readonly now: () => number }

type AdministrationEntry = {
  readonly seq: number
  readonly kind: EntryKind
  readonly leaf: string
  readonly chain: string
}

type Administered =
  | { readonly replayed: false; readonly recordedAt: string; readonly entry: AdministrationEntry }
  | { readonly replayed: true; readonly seq: number }

/** Appends the entry. Returns when the entry is committed. Throws ApiError. */
export async function administer(
  deps: AdministerDeps,
  author: Author,
  claims: Administration,
): Promise<Administered> {
  const build = (signer: Signer) => sealEntry(signer, author, claims, deps.now())
  const written = await appendOne(deps, author, build).catch(translateConstraint)
  if (written.replayed) return { replayed: true, seq: written.seq }
  const { entry } = written.built
  return {
    replayed: false,
    recordedAt: new Date(entry.recordedAtMs).toISOString(),
    entry: { seq: written.seq, kind: claims.kind, leaf: toHex(entry.leaf), chain: written.chain },
  }
}

/** Returns H(JCS(value)) as lower-case hex. This is the digest of a subject whose whole content is in the predicate. */
export function digestOf(value: object): string {
  return toHex(nativeProviders.sha256(utf8Encode(canonicalize(value as JsonValue))))
}
