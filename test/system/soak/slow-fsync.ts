import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'

export const SLOW_FSYNC_US = 2_000

/** The environment of a Postgres each of whose flushes takes so much longer, as on network storage; null: no C compiler. */
export function slowFsync(dir: string, micros = SLOW_FSYNC_US): Record<string, string> | null {
  if (spawnSync('cc', ['--version']).error) return null
  const library = join(dir, 'slow-fsync.so')
  execFileSync('cc', ['-shared', '-fPIC', '-o', library, join(import.meta.dirname, 'slow-fsync.c'), '-ldl'])
  chmodSync(library, 0o644)
  return { LD_PRELOAD: library, SLOW_FSYNC_US: String(micros) }
}
