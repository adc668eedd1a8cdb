import { type Closure, findClosure, type Head } from '../db/chain/closures.ts'
import { readFindKey, readFirstEntries } from '../db/chain/signed-entries.ts'
import { findOwnKeys } from '../db/ledgers/restoring.ts'
import { ApiError } from '../errors.ts'
import { toHex } from '../proof/bytes.ts'
import { formatId, type Uuid } from '../proof/ids.ts'
import { administer } from './administration.ts'
import type { KeyDeps } from './keys.ts'
import { readDefinition } from './ledger-definition.ts'
import { getLedgerSummary, systemAuthor } from './operate-ledger.ts'

/**
 * Returns the ledger's open closure, or else its last closure. Throws `state_conflict` if the ledger was never closed
 * as restored.
 */
export async function getClosure(deps: KeyDeps, ledgerId: Uuid): Promise<Closure> {
  const closure = await findClosure(deps.readPool, ledgerId)
  if (closure) return closure
  await getLedgerSummary(deps, ledgerId) // This call throws if the ledger does not exist.
  throw new ApiError('state_conflict', `${formatId('led', ledgerId)} was never closed as restored`)
}

/**
 * Reopens a ledger that was found to be an older backup of itself. Appends an entry that states both heads: the
 * published head, and the head that was found in the database. `known`: the published head. The operator repeats it to
 * acknowledge that entries are lost. A repeated call returns the result of the first call.
 */
export async function reopenLedger(
  deps: KeyDeps,
  ledgerId: Uuid,
  known: { readonly size: number; readonly chain: string },
): Promise<Closure> {
  const closure = await getClosure(deps, ledgerId)
  if (closure.known.size !== known.size || toHex(closure.known.chain) !== known.chain) {
    throw new ApiError(
      'state_conflict',
      '`known` is not the newest published checkpoint of the ledger: send `known` of the GET answer',
    )
  }
  if (closure.entry) return closure
  await refuseWithoutKeys(deps, ledgerId)
  const [author, findKey, [first]] = await Promise.all([
    systemAuthor(deps, ledgerId),
    readFindKey(deps.readPool),
    readFirstEntries(deps.readPool, [ledgerId]),
  ])
  const { digest, issuer } = readDefinition(ledgerId, first!, findKey)
  // While the ledger is closed, no other entry can be appended. So this entry becomes the next one, or it is refused.
  await administer(
    deps,
    { ...author, issuer },
    {
      kind: 'ledger-restored',
      subject: { id: ledgerId, name: author.ledger, digest },
      predicate: { known: describeHead(closure.known), found: describeHead(closure.found) },
      detail: {},
    },
  )
  return getClosure(deps, ledgerId)
}

/**
 * Throws if this deployment lacks a private key of the ledger. A ledger that was restored from an archive may belong to
 * another deployment.
 */
async function refuseWithoutKeys(deps: KeyDeps, ledgerId: Uuid): Promise<void> {
  const { envelope, note } = await findOwnKeys(deps.readPool, ledgerId)
  if (envelope && note) return
  const missing = [...(envelope ? [] : ['envelope']), ...(note ? [] : ['note'])].join(' and ')
  throw new ApiError(
    'state_conflict',
    `this deployment has no private ${missing} key of ${formatId('led', ledgerId)}, so the ledger stays closed. Copy the key from a deployment that has it, ` +
      'with `move-ledger share-keys` (docs/operate/backup-and-archive.md#loss-of-postgres)',
  )
}

export function describeHead({ size, chain }: Head): { size: number; chain: string } {
  return { size, chain: toHex(chain) }
}
