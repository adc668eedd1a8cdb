import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { runLoad } from '../../../bench/load/load.ts'
import { publishAll } from '../../../bench/micro/large-ledger.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../bench/webhook-receiver.ts'
import type { LatencySummary } from '../../../cli/preflight/latencies.ts'
import { moveAuditCursor } from '../../../src/db/audit/audit-cursors.ts'
import { getNoteKeySecret } from '../../../src/db/schema/server-keys.ts'
import { parseId, type Uuid } from '../../../src/proof/ids.ts'
import { makeCursorMac } from '../../../src/signing/cursor-mac.ts'
import { makeMasterKey } from '../../../src/signing/master-key.ts'
import { makeEd25519Signer, nativeProviders } from '../../../src/signing/native.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { Deployment, type Ledger, MASTER_KEY } from '../deployment/deployment.ts'
import { formatLoad } from '../faults/kill.ts'
import { measureBusyPercent, planLoad, requireClean } from './load-on.ts'
import { addCounted, countRows, formatLag, formatRows, post, residentMiB } from './webhook-endpoints-on.ts'

export type Backlog = {
  /** Number of entries that wait for the slow endpoint. */
  readonly entries: number
  readonly fastEndpoints: number
  readonly recordsPerSecond: number
  readonly durationMs: number
}

export type BacklogOutcome = {
  readonly without: LatencySummary
  readonly beside: LatencySummary
  /** Number of new deliveries that the fast endpoints must get. */
  readonly due: number
  readonly received: number
  readonly slowReceived: number
  readonly residentMiB: readonly number[]
  readonly jobs: number
}

const SLOW_ANSWER_MS = 200
const REAL_RECORDS = 500
/**
 * Number of real copies in the backlog. It is larger than the number of deliveries that the slow endpoint can get in a
 * run.
 */
const COPIES_MAX = 200_000
const ROWS_PER_INSERT = 500_000
const SETTLE_MS = 2_000

/**
 * Measures fast endpoints of a ledger with a constant rate of records. First they run alone. Then they run next to a
 * slow endpoint of the same ledger. The slow endpoint takes 200 ms for each answer, and millions of entries wait for
 * it. The cost of this backlog must not grow with its size.
 *
 * All entries of the backlog have the kind that the endpoint wants. The first COPIES_MAX entries are copies of real
 * entries with their own seqs, so that each verifies by itself. The entries beyond COPIES_MAX are never reached, so
 * they are not signed.
 */
export async function webhookBacklog(plan: Backlog): Promise<BacklogOutcome> {
  console.log(`webhook-backlog: the machine is ${await measureBusyPercent()} % busy before it begins`)
  const settings = { max_wal_size: '8GB' }
  const deployment = await Deployment.start({ dir: temporaryDir(), apis: 1, settings })
  const receiver = await startWebhookReceiver()
  try {
    const ledger = await deployment.createLedger('large')
    await recordAll(deployment, ledger, REAL_RECORDS)
    const from = await fillBacklog(deployment, ledger, plan.entries)
    await deployment.startWorker(0)
    for (let number = 0; number < plan.fastEndpoints; number++)
      await addCounted(deployment, ledger, receiver, { number })
    const without = await measure(deployment, ledger, receiver, plan, 'without the slow one')
    const slow = plan.fastEndpoints
    const id = await addCounted(deployment, ledger, receiver, { number: slow, answerMs: SLOW_ANSWER_MS })
    await putBack(deployment, ledger, id, from)
    const beside = await measure(deployment, ledger, receiver, plan, 'beside the slow one')
    const { windows } = await receiver.read([[slow]])
    const rows = await countRows(deployment.ownerUrl)
    console.log(`  the slow one was sent ${windows[0]!.requests}; ${formatRows(rows)}; ${formatLoad()}`)
    return {
      without: without.lag,
      beside: beside.lag,
      due: without.due + beside.due,
      received: without.received + beside.received,
      slowReceived: windows[0]!.requests,
      residentMiB: [...without.residentMiB, ...beside.residentMiB],
      jobs: rows.jobs,
    }
  } finally {
    receiver.stop()
    await deployment.stop()
  }
}

async function recordAll({ urls }: Deployment, { bearer }: Ledger, count: number): Promise<void> {
  for (let i = 0; i < count; i++)
    await post(urls[0]!, bearer, '/v1/records', { type: 'generic/1', payload: { i, text: 'x'.repeat(300) } })
}

