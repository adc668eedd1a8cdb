import assert from 'node:assert/strict'
import { test } from 'node:test'
import type pg from 'pg'
import { decodeChunk } from '../../src/db/chunks/chunk-content.ts'
import { withOwner } from '../../src/db/connect/client.ts'
import { withTransaction } from '../../src/db/connect/transaction.ts'
import { digestRows, listTenantTables } from '../../src/db/ledgers/moving.ts'
import type { Uuid } from '../../src/proof/ids.ts'
import { OTHER_MEMBERS } from '../../src/proof/statement/record-members.ts'
import { restoreLedger } from '../../src/run/restore/restore-ledger.ts'
import { makeMasterKeys } from '../../src/signing/master-keys.ts'
import { directoryStore } from '../../src/verify/archive/directory-store.ts'
import { openArchiver } from '../helpers/archiver.ts'
import { connect } from '../helpers/connect.ts'
import { createTestDatabase, TEST_MASTER_KEY } from '../helpers/database.ts'
import { fillLedger, OWN_KINDS } from '../helpers/full-ledger.ts'
import { buildGatedApp } from '../helpers/gated-app.ts'

/**
 * Columns that an archive does not restore. All other columns of a ledger's rows must be equal after a restore. So a
 * new column must be restored or listed here.
 */
const NOT_RESTORED: Readonly<Record<string, string>> = {
  'api_key_secrets.*': 'secrets are nowhere else',
  'api_keys.name': 'a label, unsigned',
  'api_keys.otlp': 'what it takes from now on',
  'api_keys.rate_limit_per_second': 'how fast it may go on',
  'api_keys.rate_limit_burst': 'how fast it may go on',
  'archive_keys.sealed': 'sealed anew',
  'archives.sealed_at': 'when it was written here',
  'archives.claimed_by': 'what the worker does',
  'archives.claimed_until': 'what the worker does',
  'audit_cursors.*': 'what the worker has verified',
  'audits.*': 'what the worker has verified',
  'batch_chunks.content': 'metadata and labels are unsigned; the rest is compared record by record',
  'batch_chunks.released_bytes': 'content that has left is back',
  'batch_chunks.metadata': 'unsigned',
  'chain_heads.closed': 'a restored ledger is closed',
  'checkpoints.published_at': 'a claim; the note holds no time',
  'cosignatures.*': 'made of the lines that the archived note has (restore-archive.test.ts)',
  'erasures.reason': 'free text, unsigned',
  'erasures.erased_at': 'when a worker came',
  'idempotency_keys.*': 'answer retries, and nobody retries in a closed ledger',
  'ledger_closures.closed_at': 'when the worker found it',
  'ledger_faults.*': 'what the worker has verified',
  'ledgers.rate_limit_per_second': 'how fast it may go on',
  'ledgers.rate_limit_burst': 'how fast it may go on',
  'ledgers.subject_salt': 'labels of persons are not restored',
  'records.metadata': 'unsigned',
  'records.subject': 'a label, unsigned',
  'retention_sweeps.due_at': 'what the worker does',
  'waiting_completions.verification_job': 'what the worker does',
  'webhooks.*': 'who is told from now on',
  'webhook_secrets.*': 'who is told from now on',
  'webhook_cursors.*': 'who is told from now on',
  'webhook_deliveries.*': 'who is told from now on',
}

/** Tables of peers are left out, because a ledger with peers can only be restored from a backup. */
const OF_PEERS = /^(peers|peer_.*|shared_records|received_.*|remote_records|offers)$/

/** Conditions for tables of which only some rows are compared. */
const COMPARED: Readonly<Record<string, string>> = {
  batch_keys: "get_byte(key, 0) <> ascii('S')",
  ledger_closures: 'restored_seq is not null',
}

/** Columns that are empty in a ledger without peers and with fewer than 256 entries. */
const UNFILLED: readonly string[] = [
  'gated_records.performer_remote',
  ...(OTHER_MEMBERS.length === 0 ? ['records.other_members'] : []),
  ...['ledger_id', 'level', 'tile_index', 'hashes'].map((column) => `tree_tiles.${column}`),
]

test('a restored ledger with every kind of entry equals its source, table by table', {
  timeout: 180_000,
}, async (t) => {
  const app = await buildGatedApp(t)
  const archiver = await openArchiver(t, app)
  await fillLedger(t, app)
  await archiver.run()
  const kinds = new Set((await app.entries()).map(({ kind }) => kind))
  assert.deepEqual(
    OWN_KINDS.filter((kind) => !kinds.has(kind)),
    [],
  )

  const target = await createTestDatabase(t)
  const { report } = await withOwner(target.ownerUrl, async (client) =>
    withTransaction(client, async () =>
      restoreLedger(client, {
        ledger: archiver.ledger,
        reader: directoryStore(archiver.directory),
        keys: await archiver.keys(),
        masterKey: makeMasterKeys(TEST_MASTER_KEY, null),
        ...{ outsideCheckpoints: [], kids: [], acceptsLoss: false, readOnly: true },
      }),
    ),
  )
  assert.ok(report.ok)

  const [source, restored] = [
    await connect(t, app.database.superuserUrl),
    await connect(t, target.superuserUrl),
  ]
  const different: string[] = []
  const unfilled: string[] = []
  for (const { name, columns } of await listTenantTables(source)) {
    if (OF_PEERS.test(name) || `${name}.*` in NOT_RESTORED) continue
    const compared = columns.filter((column) => !(`${name}.${column}` in NOT_RESTORED))
    const where = COMPARED[name] ?? 'true'
    const empty = compared.map((column) => `case when count(${column}) = 0 then '${column}' end`).join(', ')
    const { rows } = await source.query<{ unfilled: string[] }>(
      `select array_remove(array[${empty}], null) as unfilled from tallystick.${name} where ledger_id = $1 and ${where}`,
      [app.ledgerId],
    )
    unfilled.push(...rows[0]!.unfilled.map((column) => `${name}.${column}`))
    for (const column of compared) {
      const digest = (db: pg.Client) => digestRows(db, { name, columns: [column] }, app.ledgerId, where)
      if ((await digest(source)) !== (await digest(restored))) different.push(`${name}.${column}`)
    }
    const digest = (db: pg.Client) => digestRows(db, { name, columns: compared }, app.ledgerId, where)
    if ((await digest(source)) !== (await digest(restored))) different.push(name)
  }
  assert.deepEqual({ different, unfilled }, { different: [], unfilled: UNFILLED })
  assert.deepEqual(await recordsOfChunks(restored, app.ledgerId), await recordsOfChunks(source, app.ledgerId))
})

async function recordsOfChunks(db: pg.Client, ledgerId: Uuid) {
  const { rows } = await db.query<{ content: Buffer; count: number }>(
    'select content, count from tallystick.batch_chunks where ledger_id = $1 order by seq, chunk',
    [ledgerId],
  )
  return rows.flatMap(({ content, count }) =>
    decodeChunk(content, count).map(({ document, ...record }) => ({
      ...record,
      document: { ...document, metadata: null },
    })),
  )
}
