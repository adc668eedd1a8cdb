import { type LedgerSnapshot, listLedgerIds, openSnapshot, streamRows } from '../db/chain/ledger-snapshot.ts'
import type { DatabaseOrUrl } from '../db/connect/connection.ts'
import { type AuditedTile, TILES_IN_ORDER } from '../db/evidence/checkpoints.ts'
import { contradiction } from '../db/evidence/contradiction.ts'
import { countItems } from '../db/evidence/counts.ts'
import { canReadIdempotencyKeys } from '../db/evidence/idempotency-keys.ts'
import { type AuditedServerKey, getAuditedLedger, listServerKeys } from '../db/evidence/ledgers.ts'
import {
  type AuditedReceivedType,
  listAuditedPeers,
  RECEIVED_TYPES,
  verifyPeers,
  verifyReceivedType,
} from '../db/evidence/peers.ts'
import { listStrayTables } from '../db/evidence/stray-tables.ts'
import { toHex } from '../proof/bytes.ts'
import type { Sha256 } from '../proof/crypto.ts'
import { formatId, isId, parseId, type Uuid } from '../proof/ids.ts'
import type { PeeringState } from '../proof/ledger/peers.ts'
import { verifyLedgerRow, verifyNewestCheckpoint, verifyServerKeys } from './head-rows.ts'
import { LedgerReader } from './ledger-reader.ts'
import { translated, translatedRows } from './postgres-errors.ts'
import { loadProviders } from './providers.ts'
import { type LedgerSource, type OpenLedger, SourceError } from './source.ts'
import { TreeCollector } from './tree-collector.ts'

/**
 * Returns a ledger in its own database as a source. `ledger` is the ledger's id (`led_…`); null if the database has
 * only one ledger.
 *
 * Reads every row of every table that is evidence or an index of evidence, in one snapshot. Rows come in the order of
 * the entries, so that only a page of rows is in memory. Needs a login that may read all tables. With a server's own
 * login, idempotency keys are left out and a notice reports this.
 */
export function database(from: DatabaseOrUrl, ledger: string | null): LedgerSource {
  const { host, pathname } = new URL(typeof from === 'string' ? from : from.url)
  const name = `postgres://${host}${pathname}`
  return {
    name,
    async open(): Promise<OpenLedger> {
      const snapshot = await translated(name, () => openSnapshot(from))
      try {
        return await translated(name, () => openLedger(snapshot, ledger, name))
      } catch (error) {
        await snapshot.close()
        throw error
      }
    },
  }
}

/**
 * Returns the source that `database` returns, but on the caller's connection and transaction. Uncommitted changes are
 * included.
 */
export function databaseOf(client: LedgerSnapshot['client'], ledger: string, name: string): LedgerSource {
  const snapshot = { client, close: async () => {} }
  return { name, open: () => translated(name, () => openLedger(snapshot, ledger, name)) }
}

/** Limit for a small ledger: the number of its entries plus the number of its batch records is below this. */
const SMALL_MAX = 2_000
/**
 * Age in ms after which an erased document that is still stored is reported. Normally a worker removes the document
 * within seconds.
 */
const ERASURE_OVERDUE_MS = 10 * 60_000

