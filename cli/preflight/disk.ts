import { closeSync, existsSync, fdatasyncSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { type LatencySummary, makeLatencies, summarize } from './latencies.ts'
import { PREFLIGHT_COMMITS, PREFLIGHT_COMMITS_MIN, PREFLIGHT_FSYNC_MS_MAX } from './limits.ts'

export type FsyncLatencies = {
  readonly directory: string
  /** fdatasync after each 8 KiB append, which is the cost of a growing file. */
  readonly append: LatencySummary
  /** The same within a file of its final size, as Postgres writes a recycled segment of its log. */
  readonly overwrite: LatencySummary
}

const PAGE_BYTES = 8192

/** Writes a file into `directory`, and removes it. */
export function measureFsync(directory: string): FsyncLatencies {
  const path = join(directory, `tallystick-preflight-${process.pid}`)
  const page = Buffer.alloc(PAGE_BYTES, 0x5a)
  const file = openSync(path, 'wx')
  let written = 0
  try {
    const pass = (pages: number) => {
      const latencies = makeLatencies()
      const endsAt = performance.now() + PREFLIGHT_FSYNC_MS_MAX
      for (let i = 0; i < pages && (i < PREFLIGHT_COMMITS_MIN || performance.now() < endsAt); i++) {
        const beganAt = performance.now()
        writeSync(file, page, 0, PAGE_BYTES, i * PAGE_BYTES)
        fdatasyncSync(file)
        latencies.record(performance.now() - beganAt)
        written = Math.max(written, i + 1)
      }
      return summarize(latencies)
    }
    return { directory, append: pass(PREFLIGHT_COMMITS), overwrite: pass(written) }
  } finally {
    closeSync(file)
    rmSync(path)
  }
}

/**
 * Where the cluster keeps its log, if it is one of this machine and open to this process; null otherwise. The same path may be
 * there on this machine and be another cluster's: the control file says whose it is.
 */
export function findLocalLog(dataDirectory: string | null, systemIdentifier: bigint | null): string | null {
  if (dataDirectory === null || systemIdentifier === null) return null
  try {
    if (readSystemIdentifier(dataDirectory) !== systemIdentifier) return null
  } catch {
    return null
  }
  // Not the data directory itself: every base backup would take the files that a killed preflight left.
  const log = join(dataDirectory, 'pg_wal')
  return existsSync(log) ? log : null
}

/** The first eight bytes of the control file, in the byte order of the machine: little-endian on all that Node runs on. */
function readSystemIdentifier(dataDirectory: string): bigint {
  const file = openSync(join(dataDirectory, 'global', 'pg_control'), 'r')
  try {
    const bytes = Buffer.alloc(8)
    readSync(file, bytes, 0, 8, 0)
    return bytes.readBigUInt64LE()
  } finally {
    closeSync(file)
  }
}
