import { setTimeout as sleep } from 'node:timers/promises'
import { bytesOfUuid, formatId, parseId } from '../../../src/proof/ids.ts'
import { database } from '../../../src/verify/database.ts'
import { formatReport } from '../../../src/verify/report.ts'
import { verifyLedger } from '../../../src/verify/verify-ledger.ts'
import { listPayloads } from '../../helpers/batch-records.ts'
import { sha256 } from '../../helpers/test-ledger.ts'
import { withPatientClient } from '../deployment/processes.ts'
import type { StoredRecord } from './reckoning.ts'

export async function readRecords(url: string, ledger: string): Promise<StoredRecord[]> {
  return withPatientClient(url, async (client) => {
    const stored = await listPayloads(client, parseId('led', ledger))
    return stored.map(({ recordId, seq, payload }) => {
      const { intent, item } = JSON.parse(payload) as Pick<StoredRecord, 'intent' | 'item'>
      return { ledger, id: formatId('rec', recordId), seq, intent, item }
    })
  })
}

/**
 * Checks a ledger twice and returns its size. Throws at the first fault. The first check is in this file and shares no
 * code with the product. It checks that seq is dense, that each leaf matches its envelope, that each link matches its
 * predecessor and that the head matches the last entry. The second check is the full verifier.
 *
 * If a checkpoint is missing, the check waits for it. On a busy machine a worker was 93 s late.
 */
export async function checkLedger(url: string, ledger: string): Promise<number> {
  const size = await checkChain(url, ledger)
  for (const giveUpAt = Date.now() + CHECKPOINT_MS_MAX; ; await sleep(CHECKPOINT_POLL_MS)) {
    const report = await verifyLedger(database(url, ledger), { threads: 1 })
    if (report.failure?.code === 'checkpoint_missing_tail' && Date.now() < giveUpAt) continue
    if (!report.ok || report.entries !== size)
      throw new Error(`${ledger}: ${formatReport(report)}, ${size} entries`)
    return size
  }
}

const CHECKPOINT_MS_MAX = 120_000
const CHECKPOINT_POLL_MS = 1_000

const ENTRIES_PER_QUERY = 10_000

async function checkChain(url: string, ledger: string): Promise<number> {
  const ledgerId = parseId('led', ledger)
  return withPatientClient(url, async (client) => {
    await client.query('begin isolation level repeatable read read only')
    let chain = sha256(Buffer.from('tallystick-chain-v1'), bytesOfUuid(ledgerId))
    let size = 0
    for (;;) {
      const { rows } = await client.query<{ seq: string; leaf: Buffer; chain: Buffer; envelope: Buffer }>(
        `select seq, leaf, chain, envelope from tallystick.entries
         where ledger_id = $1 and seq >= $2 order by seq limit $3`,
        [ledgerId, size, ENTRIES_PER_QUERY],
      )
      for (const row of rows) {
        if (Number(row.seq) !== size) throw new Error(`${ledger}: seq ${row.seq} stands where ${size} should`)
        if (!row.leaf.equals(sha256(Buffer.of(0), row.envelope)))
          throw new Error(`${ledger}: leaf of seq ${size}`)
        chain = sha256(Buffer.of(2), chain, row.leaf)
        if (!row.chain.equals(chain)) throw new Error(`${ledger}: the chain breaks at seq ${size}`)
        size++
      }
      if (rows.length < ENTRIES_PER_QUERY) break
    }
    const head = await client.query<{ size: string; chain: Buffer }>(
      'select size, chain from tallystick.chain_heads where ledger_id = $1',
      [ledgerId],
    )
    const found = head.rows[0]
    if (!found || Number(found.size) !== size || !found.chain.equals(chain)) {
      throw new Error(`${ledger}: the head says ${found?.size}, the entries ${size}`)
    }
    return size
  })
}

export async function countDeadlocks(url: string): Promise<number> {
  return withPatientClient(url, async (client) => {
    const { rows } = await client.query<{ deadlocks: string }>(
      'select deadlocks from pg_stat_database where datname = current_database()',
    )
    return Number(rows[0]!.deadlocks)
  })
}
