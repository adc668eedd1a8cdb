import type { Metrics } from '../observe/metrics/metrics.ts'
import { type Reading, readCounter, readGauge } from '../observe/metrics/readings.ts'
import type { DatabaseClock } from './connect/clock.ts'
import type { DatabasePool } from './connect/pools.ts'
import type { Lookups } from './records/lookups.ts'

export function watchClock(metrics: Metrics, clock: Pick<DatabaseClock, 'skewMs'>): void {
  readGauge(
    metrics,
    {
      name: 'tallystick_clock_skew_seconds',
      help: "This machine's clock minus the database's; the database's is used",
    },
    () => clock.skewMs / 1_000,
  )
}

export function watchPool(metrics: Metrics, name: string, pool: DatabasePool): void {
  metrics.addPart<DatabasePool>('pools', name, pool, (pools) => definePools(metrics, pools))
}

function definePools(metrics: Metrics, pools: ReadonlyMap<string, DatabasePool>): void {
  const ofEach = (read: (pool: DatabasePool, name: string) => readonly Reading[]) => () =>
    [...pools].flatMap(([name, pool]) => read(pool, name))
  readGauge(
    metrics,
    { name: 'tallystick_database_connections', help: 'Open connections of a pool' },
    ofEach(({ totalCount, idleCount }, pool) => [
      { labels: { pool, state: 'idle' }, value: idleCount },
      { labels: { pool, state: 'used' }, value: totalCount - idleCount },
    ]),
  )
  readGauge(
    metrics,
    { name: 'tallystick_database_connections_max', help: 'Connections that a pool may open' },
    ofEach(({ options }, pool) => [{ labels: { pool }, value: options.max }]),
  )
  readGauge(
    metrics,
    { name: 'tallystick_database_waiting', help: 'Requests that wait for a connection of a pool' },
    ofEach(({ waitingCount }, pool) => [{ labels: { pool }, value: waitingCount }]),
  )
  readCounter(
    metrics,
    {
      name: 'tallystick_database_connection_failures_total',
      help: 'Connections that could not be made, took too long, or broke while they were idle',
    },
    ofEach(({ failures }, pool) =>
      Object.entries(failures).map(([failure, value]) => ({ labels: { pool, failure }, value })),
    ),
  )
  readCounter(
    metrics,
    {
      name: 'tallystick_database_unexpected_errors_total',
      help: 'Errors of Postgres that are neither about data nor temporary: a bug, or a changed schema',
    },
    ofEach(({ unexpected }, pool) => [{ labels: { pool }, value: unexpected }]),
  )
}

export function watchLookups(metrics: Metrics, lookups: Lookups): void {
  const ofEach = (figure: 'waiting' | 'queries' | 'keys') => () =>
    Object.entries(lookups.figures).map(([lookup, figures]) => ({
      labels: { lookup },
      value: figures[figure],
    }))
  readGauge(
    metrics,
    { name: 'tallystick_lookup_waiting', help: 'Look-ups that wait for a joint query' },
    ofEach('waiting'),
  )
  readCounter(
    metrics,
    { name: 'tallystick_lookup_queries_total', help: 'Queries that answered look-ups' },
    ofEach('queries'),
  )
  readCounter(
    metrics,
    { name: 'tallystick_lookup_keys_total', help: 'Look-ups that these queries answered' },
    ofEach('keys'),
  )
}