async function fillBacklog(deployment: Deployment, { ledger }: Ledger, entries: number): Promise<number> {
  const pool = new pg.Pool({ connectionString: deployment.superuserUrl, max: 2 })
  const ledgerId = parseId('led', ledger)
  const client = await pool.connect()
  try {
    const head = await client.query<{ size: string }>(
      'select size from tallystick.chain_heads where ledger_id = $1',
      [ledgerId],
    )
    const from = Number(head.rows[0]!.size)
    await client.query('set session_replication_role = replica')
    for (let at = 0; at < entries; at += ROWS_PER_INSERT)
      await insertEntries(client, ledgerId, { from, at, end: Math.min(entries, at + ROWS_PER_INSERT) })
    await client.query(
      `update tallystick.chain_heads h set size = $2::bigint, chain = e.chain
       from tallystick.entries e where h.ledger_id = $1 and e.ledger_id = $1 and e.seq = $2::bigint - 1`,
      [ledgerId, from + entries],
    )
    // The follower that verifies entries continues behind the backlog.
    await putFollowerAtEnd(client, ledgerId)
    await client.query('set session_replication_role = origin')
    await client.query('vacuum analyze tallystick.entries')
    const { seed } = await getNoteKeySecret(pool, makeMasterKey(MASTER_KEY))
    await publishAll(pool, makeEd25519Signer(nativeProviders.sha256, seed))
    return from
  } finally {
    client.release()
    await pool.end()
  }
}

async function putFollowerAtEnd(client: pg.ClientBase, ledgerId: Uuid): Promise<void> {
  const { rows } = await client.query<{ size: number; chain: Buffer; envelopeKid: Buffer }>(
    'select size, chain, envelope_kid from tallystick.chain_heads where ledger_id = $1',
    [ledgerId],
  )
  const { size, chain, envelopeKid } = rows[0]!
  const place = { nextSeq: size, chain, envelopeKid, agentKeys: null }
  const mac = makeCursorMac(makeMasterKey(MASTER_KEY)).of({ ledgerId, ...place })
  await moveAuditCursor(client, ledgerId, { ...place, mac })
}

async function insertEntries(
  client: pg.ClientBase,
  ledgerId: string,
  { from, at, end }: { from: number; at: number; end: number },
): Promise<void> {
  await client.query(
    `with real as (
       select row_number() over (order by seq) - 1 as n, * from tallystick.entries
       where ledger_id = $1 and kind = 'record-notarized' and seq < $2
     )
     insert into tallystick.entries (ledger_id, seq, kind, subject_id, actor_id, key_id, recorded_at, leaf, chain, envelope)
     select $1, $2 + i, r.kind, r.subject_id, r.actor_id, r.key_id, r.recorded_at,
       case when i < $5 then r.leaf else sha256('\\x00'::bytea || int8send(i)) end, r.chain,
       case when i < $5 then r.envelope else int8send(i) end
     from generate_series($3::bigint, $4::bigint - 1) i join real r on r.n = i % ${REAL_RECORDS}`,
    [ledgerId, from, at, end, COPIES_MAX],
  )
}

/** Moves an endpoint's cursor back, as if the endpoint had received nothing for long. */
async function putBack(
  { superuserUrl }: Deployment,
  { ledger }: Ledger,
  webhook: string,
  seq: number,
): Promise<void> {
  const pool = new pg.Pool({ connectionString: superuserUrl, max: 1 })
  await pool.query(
    'update tallystick.webhook_cursors set next_seq = $3 where ledger_id = $1 and webhook_id = $2',
    [parseId('led', ledger), parseId('whk', webhook), seq],
  )
  await pool.end()
}

async function measure(
  deployment: Deployment,
  ledger: Ledger,
  receiver: WebhookReceiver,
  { recordsPerSecond, durationMs, fastEndpoints }: Backlog,
  name: string,
) {
  const pace = { kind: 'arrival', perSecond: recordsPerSecond, backlogMax: 10_000 } as const
  const plan = planLoad(deployment.urls, [ledger], { connections: 32, pace, durationMs, seed: name.length })
  await receiver.begin()
  const resident = [residentMiB(deployment.workerPid(0))]
  const middle = sleep(plan.warmUpMs + durationMs / 2).then(
    () => void resident.push(residentMiB(deployment.workerPid(0))),
  )
  const load = await runLoad(plan)
  requireClean('webhook-backlog', load)
  await middle
  await sleep(SETTLE_MS)
  resident.push(residentMiB(deployment.workerPid(0)))
  const fast = Array.from({ length: fastEndpoints }, (_, i) => i)
  const { windows } = await receiver.read([fast])
  const { lag, requests } = windows[0]!
  const due = load.acknowledgedItems * fastEndpoints
  console.log(`webhook-backlog: ${name}: due ${due}, received ${requests}; lag ${formatLag(lag)}`)
  console.log(`  worker ${resident.join(', ')} MiB at the start, in the middle, at the end; ${formatLoad()}`)
  return { lag, due, received: requests, residentMiB: resident }
}
