import type pg from 'pg'
import { listAuditCursors } from '../db/audit/audit-cursors.ts'
import { type ArchiveKeyPosition, type ArchiveKeyRow, listArchiveKeys } from '../db/chain/archives.ts'
import { addMacKeys, removeOtherMacKeys } from '../db/connect/mac-keys.ts'
import { withTransaction } from '../db/connect/transaction.ts'
import { RESEALED_PER_QUERY } from '../db/limits.ts'
import { listPeerKeyMacs, type PeerKeyMac, replacePeerKeyMacs } from '../db/peers/peer-key-macs.ts'
import { checkSchema, lockMigrations } from '../db/schema/migrate.ts'
import {
  type CursorRow,
  type GrantedSecret,
  insertMasterKeyChange,
  listGrantedSecrets,
  listSealedServerKeys,
  listSealedWebhookSecrets,
  type Replaced,
  replaceCursorMacs,
  replaceKeyMacs,
  replaceSealedArchiveKeys,
  replaceSealedServerKey,
  replaceWebhookSecrets,
  type SealedWebhookSecret,
} from '../db/schema/reseal.ts'
import { sealContext } from '../db/schema/server-keys.ts'
import { makeKeyMac } from '../ledgers/api-keys.ts'
import { webhookSecretContext } from '../outside/webhooks/secrets.ts'
import { formatId } from '../proof/ids.ts'
import { archiveKeyContext } from '../signing/archive-keys.ts'
import { makeCursorMac } from '../signing/cursor-mac.ts'
import { type MasterKey, makeMasterKey, masterKeyId } from '../signing/master-key.ts'
import { makePeerMacs } from '../signing/peer-macs.ts'
import type { RowMac } from '../signing/row-mac.ts'

type KeyPair = { readonly from: MasterKey; readonly to: MasterKey }
type PassCounts = { readonly resealed: number; readonly refused: number }

type Resealed = {
  readonly serverKeys: number
  readonly webhookSecrets: number
  readonly apiKeySecrets: number
  readonly peerKeys: number
  /** Number of renewed key tables of archived documents. Each piece has one table. */
  readonly archiveKeys: number
  /**
   * Number of renewed cursors of verification. If a cursor still has a MAC of the previous key, its ledger is verified
   * from the first entry again.
   */
  readonly cursors: number
  /** Number of rows that neither key has sealed. These rows are not changed, and they stay unusable. */
  readonly refused: number
}

/**
 * Seals under `current` everything that `previous` has sealed. Needs the owner's login. First come the secrets of
 * webhooks and archives, and the MACs of API keys, peers' keys and cursors, in many transactions. The deployment's own
 * keys come last. After that, all processes seal under `current`.
 *
 * Rows that `current` has sealed are skipped. So a second run continues the first, and finds rows that were sealed
 * meanwhile. If neither key has sealed a key of the deployment, throws before any change. A single transaction would
 * take too long: 40,000 rows took 19 s. During this time, the revocation of an API key would wait for the key's row and
 * block the append.
 */
export async function resealSecrets(
  client: pg.ClientBase,
  { previous, current }: { readonly previous: Uint8Array; readonly current: Uint8Array },
): Promise<Resealed> {
  const keys = { from: makeMasterKey(previous), to: makeMasterKey(current) }
  await inExclusiveTransaction(client, async () => {
    await resealServerKeys(client, keys, { isTrial: true })
    await addMacKeys(client, keys.to.databaseKeys())
  })
  const webhooks = await resealWebhookSecrets(client, keys)
  const apiKeys = await renewKeyMacs(client, keys)
  const peerKeys = await renewPeerKeyMacs(client, keys)
  const archiveKeys = await resealArchiveKeys(client, keys)
  const cursors = await renewCursorMacs(client, keys)
  return inExclusiveTransaction(client, async () => {
    const serverKeys = await resealServerKeys(client, keys, { isTrial: false })
    const done = {
      serverKeys,
      webhookSecrets: webhooks.resealed,
      apiKeySecrets: apiKeys.resealed,
      peerKeys: peerKeys.resealed,
      archiveKeys: archiveKeys.resealed,
      cursors: cursors.resealed,
      refused: archiveKeys.refused + webhooks.refused + apiKeys.refused + peerKeys.refused + cursors.refused,
    }
    const all = [webhooks, apiKeys, peerKeys, archiveKeys, cursors]
    if (serverKeys + all.reduce((sum, { resealed }) => sum + resealed, 0) > 0) {
      const ids = { previousId: masterKeyId(previous), currentId: masterKeyId(current) }
      await insertMasterKeyChange(client, { ...ids, ...done })
    } else {
      // All processes use the new key now. Sessions that were authenticated with the previous key may end.
      await removeOtherMacKeys(client, keys.to.databaseKeys())
    }
    return done
  })
}

/** Runs `work` in a transaction, while no migration and no other reseal runs. */
function inExclusiveTransaction<T>(client: pg.ClientBase, work: () => Promise<T>): Promise<T> {
  return withTransaction(client, async () => {
    await lockMigrations(client)
    await checkSchema(client)
    return work()
  })
}