async function openLedger(
  snapshot: LedgerSnapshot,
  ledger: string | null,
  name: string,
): Promise<OpenLedger> {
  const { client } = snapshot
  const { sha256 } = await loadProviders()
  const ledgerId = await chooseLedger(snapshot, ledger, name)
  const row = await getAuditedLedger(client, ledgerId)
  const serverKeys = await listServerKeys(client)
  const tree = new TreeCollector(sha256, row.treeSize ?? 0)
  const mayReadKeys = await canReadIdempotencyKeys(client)
  const strayTables = await listStrayTables(client, mayReadKeys ? [] : ['idempotency_keys'])
  const notices = mayReadKeys
    ? []
    : ['idempotency keys were not compared, because this login may not read them']
  const overdueMs = Date.now() - ERASURE_OVERDUE_MS
  let overdue = 0
  const reader = new LedgerReader(snapshot, ledgerId, row, { sha256, mayReadKeys })
  return {
    ledger: formatId('led', ledgerId),
    keys: serverKeys.filter((key) => key.use === 'envelope').map(keyHint),
    total: row.size ?? 0,
    isSmall: await isSmall(client, ledgerId, row.size ?? 0),
    notices,
    ranges: () => translatedRows(name, reader.ranges()),
    hasRows: true,
    observer: {
      node: (level, index, hash) => tree.node(level, index, hash),
      gated: reader.gatedStates.compare,
      remote: reader.peerStandings.compareRemote,
      offer: reader.peerStandings.compareOffer,
      erasure: (atMs, isStored) => {
        if (isStored && atMs < overdueMs) overdue++
      },
      appended: (step, frontier) => tree.leaf(step.leaf, frontier),
      finish: (summary, peerings) =>
        translated(name, async () => {
          verifyLedgerRow(row, summary, tree)
          await tree.verifyTiles(streamRows<AuditedTile>(client, 'tiles', TILES_IN_ORDER, ledgerId))
          verifyNewestCheckpoint(row)
          verifyServerKeys(serverKeys, row, sha256)
          await verifyPeerRows(reader, { client, ledgerId, sha256 }, peerings)
          if (strayTables.length > 0)
            throw contradiction(`${strayTables[0]}: rows of a ledger without a chain`)
          notices.push(...overdueNotice(overdue))
        }),
    },
    close: () => snapshot.close(),
  }
}

async function isSmall(client: LedgerSnapshot['client'], ledgerId: Uuid, size: number): Promise<boolean> {
  return size < SMALL_MAX && size + (await countItems(client, ledgerId)) < SMALL_MAX
}

/** Verifies those rows about other ledgers that do not come from one single entry. */
async function verifyPeerRows(
  reader: LedgerReader,
  { client, ledgerId, sha256 }: { client: LedgerSnapshot['client']; ledgerId: Uuid; sha256: Sha256 },
  peerings: Iterable<PeeringState>,
): Promise<void> {
  reader.peerStandings.finish()
  const peers = await listAuditedPeers(client, ledgerId)
  verifyPeers(peers, peerings)
  for await (const type of streamRows<AuditedReceivedType>(
    client,
    'received_types',
    RECEIVED_TYPES,
    ledgerId,
  ))
    verifyReceivedType(type, peers, sha256)
}

/**
 * Returns a notice about erased documents that are still stored. They are no fault of integrity: a document is always
 * removed some time after its erasing entry, and no query shows it meanwhile. The operator should know if this takes
 * long.
 */
function overdueNotice(count: number): string[] {
  if (count === 0) return []
  return [
    `${count} erased documents are still stored after more than 10 minutes: check that a worker runs, and see its log`,
  ]
}

async function chooseLedger(snapshot: LedgerSnapshot, ledger: string | null, name: string): Promise<Uuid> {
  const ids = await listLedgerIds(snapshot.client)
  const known = ids.map((id) => formatId('led', id))
  if (ledger !== null) {
    if (!isId('led', ledger))
      throw new SourceError('usage', `${ledger.slice(0, 64)} is not the id of a ledger (led_…)`)
    if (!known.includes(ledger)) throw new SourceError('not_a_ledger', `${name} has no ledger ${ledger}`)
    return parseId('led', ledger)
  }
  if (ids.length === 1) return ids[0]!
  if (ids.length === 0) throw new SourceError('not_a_ledger', `${name} has no ledger`)
  const shown = known.slice(0, 20).join('\n  ')
  throw new SourceError('usage', `${name} has ${ids.length} ledgers: choose one with --ledger\n  ${shown}`)
}

export function keyHint({ kid, alg, spki, compromisedAt }: AuditedServerKey) {
  return {
    kid: toHex(kid),
    alg,
    spki: spki.toString('base64'),
    compromisedAt: compromisedAt?.toISOString() ?? null,
  }
}
