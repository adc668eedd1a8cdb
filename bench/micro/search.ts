import { parseArgs } from 'node:util'
import { withClient } from '../../src/db/connect/client.ts'
import { parseId } from '../../src/proof/ids.ts'
import { openDatabase } from '../database.ts'
import { describeCommit } from '../report.ts'
import { deploy, startSystem } from '../system.ts'
import { printTable } from '../table.ts'
import { runVerify } from '../watch/audit.ts'
import { measureLists } from './list-load.ts'
import { fillLedger, type LargeLedger, makeLargeLedger } from './search-fill.ts'
import { makeQueries, measureQueries } from './search-queries.ts'

/*
 * npm run bench -- search [--records 10000000] [--small 100000] [--repeats 200] [--embedded]
 *
 * Does a large ledger answer as fast as a small one? Fills two ledgers of one database through the API, in the same
 * proportions, sends the same queries to both, and prints the ratios. Then it prints the disk space per record, and how
 * fast the large ledger verifies. 10 million records take 6 GB of disk, in addition to the WAL.
 *
 * npm run bench -- search --lists [--records 20000] [--connections 16] [--seconds 2] [--only WORD] [--profile]
 *
 * Measures the CPU time of a page of ten items, and pages per second. One server lists two kinds of ledgers: records
 * with an entry of their own, and batches (list-load.ts).
 */
const { values } = parseArgs({
  options: {
    records: { type: 'string' },
    small: { type: 'string', default: '100000' },
    repeats: { type: 'string', default: '200' },
    embedded: { type: 'boolean', default: false },
    lists: { type: 'boolean', default: false },
    connections: { type: 'string', default: '16' },
    seconds: { type: 'string', default: '2' },
    only: { type: 'string', default: '' },
    profile: { type: 'boolean', default: false },
  },
})

const log = (line: string) => console.log(line)
const database = await openDatabase(
  { databaseUrl: process.env['DATABASE_URL'], embedded: values.embedded },
  log,
)
try {
  const deployment = await deploy(database.ownerUrl)
  const system = await startSystem(deployment, {
    servers: 1,
    worker: !values.lists,
    inspect: values.profile,
  })
  try {
    log(`${describeCommit()}, Node ${process.version}, Postgres ${database.postgres}`)
    if (values.lists) await measureLists(system, deployment.operatorKey, database, listOptions())
    else await compareLedgers()
  } finally {
    await system.stop()
    deployment.close()
  }

  async function compareLedgers(): Promise<void> {
    const small = await makeLargeLedger(system.targets[0]!, deployment.operatorKey)
    const large = await makeLargeLedger(system.targets[0]!, deployment.operatorKey)
    await fill('small', small, Number(values.small))
    await fill('large', large, Number(values.records ?? 10_000_000))
    await compare(small, large, Number(values.repeats))
    await printSizes(database.ownerUrl, large)
    await verify(large)
  }

  async function verify(large: LargeLedger): Promise<void> {
    const startedAt = performance.now()
    log(await runVerify({ env: system.env, ledger: large.ledger }))
    const seconds = (performance.now() - startedAt) / 1000
    log(`verified in ${seconds.toFixed(0)} s: ${Math.round(large.records / seconds)} records/s on all cores`)
  }
} finally {
  await database.close()
}

function listOptions() {
  return {
    records: Number(values.records ?? 20_000),
    connections: Number(values.connections),
    seconds: Number(values.seconds),
    only: values.only,
    profile: values.profile,
    outDir: 'bench/results',
  }
}

async function fill(name: string, ledger: LargeLedger, records: number): Promise<void> {
  const startedAt = performance.now()
  await fillLedger(ledger, records)
  const seconds = (performance.now() - startedAt) / 1000
  log(`${name}: ${records} records in ${seconds.toFixed(0)} s, ${Math.round(records / seconds)}/s`)
}

/** Prints the milliseconds of each query. The ledgers take turns, so that other load on the machine affects both. */
async function compare(small: LargeLedger, large: LargeLedger, repeats: number): Promise<void> {
  const rows = [['ms', 'items', 'small p50', 'p99', 'large p50', 'p99', 'ratio p50', 'p99']]
  for (const name of makeQueries(small).keys()) {
    const [a, b] = await measureQueries(small, large, name, repeats)
    const { items, isWhole } = b
    rows.push([
      name,
      `${items}${isWhole ? '' : '…'}`,
      ...[a.p50, a.p99, b.p50, b.p99].map((ms) => ms.toFixed(2)),
      (b.p50 / a.p50).toFixed(2),
      (b.p99 / a.p99).toFixed(2),
    ])
  }
  printTable(rows)
}

async function printSizes(ownerUrl: string, { ledger, records }: LargeLedger): Promise<void> {
  await withClient(ownerUrl, async (client) => {
    const { rows } = await client.query<{ name: string; bytes: string }>(
      `select relname as name, pg_table_size(oid) as bytes from pg_class
       where relnamespace = 'tallystick'::regnamespace and relkind in ('r', 'i') and relpages > 100 order by 2 desc`,
    )
    const { rows: heads } = await client.query<{ size: string }>(
      'select size from tallystick.chain_heads where ledger_id = $1',
      [parseId('led', ledger)],
    )
    log(`${heads[0]?.size} entries; bytes a record of both ledgers:`)
    printTable([
      ['', 'MB', 'bytes/record'],
      ...rows.map(({ name, bytes }) => [
        name,
        (Number(bytes) / 1e6).toFixed(0),
        (Number(bytes) / records).toFixed(0),
      ]),
    ])
  })
}
