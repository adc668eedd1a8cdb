import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const SLOW_FSYNC_US = 2_000

/**
 * Returns the environment of a Postgres whose flushes take `micros` longer, as on network storage. Returns null if
 * there is no C compiler.
 */
export function slowFsync(dir: string, micros = SLOW_FSYNC_US): Record<string, string> | null {
  if (spawnSync('cc', ['--version']).error) return null
  const library = join(dir, 'slow-fsync.so')
  execFileSync('cc', ['-shared', '-fPIC', '-o', library, join(import.meta.dirname, 'slow-fsync.c'), '-ldl'])
  chmodSync(library, 0o644)
  setSlowFsync(dir, micros)
  return { LD_PRELOAD: library, SLOW_FSYNC_FILE: fileIn(dir) }
}

/** Changes the delay of a running Postgres, from its next flush on. */
export function setSlowFsync(dir: string, micros: number): void {
  const written = `${fileIn(dir)}.new`
  writeFileSync(written, String(micros), { mode: 0o644 })
  renameSync(written, fileIn(dir))
}

function fileIn(dir: string): string {
  return join(dir, 'slow-fsync-us')
}
