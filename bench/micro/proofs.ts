/*
 * npm run bench -- proofs: measures inclusion paths and consistency proofs for ledgers of several sizes. It calls the
 * functions of the routes without HTTP, one after another on one connection, on a Postgres of its own.
 */
import { randomBytes } from 'node:crypto'
import os from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { makeLatencies, summarize } from '../../cli/preflight/latencies.ts'
import { findCheckpoint, readLeaves } from '../../src/db/chain/checkpoints.ts'
import { migrate } from '../../src/db/schema/migrate.ts'
import { getNoteKeySecret } from '../../src/db/schema/server-keys.ts'
import { proveConsistency, proveInclusion } from '../../src/followers/checkpoints/prove-tree.ts'
import { type Uuid, uuidOfBytes } from '../../src/proof/ids.ts'
import { startPostgres } from '../../src/run/postgres/start.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { makeEd25519Signer, nativeProviders } from '../../src/signing/native.ts'
import { findSystemBinaries } from '../database.ts'
import { randomFrom } from '../load/random.ts'
import { printTable } from '../table.ts'
import { fillLedger, publishAll } from './large-ledger.ts'

const SIZES_DEFAULT = [100_000, 10_000_000]
const SIZE_MIN = 1_000
const WARM_UP_PROOFS = 200
const MEASURED_PROOFS = 2_000
const EXPLAINED_PROOFS = 100
const MASTER_KEY = new Uint8Array(32)

type Ledger = { readonly id: Uuid; readonly size: number; readonly note: string }
/** `a` and `b` are positions in the ledger. */
type Prove = (db: pg.ClientBase, ledger: Ledger, a: number, b: number) => Promise<Uint8Array[]>

const PROOFS: Record<string, Prove> = {
  async inclusion(db, { id, note }, a) {
    const leaf = await readLeaves(db, id, a, a + 1)
    return proveInclusion(db, id, leaf, a, note)
  },
  'consistency of any two sizes': (db, { id, note }, a, b) =>
    proveConsistency(db, id, 1 + Math.min(a, b), 1 + Math.max(a, b), note),
  'consistency, to the checkpoint': (db, { id, note, size }, a) =>
    proveConsistency(db, id, 1 + a, size, note),
}

async function main(sizes: readonly number[]): Promise<void> {
  const binDir = findSystemBinaries()
  const server = await startPostgres({
    dataDir: join('/var/tmp', `tallystick-bench-${randomBytes(4).toString('hex')}`),
    ...(binDir === null ? {} : { binDir }),
    settings: { max_wal_size: '4GB' },
    temporary: true,
    log: () => {},
  })
  const url = new URL(server.superuserUrl)
  url.pathname = new URL(server.ownerUrl).pathname
  const pool = new pg.Pool({ connectionString: url.href, max: 2 })
  try {
    await migrate({
      ownerUrl: server.ownerUrl,
      masterKey: makeMasterKey(MASTER_KEY),
      passwords: { api: 'bench', worker: 'bench' },
    })
    console.log(`${os.cpus()[0]?.model}, ${os.availableParallelism()} cores; Postgres ${server.version}`)
    const ledgers = await makeLedgers(pool, sizes)
    console.log(`… load average ${os.loadavg()[0]?.toFixed(1)} before the measurement`)
    await printFigures(pool, ledgers)
  } finally {
    await pool.end()
    await server.stop('immediate')
  }
}

async function makeLedgers(pool: pg.Pool, sizes: readonly number[]): Promise<Ledger[]> {
  const { seed } = await getNoteKeySecret(pool, makeMasterKey(MASTER_KEY))
  const ids = sizes.map(() => uuidOfBytes(randomBytes(16)))
  for (const [i, size] of sizes.entries()) {
    console.log(`… ${size.toLocaleString('en')} entries`)
    await fillLedger(pool, ids[i]!, size)
  }
  console.log('… tiles')
  await publishAll(pool, makeEd25519Signer(nativeProviders.sha256, seed))
  return Promise.all(
    sizes.map(async (size, i) => ({ id: ids[i]!, size, note: (await findCheckpoint(pool, ids[i]!, size))! })),
  )
}

async function printFigures(pool: pg.Pool, ledgers: readonly Ledger[]): Promise<void> {
  const client = await pool.connect()
  const rows = [['proof', 'entries', 'hashes', 'p50 ms', 'p99 ms', 'CPU ms (Node)', 'queries', 'pages']]
  try {
    for (const [name, prove] of Object.entries(PROOFS)) {
      for (const ledger of ledgers) {
        const random = randomFrom(1)
        const place = () => random.integer(0, ledger.size - 1)
        const next = (db: pg.ClientBase) => prove(db, ledger, place(), place())
        const { ms, cpuMs, hashes } = await measure(() => next(client))
        const { queries, pages } = await explain(client, next)
        const figures = [hashes, ms.p50 / 1e6, ms.p99 / 1e6, cpuMs].map((value) => value.toFixed(2))
        rows.push([name, ledger.size.toLocaleString('en'), ...figures, queries.toFixed(1), pages.toFixed(0)])
      }
    }
  } finally {
    client.release()
  }
  printTable(rows)
}

async function measure(prove: () => Promise<Uint8Array[]>) {
  for (let i = 0; i < WARM_UP_PROOFS; i++) await prove()
  const latencies = makeLatencies()
  let hashes = 0
  const cpu = process.cpuUsage()
  for (let i = 0; i < MEASURED_PROOFS; i++) {
    const startedAt = performance.now()
    hashes += (await prove()).length
    latencies.record(performance.now() - startedAt)
  }
  const { user, system } = process.cpuUsage(cpu)
  return {
    ms: summarize(latencies),
    cpuMs: (user + system) / 1000 / MEASURED_PROOFS,
    hashes: hashes / MEASURED_PROOFS,
  }
}

/** Returns two means per proof: the number of queries, and the number of 8 KiB pages that Postgres touches for them. */
async function explain(client: pg.PoolClient, prove: (db: pg.ClientBase) => Promise<unknown>) {
  let queries = 0
  let pages = 0
  const explaining = {
    async query(first: string | { text: string; values: unknown[] }, given?: unknown[]) {
      const { text, values } = typeof first === 'string' ? { text: first, values: given } : first
      const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, values)
      const { Plan: plan } = rows[0]['QUERY PLAN'][0]
      queries++
      pages += plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
      return client.query(text, values)
    },
  } as unknown as pg.ClientBase
  for (let i = 0; i < EXPLAINED_PROOFS; i++) await prove(explaining)
  return { queries: queries / EXPLAINED_PROOFS, pages: pages / EXPLAINED_PROOFS }
}

const sizes = process.argv.slice(2).map(Number)
if (sizes.some((size) => !Number.isSafeInteger(size) || size < SIZE_MIN)) {
  console.error(
    `npm run bench -- proofs [SIZE…], each at least ${SIZE_MIN}; by default ${SIZES_DEFAULT.join(' ')}`,
  )
  process.exitCode = 2
} else {
  await main(sizes.length > 0 ? sizes : SIZES_DEFAULT)
}
