import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isReachable } from '../../src/postgres/layout.ts'
import { resolveRunAs } from '../../src/postgres/run-as.ts'
import { type RunningPostgres, startPostgres } from '../../src/postgres/start.ts'

/** Logic tests have nothing to lose in a power cut. */
export const TEST_SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  shared_buffers: '128MB',
  max_connections: 200,
} as const

/** The suite's own server: npm test starts one for all files, and a file that is run alone starts its own. */
export async function startSuitePostgres(): Promise<RunningPostgres> {
  return startPostgres({ dataDir: temporaryDir(), temporary: true, settings: TEST_SETTINGS })
}

/** Removed when this process ends. A root user's Postgres runs as somebody else, who may not be let into TMPDIR. */
export function temporaryDir(): string {
  const runAs = resolveRunAs('/nonexistent', () => {})
  const parent = isReachable(tmpdir(), runAs) ? tmpdir() : '/var/tmp'
  const dir = mkdtempSync(join(parent, 'tallystick-test-'))
  chmodSync(dir, 0o711)
  temporaryDirs.push(dir)
  return dir
}

const temporaryDirs: string[] = []
process.once('exit', () => {
  for (const dir of temporaryDirs) rmSync(dir, { recursive: true, force: true })
})
