/*
 * npm run bench -- retention [--records 20000] [--rows 1000] [--share 1] [--embedded]
 *
 * Measures how many documents per second retention erases, from the rule until all documents are erased. The worker's
 * rounds run sweeps and erasures at the same time.
 *
 * `--records`: number of records in batches of 1,000. `--rows`: number of records with a request of their own.
 * `--share`: share of the time that sweeps get; by default the same as in the worker. Before the sweep, the timestamps
 * of all records are made a year older. Afterwards the ledger must verify, and a second ledger must be unchanged.
 */
import { parseArgs } from 'node:util'
import pg from 'pg'
import { openSigners } from '../../src/append/open-signers.ts'
import { Database } from '../../src/db/connect/connection.ts'
import { openReadPool } from '../../src/db/connect/pools.ts'
import { makeErasureRound } from '../../src/followers/erasure/carry-out.ts'
import { ERASURE_EVERY_MS, RETENTION_EVERY_MS, RETENTION_TIME_SHARE_MAX } from '../../src/followers/limits.ts'
import { runFollower } from '../../src/followers/loop.ts'
import { ERASURES_REFUSED, RefusedItems } from '../../src/followers/refused.ts'
import { sweepRetention } from '../../src/followers/retention/sweep.ts'
import { parseId } from '../../src/proof/ids.ts'
import { makeMasterKeys } from '../../src/signing/master-keys.ts'
import { openDatabase } from '../database.ts'
import { post } from '../load/post.ts'
import { randomFrom } from '../load/random.ts'
import { makeOrder } from '../load/requests.ts'
import { describeCommit } from '../report.ts'
import { deploy, startMeasured, startSystem } from '../system.ts'
import { runVerify } from '../watch/audit.ts'
import { takeCpuSnapshot } from '../watch/cpu.ts'

const CLIENTS = 8
const BATCH = 1_000
const PAYLOAD_BYTES = 400
const RULE_DAYS = 183
const AGE = "interval '365 days'"
const LOOK_EVERY_MS = 250

const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '20000' },
    rows: { type: 'string', default: '1000' },
    share: { type: 'string', default: String(RETENTION_TIME_SHARE_MAX) },
    embedded: { type: 'boolean', default: false },
  },
})
const [records, rows] = [Number(values.records), Number(values.rows)]

const random = randomFrom(7)
let counter = 0
const record = () => ({
  type: 'generic/1',
  payload: { ...makeOrder(PAYLOAD_BYTES, random), callId: `call_${counter++}` },
})

const database = await openDatabase(
  { databaseUrl: process.env['DATABASE_URL'], embedded: values.embedded },
  console.log,
)
const deployment = await deploy(database.ownerUrl)
const system = await startSystem(deployment, { servers: 1, worker: false, inspect: false })
const owner = new pg.Client({ connectionString: database.ownerUrl })
await owner.connect()
try {
  console.log(`${describeCommit()}, Node ${process.version}, Postgres ${database.postgres}`)
  const [target] = system.targets as [(typeof system.targets)[number]]
  const beside = await post(target, deployment.operatorKey, '/v1/ledgers', { name: 'beside' })
  await fill(beside.key.key, 2 * BATCH, 100)
  await fill(system.bearer, records, rows)
  await post(target, system.bearer, '/v1/retention/rules', { days: RULE_DAYS, basis: 'bench' })
  await post(target, beside.key.key, '/v1/retention/rules', { days: RULE_DAYS, basis: 'bench' })
  const besideId = parseId('led', beside.ledger.id)
  const before = await digestOf(besideId)
  const ledgerId = parseId('led', system.ledger)
  // Triggers refuse this update, so the owner disables the triggers for it.
  await withoutTriggers(
    `update tallystick.entries set recorded_at = recorded_at - ${AGE} where ledger_id = '${ledgerId}' and version is not null`,
  )
  await owner.query('vacuum analyze')
  const { seconds, peakMiB, cpu } = await sweep(records + rows)
  console.log(
    `${(records + rows).toLocaleString('en')} documents in ${seconds.toFixed(1)} s: ` +
      `${Math.round((records + rows) / seconds).toLocaleString('en')} documents/s, sweeps with ${values.share} of the time, ` +
      `CPU of the worker ${((1e6 * cpu.worker) / (records + rows)).toFixed(0)} us a document, of Postgres ${((1e6 * cpu.postgres) / (records + rows)).toFixed(0)} us, worker's memory ${peakMiB} MiB at most`,
  )
  await withoutTriggers(
    `update tallystick.entries set recorded_at = recorded_at + ${AGE} where ledger_id = '${ledgerId}' and version is not null`,
  )
  console.log(
    (await digestOf(besideId)) === before ? 'the other ledger did not change' : 'ANOTHER LEDGER CHANGED',
  )
  // The worker publishes a checkpoint. Without one, a ledger that was idle for a minute does not verify.
  const worker = startMeasured('worker', system.env)
  try {
    await untilPublished(ledgerId)
    console.log(await runVerify(system))
  } finally {
    await worker.stop()
  }
} finally {
  await owner.end()
  await system.stop()
  deployment.close()
  await database.close()
}