async function resealServerKeys(
  client: pg.ClientBase,
  { from, to }: KeyPair,
  { isTrial }: { readonly isTrial: boolean },
): Promise<number> {
  let resealed = 0
  for (const key of await listSealedServerKeys(client)) {
    const context = sealContext(key.use, key.kid)
    if (findOpened(to, key.sealed, context)) continue
    const resealedKey = to.seal(from.open(key.sealed, context), context)
    if (!isTrial) await replaceSealedServerKey(client, key, resealedKey)
    resealed++
  }
  return resealed
}

function resealWebhookSecrets(client: pg.ClientBase, { from, to }: KeyPair): Promise<PassCounts> {
  return eachPage<SealedWebhookSecret>(client, {
    list: (after) => listSealedWebhookSecrets(client, after, RESEALED_PER_QUERY),
    renew: (row) => {
      const context = webhookSecretContext(row, row.secretId)
      if (findOpened(to, row.sealed, context)) return 'current'
      const secret = findOpened(from, row.sealed, context)
      return secret === null ? 'refused' : to.seal(secret, context)
    },
    replace: (replaced) => replaceWebhookSecrets(client, replaced),
  })
}

function resealArchiveKeys(client: pg.ClientBase, { from, to }: KeyPair): Promise<PassCounts> {
  return eachPage<ArchiveKeyRow & ArchiveKeyPosition>(client, {
    list: (after) => listArchiveKeys(client, null, after, RESEALED_PER_QUERY),
    renew: ({ ledgerId, fromSeq, sealed }) => {
      const context = archiveKeyContext(ledgerId, fromSeq)
      if (findOpened(to, sealed, context)) return 'current'
      const secrets = findOpened(from, sealed, context)
      return secrets === null ? 'refused' : to.seal(secrets, context)
    },
    replace: (replaced) => replaceSealedArchiveKeys(client, replaced),
  })
}

function renewKeyMacs(client: pg.ClientBase, { from, to }: KeyPair): Promise<PassCounts> {
  const renew = renewing(makeKeyMac(from), makeKeyMac(to))
  return eachPage<GrantedSecret>(client, {
    list: (after) => listGrantedSecrets(client, after, RESEALED_PER_QUERY),
    renew: (row) => {
      const granted = {
        ledger: formatId('led', row.ledgerId),
        key: formatId('key', row.keyId),
        agent: formatId('agt', row.agentId),
        scopes: row.scopes,
        expiresAtMs: row.expiresAtMs,
        secretHash: row.secretHash,
      }
      return renew(granted, row.mac)
    },
    replace: (replaced) => replaceKeyMacs(client, replaced),
  })
}

function renewPeerKeyMacs(client: pg.ClientBase, { from, to }: KeyPair): Promise<PassCounts> {
  const renew = renewing(makePeerMacs(from).key, makePeerMacs(to).key)
  return eachPage<PeerKeyMac>(client, {
    list: (after) => listPeerKeyMacs(client, after, RESEALED_PER_QUERY),
    renew: ({ named, mac }) => renew(named, mac),
    replace: (replaced) => replacePeerKeyMacs(client, replaced),
  })
}

function renewCursorMacs(client: pg.ClientBase, { from, to }: KeyPair): Promise<PassCounts> {
  const renew = renewing(makeCursorMac(from), makeCursorMac(to))
  return eachPage<CursorRow>(client, {
    list: (after) => listAuditCursors(client, after?.ledgerId ?? null, RESEALED_PER_QUERY),
    renew: (row) => renew(row, row.mac),
    replace: (replaced) => replaceCursorMacs(client, replaced),
  })
}

/** Returns a function that renews a row's MAC. A row with an invalid MAC does not get a valid one. */
function renewing<Row>(from: RowMac<Row>, to: RowMac<Row>) {
  return (row: Row, mac: Uint8Array | null): Buffer | 'current' | 'refused' => {
    if (to.isOf(row, mac)) return 'current'
    return from.isOf(row, mac) ? to.of(row) : 'refused'
  }
}

async function eachPage<Row>(
  client: pg.ClientBase,
  table: {
    list(after: Row | null): Promise<Row[]>
    renew(row: Row): Buffer | 'current' | 'refused'
    replace(replaced: readonly Replaced<Row>[]): Promise<number>
  },
): Promise<PassCounts> {
  let [resealed, refused] = [0, 0]
  for (let after: Row | null = null; ; ) {
    const rows: Row[] = await inExclusiveTransaction(client, async () => {
      const listed = await table.list(after)
      const renewed = listed.map((row) => ({ row, replacement: table.renew(row) }))
      refused += renewed.filter(({ replacement }) => replacement === 'refused').length
      const replaced = renewed.filter((one): one is Replaced<Row> => typeof one.replacement !== 'string')
      if (replaced.length > 0) resealed += await table.replace(replaced)
      return listed
    })
    if (rows.length < RESEALED_PER_QUERY) return { resealed, refused }
    after = rows.at(-1)!
  }
}

function findOpened(key: MasterKey, sealed: Uint8Array, context: string): Buffer | null {
  try {
    return key.open(sealed, context)
  } catch {
    return null
  }
}
