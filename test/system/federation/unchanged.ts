import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { exportFile } from '../../../src/verify/export-file.ts'
import { verifyLedger } from '../../../src/verify/verify-ledger.ts'
import type { Organisation } from '../../helpers/federation.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import type { Answered } from './mallory.ts'

/** Query for a comparison. It returns counts and states of everything that a peer could have added or changed. */
const STANDING = `
  select 'entries' as name, ledger_id::text || ' ' || count(*) as value from tallystick.entries group by ledger_id
  union all select 'received', ledger_id::text || ' ' || count(*) from tallystick.received_entries group by ledger_id
  union all select 'documents', count(*) || ' ' || count(content) from tallystick.received_documents
  union all select 'types', count(*)::text from tallystick.received_types
  union all select 'remote', peer_id || ' ' || record_id || ' ' || version || ' ' || state from tallystick.remote_records
  union all select 'own', record_id || ' ' || version || ' ' || state from tallystick.gated_records
  union all select 'offers', ledger_id || ' ' || seq || ' ' || state from tallystick.offers
  union all select 'peers', peer_id || ' ' || state from tallystick.peers
  union all select 'keys', peer_id || ' ' || encode(kid, 'hex') || ' ' || coalesce(until_seq, -1) from tallystick.peer_keys
  order by 1, 2`

export async function standingOf(organisation: Organisation): Promise<string[]> {
  const rows = await organisation.sql<{ name: string; value: string }>(STANDING)
  return rows.map(({ name, value }) => `${name}: ${value}`)
}

/** Asserts that `work` appends nothing, and leaves peers, keys and records unchanged. */
export async function unchanged<T>(organisation: Organisation, work: () => Promise<T>): Promise<T> {
  const before = await standingOf(organisation)
  const result = await work()
  assert.deepEqual(await standingOf(organisation), before)
  return result
}

export async function refused(
  organisation: Organisation,
  send: () => Promise<Answered>,
  status: number,
  code: string,
): Promise<void> {
  const { status: found, body } = await unchanged(organisation, send)
  assert.deepEqual([found, body.code], [status, code], JSON.stringify(body))
}

/** Asserts that the ledger's own export still verifies, whatever a peer sent. */
export async function verifyOwnExport(organisation: Organisation): Promise<void> {
  const { body } = await organisation.send('GET', '/v1/export')
  const path = join(temporaryDir(), 'ledger.ndjson')
  writeFileSync(path, body)
  const { failure } = await verifyLedger(exportFile(path), { threads: 0 })
  assert.equal(failure, null, `${organisation.name}: ${JSON.stringify(failure)}`)
}
