import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type ConstructorOptions, PgBoss } from 'pg-boss'
import { type Db, serializeQueries } from '../connect/client.ts'
import { JOB_DELETION_EVERY_SECONDS } from '../limits.ts'
import { DEAD_LETTER_QUEUE, DEAD_LETTER_SECONDS, QUEUES, type QueueName, type QueueRules } from './queues.ts'

/**
 * Schema of pg-boss. It is not pg-boss' default, `pgboss`, because another application in the database may use the
 * default.
 */
export const JOBS_SCHEMA = 'tallystick_jobs'

/** Key of an advisory lock for migrations of this database. The number is arbitrary, but equal in all processes. */
const INSTALL_LOCK = 7_411_960
const INDEX_WAIT_MS = 200

/**
 * Upgrades the schema of pg-boss and all queues to this version of the code. `client` is a connection of their owner.
 *
 * pg-boss has its own transactions, so this does not run in the transaction of `migrate`. Several processes may call it
 * at once, because it takes a session lock. If a call fails half-way, the next call completes the work. `worker` is the
 * login that gets access to the jobs.
 */
export async function installJobQueues(client: pg.ClientBase, worker: string): Promise<void> {
  await client.query('select pg_advisory_lock($1)', [INSTALL_LOCK])
  try {
    const boss = new PgBoss({
      // pg-boss uses the session of `migrate`, which has the settings that we need. A connection that pg-boss opens
      // itself would have the database's settings.
      db: asJobsDatabase(serializeQueries(client)),
      schema: JOBS_SCHEMA,
      supervise: false,
      schedule: false,
      bamIntervalSeconds: 10,
    })
    // pg-boss also throws this error. Without a listener the event would end the process.
    boss.on('error', () => {})
    try {
      await boss.start()
      await finishIndexes(boss)
      await ensureQueues(boss)
    } finally {
      await boss.stop({ graceful: false })
    }
    await grantQueues(client, pg.escapeIdentifier(worker))
  } finally {
    await client.query('select pg_advisory_unlock($1)', [INSTALL_LOCK])
  }
}

/**
 * Waits until pg-boss has built its indexes. A new version of pg-boss builds large indexes after its migration, one
 * every 10 s. Only a process that may migrate can build them, so this process has to wait.
 */
async function finishIndexes(boss: PgBoss): Promise<void> {
  for (;;) {
    const states = new Set((await boss.getBamStatus()).map(({ status }) => status))
    if (states.has('failed'))
      throw new Error('an index of pg-boss could not be built: see tallystick_jobs.bam')
    if (!states.has('pending') && !states.has('in_progress')) return
    await sleep(INDEX_WAIT_MS)
  }
}

async function ensureQueues(boss: PgBoss): Promise<void> {
  const dead = { retentionSeconds: DEAD_LETTER_SECONDS }
  await boss.createQueue(DEAD_LETTER_QUEUE, dead)
  await boss.updateQueue(DEAD_LETTER_QUEUE, dead)
  const queues: readonly [string, QueueRules][] = Object.entries(QUEUES)
  for (const [name, { deadLetter = DEAD_LETTER_QUEUE, ...rules }] of queues) {
    const options = deadLetter === null ? rules : { ...rules, deadLetter }
    await boss.createQueue(name, options)
    // createQueue does not change an existing queue, which may have the rules of an earlier version.
    await boss.updateQueue(name, options)
  }
}

/**
 * Grants access to jobs to the worker's login alone. That login cannot create jobs without the master key. `worker` is
 * the escaped name of the login.
 */
async function grantQueues(client: pg.ClientBase, worker: string): Promise<void> {
  await client.query(`
    revoke all on schema ${JOBS_SCHEMA} from public;
    revoke all on all tables in schema ${JOBS_SCHEMA} from public;
    revoke all on all sequences in schema ${JOBS_SCHEMA} from public;
    revoke all on all functions in schema ${JOBS_SCHEMA} from public;
    revoke all on type ${JOBS_SCHEMA}.job_state from public;
    grant usage on schema ${JOBS_SCHEMA} to ${worker};
    grant usage on type ${JOBS_SCHEMA}.job_state to ${worker};
    grant select, insert, update, delete on all tables in schema ${JOBS_SCHEMA} to ${worker};
    grant execute on all functions in schema ${JOBS_SCHEMA} to ${worker};
    do $$
    declare
      found regclass;
    begin
      for found in select c.oid from pg_class c where c.relnamespace = '${JOBS_SCHEMA}'::regnamespace and c.relkind in ('r', 'p')
        and not exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgname = 'proven_session' and t.tgenabled = 'A') loop
        execute format('create or replace trigger proven_session before insert or update or delete on %s for each statement '
          || 'execute function tallystick.require_proven_session()', found);
        execute format('alter table %s enable always trigger proven_session', found);
      end loop;
    end $$`)
}

