import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LifecycleAudit } from './lifecycle-audit.ts'
import type { Options } from './options.ts'
import type { Phase } from './phase.ts'
import type { Preflight } from './preflight.ts'
import type { ReferenceResult } from './reference.ts'
import type { Audit } from './watch/audit.ts'
import type { CpuUse } from './watch/cpu.ts'

export type Reference = ReferenceResult & { readonly cpu: CpuUse }
export type Round = {
  readonly servers: number
  readonly phases: readonly Phase[]
  readonly audit: Audit
  readonly lifecycles: LifecycleAudit | null
}

/** Report for bench/results, with all that is needed to judge its figures. */
export type Report = {
  readonly scenario: string
  readonly startedAt: string
  readonly commit: string
  readonly node: string
  readonly postgres: string
  readonly postgresSettings: Readonly<Record<string, string>>
  readonly options: Options
  readonly preflight: Preflight
  readonly references: readonly Reference[]
  readonly rounds: readonly Round[]
}

/** Returns the short hash of the commit. Appends `-modified` if the product's source differs from the commit. */
export function describeCommit(): string {
  const git = (...args: string[]) =>
    execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  try {
    const commit = git('rev-parse', '--short=12', 'HEAD')
    return git('status', '--porcelain', '--', 'src', 'worker', 'migrations') === ''
      ? commit
      : `${commit}-modified`
  } catch {
    return 'unknown'
  }
}

/** Writes the report to a file whose name starts with `name`. Returns the path of the file. */
export function writeReport(
  name: string,
  report: Pick<Report, 'startedAt' | 'commit'>,
  outDir: string,
): string {
  mkdirSync(outDir, { recursive: true })
  const time = report.startedAt.replace(/[-:]|\.\d+/g, '')
  const file = join(outDir, `${name}-${report.commit}-${time}.json`)
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`)
  return file
}

/**
 * Returns the phase's rate divided by a reference's rate. Takes the reference with the nearest number of connections.
 */
export function ratioOf(phase: Phase, references: readonly Reference[]): number | null {
  const distance = (reference: Reference) => Math.abs(reference.connections - phase.connections)
  const nearest = [...references].sort((a, b) => distance(a) - distance(b))[0]
  return nearest === undefined ? null : phase.load.itemsPerSecond / nearest.rowsPerSecond
}
