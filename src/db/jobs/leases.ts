import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'

/**
 * A table of leases. A lease belongs to a listener: a webhook endpoint or a peering. Each listener has a row with a
 * cursor.
 *
 * While a job has the lease, no other job sends to the listener, and all writes name the job's id. If the job crashes,
 * its lease expires, and another job gets the lease.
 *
 * The table of cursors has `job_id`, `leased_until` and `served_at`, the time when the last lease ended.
 */
export type LeaseTable = {
  /** Name of the table in the names of prepared statements. */
  readonly name: string
  readonly cursors: string
  readonly id: string
  /** SQL joins to the cursors `c`, which `hasWork` needs. */
  readonly joins: string
  /** SQL condition over these tables. It is true if the listener has work and requests may be sent to it now. */
  readonly hasWork: string
  /**
   * Maximum number of concurrent leases of one ledger. It leaves leases to other ledgers if one ledger has many slow
   * listeners. null if there is no limit.
   */
  readonly ofLedgerMax: number | null
}

export type Lease = { readonly ledgerId: Uuid; readonly jobId: string }

/** Returns an SQL condition that is true if `row` is the cursor of the lease ($1 to $3). */
function ofLease({ id }: LeaseTable, row = 'c'): string {
  return `${row}.ledger_id = $1 and ${row}.${id} = $2 and ${row}.job_id = $3`
}

function waitingText({ cursors, id, joins, hasWork, ofLedgerMax }: LeaseTable): string {
  const ofLedger =
    ofLedgerMax === null
      ? ''
      : `and c.ledger_id <> all (array(
        select x.ledger_id from tallystick.${cursors} x where x.job_id is not null and x.leased_until >= now()
        group by x.ledger_id having count(*) >= ${ofLedgerMax}))`
  return `select c.ledger_id, c.${id} from tallystick.${cursors} c ${joins}
    where (c.job_id is null or c.leased_until < now()) and ${hasWork} ${ofLedger}`
}

/** Returns whether takeLeases would find a listener. It is called continuously, without a transaction. */
export async function hasWaiting(db: Db, table: LeaseTable): Promise<boolean> {
  const { rows } = await db.query<{ waiting: boolean }>({
    name: `has_waiting_${table.name}s`,
    text: `select exists (${waitingText(table)}) as waiting`,
  })
  return rows[0]!.waiting
}

/** Takes leases of listeners that have work and no lease. The listeners whose last lease ended first come first. */
export async function takeLeases<L extends Lease>(
  client: pg.ClientBase,
  table: LeaseTable,
  { limit, leaseMs }: { readonly limit: number; readonly leaseMs: number },
): Promise<L[]> {
  const { name, cursors, id, ofLedgerMax } = table
  const { rows } = await client.query<L & Record<string, unknown>>({
    name: `take_${name}_leases`,
    text: `with waiting as materialized (
        ${waitingText(table)} order by c.served_at limit $1 for update of c skip locked
      )
      update tallystick.${cursors} c
      set job_id = gen_random_uuid(), leased_until = now() + $2 * interval '1 millisecond'
      from (select w.*, row_number() over (partition by w.ledger_id) as place from waiting w) n
      where c.ledger_id = n.ledger_id and c.${id} = n.${id} and ${ofLedgerMax === null ? 'true' : `n.place <= ${ofLedgerMax}`}
      returning c.ledger_id, c.${id}, c.job_id`,
    values: [limit, leaseMs],
  })
  return rows
}

/**
 * Returns SQL of a CTE that renews the lease ($1 to $3) for $4 milliseconds and returns its cursor. The SQL returns no
 * row if another job has the lease.
 */
export function renewText(table: LeaseTable): string {
  return `update tallystick.${table.cursors} x set leased_until = now() + $4 * interval '1 millisecond'
    where ${ofLease(table, 'x')} returning x.*`
}

/**
 * Returns SQL that ends the lease ($1 to $3).
 *
 * The SQL does not wait for the disk. If a crash of Postgres undoes the end, the lease expires by itself. `set` is SQL
 * with further changes of cursor `c`. `from` is SQL for the tables that `set` uses.
 */
export function endText(table: LeaseTable, set: string, from = ''): string {
  return `update tallystick.${table.cursors} c set job_id = null, leased_until = null, served_at = clock_timestamp(), ${set}
    ${from} where ${ofLease(table)}
    returning set_config('synchronous_commit', 'off', true)`
}
