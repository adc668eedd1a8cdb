import { spawn } from 'node:child_process'
import { withClient } from '../../src/db/connect/client.ts'
import { formatId, parseId, type Uuid } from '../../src/proof/ids.ts'
import type { System } from '../system.ts'
import type { WebhookReceiver } from '../webhook-receiver.ts'

export type Audit = {
  readonly ledgers: number
  readonly acknowledged: number
  /** Number of records that were sent and never answered. Each of them may or may not be committed. */
  readonly unanswered: number
  readonly found: number
  readonly entries: number
  /** Growth of the database per record in bytes, with indexes and jobs, without WAL. */
  readonly bytesPerRecord: number
  /** Number of ledgers that `tallystick verify` accepted. `badVerdicts`: its verdicts on the other ledgers. */
  readonly verified: number
  readonly badVerdicts: readonly string[]
  /** Number of started processes that have ended since. They are not restarted. */
  readonly ended: number
  readonly deadLetters: number
  /** Number of deliveries due and of deliveries received, each counted once. null if there is no receiver. */
  readonly deliveries: { readonly due: number; readonly received: number } | null
  readonly faults: readonly string[]
  readonly ok: boolean
}

/** Number of ledgers that are verified at the same time. With two cores, a third `verify` would only wait. */
const VERIFY_AT_ONCE = 2

type Audited = {
  readonly ownerUrl: string
  readonly system: System
  /** State before the round, from `readStateBefore`. Ledgers that existed then are left out. */
  readonly before: Before
  readonly receiver?: WebhookReceiver | null
  readonly acknowledged: number
  readonly unanswered: number
}

/**
 * Audits a round. Every acknowledged record must be in a ledger exactly once, every ledger must verify, no process may
 * have ended, and no job may have been given up. The rate of a round that loses data does not count.
 */
export async function auditLedgers(audited: Audited): Promise<Audit> {
  const { ownerUrl, system, before, receiver = null, acknowledged, unanswered } = audited
  const all = await countLedgers(ownerUrl)
  const counted = all.filter(({ ledger }) => !before.ledgers.has(ledger))
  const used = counted.filter(({ size }) => size > 0)
  const sum = (of: (ledger: Counted) => number) => counted.reduce((total, ledger) => total + of(ledger), 0)
  const verdicts = await verifyAll(
    used.map(({ ledger }) => ledger),
    system.env,
  )
  const facts = {
    ledgers: used.length,
    acknowledged,
    unanswered,
    found: sum(({ records }) => records),
    entries: sum(({ entries }) => entries),
    bytesPerRecord: ((await sizeOf(ownerUrl)) - before.bytes) / sum(({ records }) => records),
    verified: verdicts.filter(isGood).length,
    badVerdicts: verdicts.filter((verdict) => !isGood(verdict)),
    ended: [...system.servers, ...(system.worker ? [system.worker] : [])].filter(({ pid }) => !isAlive(pid))
      .length,
    deadLetters: await countDead(ownerUrl),
    deliveries: receiver && (await countDeliveries(ownerUrl, receiver, before.ledgers)),
  }
  const faults = [...findFaults(facts), ...counted.flatMap(findGaps)]
  return { ...facts, faults, ok: faults.length === 0 }
}

type Facts = Omit<Audit, 'faults' | 'ok'>

export function findFaults(facts: Facts): string[] {
  const { acknowledged, unanswered, found, deliveries } = facts
  const faults: string[] = []
  if (found < acknowledged)
    faults.push(`${acknowledged - found} acknowledged records are missing from all ledgers`)
  if (found > acknowledged + unanswered)
    faults.push(`${found - acknowledged - unanswered} records are neither acknowledged nor left unanswered`)
  if (facts.ledgers === 0) faults.push('nothing was written')
  faults.push(...facts.badVerdicts.map((verdict) => `verify: ${verdict}`))
  if (facts.ended > 0) faults.push(`${facts.ended} processes have ended`)
  if (facts.deadLetters > 0) faults.push(`${facts.deadLetters} dead letters`)
  if (deliveries && deliveries.received !== deliveries.due)
    faults.push(`${deliveries.received} of ${deliveries.due} deliveries arrived`)
  return faults
}

function findGaps({ ledger, entries, size }: Counted): string[] {
  return entries === size ? [] : [`${ledger} claims ${size} entries, but has ${entries}`]
}

const isGood = (verdict: string) => verdict.startsWith('INTEGRITY_OK')

