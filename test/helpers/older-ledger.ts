import type pg from 'pg'
import { withTransaction } from '../../src/db/connect/transaction.ts'
import { toUuid } from '../../src/db/connect/uuid.ts'
import { listMigrations } from '../../src/db/schema/migrate.ts'
import { ensureServerKeys } from '../../src/db/schema/server-keys.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { TEST_MASTER_KEY } from './database.ts'
import type { TestEntry } from './test-ledger.ts'

/* A database as an older version of Tallystick left it. The logins must be there. */

/** Applies the migrations up to `version`, as that version's `migrate` did. */
export async function migrateTo(owner: pg.Client, version: number): Promise<void> {
  await withTransaction(owner, async () => {
    await owner.query(`create schema tallystick; create table tallystick.schema_migrations (
      version int4 primary key, name text not null, sha256 text not null, applied_at timestamptz not null default now())`)
    for (const migration of listMigrations().filter((known) => known.version <= version)) {
      await owner.query(migration.sql)
      await owner.query(
        'insert into tallystick.schema_migrations (version, name, sha256) values ($1, $2, $3)',
        [migration.version, migration.name, migration.sha256],
      )
    }
    await ensureServerKeys(owner, makeMasterKey(TEST_MASTER_KEY))
  })
}

/** One entry through append_entries as it was in 0003 to 0005; the outcome's byte. */
export async function appendTo5(owner: pg.Client, entry: TestEntry): Promise<number> {
  const { records } = entry
  const time = (ms: number | null) => (ms === null ? null : new Date(ms))
  const columns: [name: string, type: string, values: unknown[]][] = [
    ['ledger_ids', 'uuid', [toUuid(entry.ledgerId)]],
    ['kinds', 'text', [entry.kind]],
    ['subject_ids', 'uuid', [toUuid(entry.subjectId)]],
    ['versions', 'int4', [entry.version]],
    ['to_states', 'text', [entry.toState]],
    ['previous_leaves', 'bytea', [entry.previousLeaf]],
    ['actor_ids', 'uuid', [entry.actorId && toUuid(entry.actorId)]],
    ['key_ids', 'uuid', [entry.keyId && toUuid(entry.keyId)]],
    ['kids', 'bytea', [entry.kid]],
    ['recorded_ats', 'timestamptz', [time(entry.recordedAtMs)]],
    ['leaves', 'bytea', [entry.leaf]],
    ['envelopes', 'bytea', [entry.envelope]],
    ['idempotency_hashes', 'bytea', [entry.idempotency?.keyHash ?? null]],
    ['request_salts', 'bytea', [entry.idempotency?.salt ?? null]],
    ['request_hashes', 'bytea', [entry.idempotency?.requestHash ?? null]],
    ['details', 'text', [entry.detail]],
    ['record_items', 'int4', records.map(() => 1)],
    ['record_ids', 'uuid', records.map((r) => toUuid(r.recordId))],
    ['record_indexes', 'int4', records.map((r) => r.index)],
    ['record_types', 'text', records.map((r) => r.type)],
    ['record_digests', 'bytea', records.map((r) => r.digest)],
    ['record_salts', 'bytea', records.map((r) => r.salt)],
    ['record_payloads', 'bytea', records.map((r) => Buffer.from(r.payload))],
    ['record_on_behalf_of', 'uuid', records.map((r) => r.onBehalfOf && toUuid(r.onBehalfOf))],
    ['record_occurred_ats', 'timestamptz', records.map((r) => time(r.occurredAtMs))],
    ['record_traceparents', 'text', records.map((r) => r.traceparent)],
    ['record_metadata', 'bytea', records.map((r) => r.metadata && Buffer.from(r.metadata))],
    ['record_parents', 'uuid', records.map((r) => r.parentId && toUuid(r.parentId))],
    ['record_reference_lists', 'bytea', records.map((r) => r.references && Buffer.from(r.references))],
  ]
  const { rows } = await owner.query<{ outcome: number }>(
    `select get_byte(tallystick.append_entries(
      ${columns.map(([name, type], i) => `${name} => $${i + 1}::${type}[]`)}), 0) as outcome`,
    columns.map(([, , values]) => values),
  )
  return rows[0]!.outcome
}
