import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs'
import os from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import type pg from 'pg'
import { type LatencySummary, makeLatencies, summarize } from './latencies.ts'

export type Preflight = {
  readonly machine: {
    readonly cpu: string
    readonly cores: number
    readonly memoryGiB: number
    readonly system: string
    readonly loadAverage: readonly number[]
    readonly clockResolutionNs: number
  }
  readonly fsync: {
    readonly directory: string
    /** fdatasync after each 8 KiB append, nanoseconds: what a growing file costs. */
    readonly append: LatencySummary
    /** The same within a file of its final size: what Postgres does with a recycled WAL segment. */
    readonly overwrite: LatencySummary
  }
  /** One-row inserts, one after another, each its own transaction; nanoseconds. */
  readonly commit: LatencySummary
}

const SAMPLES = 300
const PAGE_BYTES = 8192

/** What the figures of this run depend on, measured before it. `directory`: where Postgres keeps its WAL. */
export async function measurePreflight(client: pg.ClientBase, directory: string): Promise<Preflight> {
  return {
    machine: {
      cpu: os.cpus()[0]?.model.trim() ?? 'unknown',
      cores: os.availableParallelism(),
      memoryGiB: Math.round(os.totalmem() / 2 ** 30),
      system: `${os.type()} ${os.release()}`,
      loadAverage: os.loadavg(),
      clockResolutionNs: measureClockResolution(),
    },
    fsync: { directory, ...measureFsync(directory) },
    commit: await measureCommits(client),
  }
}

/** Throws where a throughput would say more about the disk than about the program. */
export function checkGate(preflight: Preflight, gateMs: number, force: boolean): void {
  const p50Ms = preflight.fsync.append.p50 / 1e6
  if (p50Ms <= gateMs || force) return
  throw new Error(
    `fdatasync in ${preflight.fsync.directory} takes ${p50Ms.toFixed(2)} ms (p50), more than the gate of ${gateMs} ms: ` +
      'raise it with --fsync-gate-ms, or go on with --force',
  )
}

function measureFsync(directory: string): { append: LatencySummary; overwrite: LatencySummary } {
  const path = join(directory, `bench-fsync-${process.pid}`)
  const page = Buffer.alloc(PAGE_BYTES, 0x5a)
  const file = openSync(path, 'wx')
  try {
    const pass = () => {
      const latencies = makeLatencies()
      for (let i = 0; i < SAMPLES; i++) {
        const beganAt = performance.now()
        writeSync(file, page, 0, PAGE_BYTES, i * PAGE_BYTES)
        fdatasyncSync(file)
        latencies.record(performance.now() - beganAt)
      }
      return summarize(latencies)
    }
    return { append: pass(), overwrite: pass() }
  } finally {
    closeSync(file)
    rmSync(path)
  }
}

async function measureCommits(client: pg.ClientBase): Promise<LatencySummary> {
  const latencies = makeLatencies()
  await client.query('create table bench_commits (n int)')
  for (let i = 0; i < SAMPLES; i++) {
    const beganAt = performance.now()
    await client.query({ name: 'bench_commit', text: 'insert into bench_commits values ($1)', values: [i] })
    latencies.record(performance.now() - beganAt)
  }
  await client.query('drop table bench_commits')
  return summarize(latencies)
}

function measureClockResolution(): number {
  let smallest = Number.POSITIVE_INFINITY
  for (let i = 0; i < 1000; i++) {
    const from = process.hrtime.bigint()
    let to = from
    while (to === from) to = process.hrtime.bigint()
    smallest = Math.min(smallest, Number(to - from))
  }
  return smallest
}
