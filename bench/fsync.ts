import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { type LatencySummary, makeLatencies, summarize } from '../cli/preflight/latencies.ts'

export type FsyncLatencies = {
  readonly directory: string
  /** Latency of fdatasync after each append of 8 KiB. It includes the cost of a growing file. */
  readonly append: LatencySummary
  /**
   * Latency of fdatasync after each overwrite in a file that does not grow, as when Postgres writes a recycled WAL
   * file.
   */
  readonly overwrite: LatencySummary
}

const PAGE_BYTES = 8192
/** Number of pages appended, and of pages overwritten. A slow disk gets fewer pages, but at least `PAGES_MIN`. */
const PAGES = 300
const PAGES_MIN = 20
const PASS_MS_MAX = 2_000

export function measureFsync(directory: string): FsyncLatencies {
  const path = join(directory, `tallystick-fsync-${process.pid}`)
  const page = Buffer.alloc(PAGE_BYTES, 0x5a)
  const file = openSync(path, 'wx')
  let written = 0
  try {
    const pass = (pages: number) => {
      const latencies = makeLatencies()
      const endsAt = performance.now() + PASS_MS_MAX
      for (let i = 0; i < pages && (i < PAGES_MIN || performance.now() < endsAt); i++) {
        const beganAt = performance.now()
        writeSync(file, page, 0, PAGE_BYTES, i * PAGE_BYTES)
        fdatasyncSync(file)
        latencies.record(performance.now() - beganAt)
        written = Math.max(written, i + 1)
      }
      return summarize(latencies)
    }
    return { directory, append: pass(PAGES), overwrite: pass(written) }
  } finally {
    closeSync(file)
    rmSync(path)
  }
}
