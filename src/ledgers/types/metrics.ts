import type { Metrics } from '../../observe/metrics/metrics.ts'
import { type Reading, readCounter, readGauge } from '../../observe/metrics/readings.ts'

type TypeFigures = {
  readonly cache: { readonly bytes: number; readonly hits: number; readonly misses: number }
  readonly work: {
    readonly waiting: number
    readonly delayed: number
    readonly refused: number
    readonly ms: number
  }
}
type Types = { readonly figures: TypeFigures }

/**
 * Registers metrics of a type registry. Servers and workers have a registry each. `part`: the owner of this registry.
 */
export function watchTypes(metrics: Metrics, part: 'server' | 'worker', types: Types): void {
  metrics.addPart<Types>('types', part, types, (parts) => defineTypes(metrics, parts))
}

function defineTypes(metrics: Metrics, parts: ReadonlyMap<string, Types>): void {
  const ofEach = (read: (figures: TypeFigures) => number) => (): Reading[] =>
    [...parts].map(([part, { figures }]) => ({ labels: { part }, value: read(figures) }))
  readGauge(
    metrics,
    { name: 'tallystick_type_cache_bytes', help: 'Approximate bytes of the compiled types' },
    ofEach(({ cache }) => cache.bytes),
  )
  readCounter(
    metrics,
    {
      name: 'tallystick_type_cache_lookups_total',
      help: 'Lookups of registered types; miss: the type was read and compiled',
    },
    () => [
      ...ofEach(({ cache }) => cache.hits)().map((reading) => withResult(reading, 'hit')),
      ...ofEach(({ cache }) => cache.misses)().map((reading) => withResult(reading, 'miss')),
    ],
  )
  readGauge(
    metrics,
    {
      name: 'tallystick_schema_work_waiting',
      help: 'Compilations and validations that wait for their ledger’s share of the time',
    },
    ofEach(({ work }) => work.waiting),
  )
  readCounter(
    metrics,
    {
      name: 'tallystick_schema_work_delayed_total',
      help: 'Compilations and validations that had to wait for their ledger’s share',
    },
    ofEach(({ work }) => work.delayed),
  )
  readCounter(
    metrics,
    {
      name: 'tallystick_schema_work_refused_total',
      help: 'Compilations and validations that were refused because too many were waiting',
    },
    ofEach(({ work }) => work.refused),
  )
  readCounter(
    metrics,
    { name: 'tallystick_schema_work_seconds_total', help: 'Time that compilations and validations took' },
    ofEach(({ work }) => work.ms / 1_000),
  )
}

function withResult({ labels, value }: Reading, result: 'hit' | 'miss'): Reading {
  return { labels: { ...labels, result }, value }
}