async function verifyAll(ledgers: readonly string[], env: NodeJS.ProcessEnv): Promise<string[]> {
  const waiting = [...ledgers]
  const verdicts: string[] = []
  const work = async () => {
    for (let ledger = waiting.pop(); ledger !== undefined; ledger = waiting.pop())
      verdicts.push(await runVerify({ env, ledger }))
  }
  await Promise.all(Array.from({ length: VERIFY_AT_ONCE }, work))
  return verdicts
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

type Counted = {
  readonly ledger: string
  readonly size: number
  readonly entries: number
  readonly records: number
}

export type Before = { readonly ledgers: ReadonlySet<string>; readonly bytes: number }

export async function readStateBefore(ownerUrl: string): Promise<Before> {
  const ledgers = (await countLedgers(ownerUrl)).map(({ ledger }) => ledger)
  return { ledgers: new Set(ledgers), bytes: await sizeOf(ownerUrl) }
}

async function sizeOf(ownerUrl: string): Promise<number> {
  return withClient(ownerUrl, async (client) => {
    const { rows } = await client.query('select pg_database_size(current_database())::float8 as bytes')
    return rows[0].bytes
  })
}

async function countLedgers(ownerUrl: string): Promise<Counted[]> {
  return withClient(ownerUrl, async (client) => {
    const { rows } = await client.query<Omit<Counted, 'ledger'> & { id: Uuid }>(
      `select h.ledger_id as id, h.size::float8, coalesce(e.count, 0) as entries, coalesce(r.count, 0) + coalesce(c.count, 0) as records
       from tallystick.chain_heads h
       left join (select ledger_id, count(*)::float8 from tallystick.entries group by 1) e using (ledger_id)
       left join (select ledger_id, count(*)::float8 from tallystick.records group by 1) r using (ledger_id)
       left join (select ledger_id, sum(count)::float8 as count from tallystick.batch_chunks group by 1) c using (ledger_id)`,
    )
    return rows.map(({ id, ...counts }) => ({
      ledger: formatId('led', id),
      ...counts,
    }))
  })
}

async function countDead(ownerUrl: string): Promise<number> {
  return withClient(ownerUrl, async (client) => {
    const { rows } = await client.query<{ count: number }>(
      "select count(*)::int as count from tallystick_jobs.job where name = 'dead-letters'",
    )
    return rows[0]!.count
  })
}

/**
 * Counts the deliveries due. This is exact, because every webhook of the round existed before its ledger's first
 * record.
 */
async function countDeliveries(
  ownerUrl: string,
  receiver: WebhookReceiver,
  before: ReadonlySet<string>,
): Promise<NonNullable<Audit['deliveries']>> {
  const due = await withClient(ownerUrl, async (client) => {
    const { rows } = await client.query<{ count: number }>(
      `select count(*)::int as count from tallystick.webhooks w join tallystick.entries e using (ledger_id)
       where e.kind = 'record-notarized' and not ledger_id = any ($1::uuid[])`,
      [[...before].map((ledger) => parseId('led', ledger))],
    )
    return rows[0]!.count
  })
  return { due, received: (await receiver.read([])).events }
}

export function describeAudit(audit: Audit): string {
  const { acknowledged, unanswered, found, entries, ledgers, verified, ended, deadLetters, deliveries } =
    audit
  const bytes = Math.round(audit.bytesPerRecord)
  const unknown = unanswered === 0 ? '' : ` (${unanswered} more got no answer)`
  const came = deliveries === null ? '' : `, ${deliveries.received} of ${deliveries.due} deliveries`
  return `${acknowledged} records acknowledged${unknown}, ${found} found in ${entries} entries of ${ledgers} ledgers, ${verified} verified; ${ended} processes ended, ${deadLetters} dead letters${came}; ${bytes} bytes a record.`
}

/** Runs the public verifier on the database, from the first entry to the last. */
export function runVerify(system: Pick<System, 'env' | 'ledger'>): Promise<string> {
  const url = system.env['TALLYSTICK_API_DATABASE_URL']!
  return runTallystick(['verify', '--database', url, '--ledger', system.ledger], /^INTEGRITY_/)
}

export function runTallystick(args: readonly string[], isVerdict: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['cli/tallystick.ts', ...args], {
      cwd: new URL('../..', import.meta.url),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const lines: string[] = []
    for (const output of [child.stdout, child.stderr]) {
      output.setEncoding('utf8').on('data', (text: string) => lines.push(...text.trim().split('\n')))
    }
    child.once('error', reject)
    child.once('exit', () => {
      const verdict = lines.findLast((line) => isVerdict.test(line))
      resolve(verdict ?? `${args[0]} gave no verdict: ${lines.at(-1) ?? ''}`)
    })
  })
}