/** Opens pg-boss without migrations, for enqueuing, working or maintenance. The caller must close `db` itself. */
export function openJobs(db: Db, options: Pick<ConstructorOptions, 'schedule' | 'supervise'>): PgBoss {
  return new PgBoss({
    ...options,
    schema: JOBS_SCHEMA,
    migrate: false,
    createSchema: false,
    // Off, because the worker's login does not own the indexes.
    reindex: false,
    maintenanceIntervalSeconds: JOB_DELETION_EVERY_SECONDS,
    db: asJobsDatabase(db),
  })
}

/** Adapts a connection for pg-boss, so that pg-boss writes in the connection's transaction. */
export function asJobsDatabase(db: Db) {
  return {
    executeSql: (text: string, values?: unknown[]) => db.query(text, values as unknown[]),
  }
}

type QueueDepth = {
  readonly queue: string
  /** Number of jobs that wait for their first attempt. */
  readonly waiting: number
  readonly retrying: number
  readonly working: number
  /** Age in seconds of the oldest job that could start now. */
  readonly oldestSeconds: number
}

/** Counts the jobs at this moment. pg-boss' own figures are up to a minute old. */
export async function countJobs(db: pg.Pool): Promise<QueueDepth[]> {
  const { rows } = await db.query<Record<keyof QueueDepth, string>>(
    `select q.name as queue, count(j.id) filter (where j.state = 'created') as waiting,
       count(j.id) filter (where j.state = 'retry') as retrying,
       count(j.id) filter (where j.state = 'active') as working,
       coalesce(extract(epoch from now() - min(j.start_after) filter (where j.state < 'active' and j.start_after <= now())),
         0) as "oldestSeconds"
     from unnest($1::text[]) q (name) left join tallystick_jobs.job j on j.name = q.name and j.state < 'completed'
     group by q.name`,
    [Object.keys(QUEUES)],
  )
  return rows.map(({ queue, ...row }) => ({
    queue,
    waiting: Number(row.waiting),
    retrying: Number(row.retrying),
    working: Number(row.working),
    oldestSeconds: Number(row.oldestSeconds),
  }))
}

/** Returns the number of dead letters of each original queue. Leaves out dead letters that an operator has retried. */
export async function countDeadLetters(db: pg.Pool): Promise<Readonly<Record<string, number>>> {
  const { rows } = await db.query<{ queue: string; count: number }>(
    `select q.name as queue, count(j.id) as count
     from unnest($1::text[]) q (name)
     left join tallystick_jobs.job j on j.name = $2 and j.state < 'active' and j.source_name = q.name
     group by q.name`,
    [Object.keys(QUEUES).filter(hasDeadLetters), DEAD_LETTER_QUEUE],
  )
  return Object.fromEntries(rows.map(({ queue, count }) => [queue, count]))
}

function hasDeadLetters(queue: string): boolean {
  const rules: QueueRules = QUEUES[queue as QueueName]
  return rules.deadLetter !== null
}

type DeadLetter = {
  readonly id: string
  readonly queue: string
  readonly payload: unknown
  readonly error: string
  readonly diedAt: Date
}

export async function listDeadLetters(db: pg.ClientBase, limit: number): Promise<DeadLetter[]> {
  const { rows } = await db.query<{
    id: string
    queue: string | null
    payload: unknown
    output: { message?: unknown } | null
    diedAt: Date
  }>(
    `select id, source_name as queue, data as payload, source_output as output, created_on as died_at
     from tallystick_jobs.job where name = $1 and state < 'active' order by created_on limit $2`,
    [DEAD_LETTER_QUEUE, limit],
  )
  return rows.map((row) => ({
    id: row.id,
    queue: row.queue ?? '',
    payload: row.payload,
    error: typeof row.output?.message === 'string' ? row.output.message : JSON.stringify(row.output),
    diedAt: row.diedAt,
  }))
}

/**
 * Moves dead letters back to their queues with all their retries. If `ids` is null, moves all dead letters. Returns the
 * number of moved dead letters.
 */
export async function redriveDeadLetters(
  client: pg.ClientBase,
  ids: readonly string[] | null,
): Promise<number> {
  const boss = openJobs(client, { schedule: false, supervise: false })
  boss.on('error', () => {})
  await boss.start()
  try {
    let moved = 0
    for (;;) {
      const now = await boss.redrive(DEAD_LETTER_QUEUE, ids === null ? {} : { ids: [...ids] })
      moved += now
      if (now === 0 || ids !== null) return moved
    }
  } finally {
    await boss.stop({ graceful: false })
  }
}
