import type pg from 'pg'
import { listAuditCursors } from '../db/audit/audit-cursors.ts'
import { type ArchiveKeyPlace, type ArchiveKeyRow, listArchiveKeys } from '../db/chain/archives.ts'
import { addMacKeys, keepMacKeys } from '../db/connect/mac-keys.ts'
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

type Keys = { readonly from: MasterKey; readonly to: MasterKey }
type Pass = { readonly resealed: number; readonly refused: number }

type Resealed = {
  readonly serverKeys: number
  readonly webhookSecrets: number
  readonly apiKeySecrets: number
  readonly peerKeys: number
  /** Secrets of archived documents, by piece. */
  readonly archiveKeys: number
  /** How far ledgers were verified: one that is left under the previous key is verified from its first entry again. */
  readonly cursors: number
  /** Rows that neither key had sealed: left as they are, and as useless as they were. */
  readonly refused: number
}

/**
 * Seals under `current` whatever `previous` has sealed, as the owner: the secrets of webhooks, and the MACs that make rows of API keys,
 * of peers' keys and of the follower's cursors believed, a page in each transaction, and at last the deployment's own keys, with which everybody begins to seal under `current`.
 * Rows that `current` has sealed stay, so doing it again goes on where it ended, and finds what was sealed meanwhile. Throws, before
 * anything is changed, where a key of the deployment is sealed under neither.
 *
 * Not one transaction over all: a revocation waits for the row of its key, within an append, and 40,000 of them took 19 s.
 */
export async function resealSecrets(
  client: pg.ClientBase,
  { previous, current }: { readonly previous: Uint8Array; readonly current: Uint8Array },
): Promise<Resealed> {
  const keys = { from: makeMasterKey(previous), to: makeMasterKey(current) }
  await alone(client, async () => {
    await resealServerKeys(client, keys, { isTrial: true })
    await addMacKeys(client, keys.to.databaseKeys())
  })
  const webhooks = await resealWebhookSecrets(client, keys)
  const apiKeys = await renewKeyMacs(client, keys)
  const peerKeys = await renewPeerKeyMacs(client, keys)
  const archiveKeys = await resealArchiveKeys(client, keys)
  const cursors = await renewCursorMacs(client, keys)
  return alone(client, async () => {
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
      // Everybody has followed by now: sessions that the previous key has proven end.
      await keepMacKeys(client, keys.to.databaseKeys())
    }
    return done
  })
}

/** In a transaction in which no migration and no other run of this is at work. */
function alone<T>(client: pg.ClientBase, work: () => Promise<T>): Promise<T> {
  return withTransaction(client, async () => {
    await lockMigrations(client)
    await checkSchema(client)
    return work()
  })
}

async function resealServerKeys(
  client: pg.ClientBase,
  { from, to }: Keys,
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

function resealWebhookSecrets(client: pg.ClientBase, { from, to }: Keys): Promise<Pass> {
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

function resealArchiveKeys(client: pg.ClientBase, { from, to }: Keys): Promise<Pass> {
  return eachPage<ArchiveKeyRow & ArchiveKeyPlace>(client, {
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

function renewKeyMacs(client: pg.ClientBase, { from, to }: Keys): Promise<Pass> {
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

function renewPeerKeyMacs(client: pg.ClientBase, { from, to }: Keys): Promise<Pass> {
  const renew = renewing(makePeerMacs(from).key, makePeerMacs(to).key)
  return eachPage<PeerKeyMac>(client, {
    list: (after) => listPeerKeyMacs(client, after, RESEALED_PER_QUERY),
    renew: ({ named, mac }) => renew(named, mac),
    replace: (replaced) => replacePeerKeyMacs(client, replaced),
  })
}

function renewCursorMacs(client: pg.ClientBase, { from, to }: Keys): Promise<Pass> {
  const renew = renewing(makeCursorMac(from), makeCursorMac(to))
  return eachPage<CursorRow>(client, {
    list: (after) => listAuditCursors(client, after?.ledgerId ?? null, RESEALED_PER_QUERY),
    renew: (row) => renew(row, row.mac),
    replace: (replaced) => replaceCursorMacs(client, replaced),
  })
}

/** A row that was not authentic before is not made so. */
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
): Promise<Pass> {
  let [resealed, refused] = [0, 0]
  for (let after: Row | null = null; ; ) {
    const rows: Row[] = await alone(client, async () => {
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