async function fill(bearer: string, items: number, single: number): Promise<void> {
  const [target] = system.targets as [(typeof system.targets)[number]]
  let [batches, ones] = [Math.ceil(items / BATCH), single]
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      while (batches-- > 0)
        await post(target, bearer, '/v1/records/batch', { records: Array.from({ length: BATCH }, record) })
      while (ones-- > 0) await post(target, bearer, '/v1/records', record())
    }),
  )
}

async function untilPublished(ledgerId: string): Promise<void> {
  for (;;) {
    const { rowCount } = await owner.query(
      `select from tallystick.checkpoints c join tallystick.chain_heads h on h.ledger_id = c.ledger_id and h.size = c.size
       where c.ledger_id = $1`,
      [ledgerId],
    )
    if (rowCount) return
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
}

async function withoutTriggers(statement: string): Promise<void> {
  await owner.query(
    `begin; alter table tallystick.entries disable trigger user; ${statement}; alter table tallystick.entries enable trigger user; alter table tallystick.entries enable always trigger entries_extend_chain; commit`,
  )
}

/** Runs the worker's rounds until all `documents` are erased. */
async function sweep(documents: number) {
  const master = makeMasterKeys(Buffer.from(deployment.env['TALLYSTICK_MASTER_KEY']!, 'hex'), null)
  const url = deployment.env['TALLYSTICK_WORKER_DATABASE_URL']!
  const pool = openReadPool(new Database(url, undefined, (chunks) => master.databaseMac(chunks)), console)
  const signers = openSigners(pool, master, Date.now)
  await signers.load()
  const log = { info() {}, error: (details: object, message: string) => console.error(message, details) }
  let left = documents
  const deps = {
    ...{ pool, signers, masterKey: master, log, now: Date.now, machineNow: Date.now },
    observeRetention() {},
    observeErasure(count: number) {
      left -= count
    },
    refusedErasures: new RefusedItems(Date.now, ERASURES_REFUSED),
    waitingErasures: new RefusedItems(Date.now, ERASURES_REFUSED),
  }
  const stop = new AbortController()
  const took = cpuSeconds()
  const beganAt = performance.now()
  const running = [
    {
      name: 'retention',
      everyMs: RETENTION_EVERY_MS,
      timeShareMax: Number(values.share),
      step: () => sweepRetention(deps),
    },
    { name: 'erasures', everyMs: ERASURE_EVERY_MS, step: makeErasureRound(deps) },
  ].map((follower) => runFollower(follower, log, stop.signal))
  let peakBytes = 0
  while (left > 0) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
    peakBytes = Math.max(peakBytes, process.memoryUsage.rss())
  }
  const seconds = (performance.now() - beganAt) / 1_000
  const now = cpuSeconds()
  stop.abort()
  await Promise.all(running)
  await pool.end()
  const cpu = { worker: now.worker - took.worker, postgres: now.postgres - took.postgres }
  return { seconds, peakMiB: Math.round(peakBytes / 2 ** 20), cpu }
}

function cpuSeconds() {
  const { user, system: kernel } = process.cpuUsage()
  const { seconds } = takeCpuSnapshot({ processes: {}, postmaster: database.postmaster })
  return { worker: (user + kernel) / 1e6, postgres: seconds['postgres'] ?? 0 }
}

/** Returns a digest of a ledger's entries and of its rows in all tables that erasures change. */
async function digestOf(ledgerId: string): Promise<string> {
  const tables = [
    'entries',
    'records',
    'batch_chunks',
    'batch_keys',
    'record_references',
    'erasures',
    'documents',
  ]
  const digests = tables.map(
    (name) =>
      `(select md5(string_agg(md5(t::text), '' order by md5(t::text))) from tallystick.${name} t where ledger_id = $1)`,
  )
  const { rows } = await owner.query(`select concat_ws(' ', ${digests.join(', ')}) as digest`, [ledgerId])
  return rows[0].digest
}
