import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { onClose } from '../run-bench.ts'
import { cpuBetween, OTHERS_CORES_MAX, takeCpuSnapshot } from '../watch/cpu.ts'
import type { Kind } from './kinds.ts'

/** Maximum time of a run in ms. The first run with k6 builds k6. */
const RUN_MS_MAX = 20 * 60_000
/** Time in ms in which an interrupted run may stop its processes. After that, the remaining processes are killed. */
const STOP_MS_MAX = 15_000
/** Maximum number of attempts for a run, if other programs use the machine. */
const BUSY_ATTEMPTS_MAX = 3
/** Time in ms for which the machine is observed before the first run. */
const QUIET_MS = 3_000
/** Maximum length in characters of the output of a failed run that its error shows. Only the end is shown. */
const OUTPUT_CHARS_MAX = 1_500

export type RunOptions = { readonly seconds: number; readonly inserts: boolean; readonly force: boolean }

/** Runs benchmarks one after another, and counts runs on a busy machine. The files of all runs are in `folder`. */
export class Runs {
  readonly counts = { runs: 0, busy: 0 }
  readonly #folder: string
  readonly #log: (line: string) => void
  #child: ChildProcess | null = null
  #isClosed = false

  constructor(folder: string, log: (line: string) => void) {
    this.#folder = folder
    this.#log = log
    onClose(() => this.#close())
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /**
   * Runs a kind of work in the tree `root`. Unless `force` is set, a run on a busy machine is repeated.
   * `isBusy`: the machine was busy in the last attempt too.
   */
  async measure(root: string, kind: Kind, { seconds, inserts, force }: RunOptions) {
    for (let attempt = 1; ; attempt++) {
      const reports = mkdtempSync(join(this.#folder, 'reports-'))
      const args = [
        ...kind.command(seconds),
        ...(kind.from === 'printed' ? [] : ['--out', reports]),
        ...(kind.from === 'scenario' && !(inserts && kind.inserts) ? ['--no-reference'] : []),
        ...(kind.from === 'scenario' && force ? ['--force'] : []),
      ]
      const { result: text, others } = await this.#observe(() => this.run(root, args))
      const measured = kind.read({ text, report: kind.from === 'printed' ? null : readReportIn(reports) })
      const isBusy = Math.max(others, measured.others) > OTHERS_CORES_MAX
      this.counts.runs++
      if (isBusy) this.counts.busy++
      if (!isBusy || force || attempt === BUSY_ATTEMPTS_MAX) return { figures: measured.figures, isBusy }
      this.#log(`  BUSY MACHINE: other programs used part of it; run ${attempt} is repeated`)
    }
  }

  /** Throws if other programs use the machine. */
  async requireQuiet(): Promise<void> {
    const { others } = await this.#observe(() => sleep(QUIET_MS))
    if (others <= OTHERS_CORES_MAX) return
    throw new Error(
      `BUSY MACHINE: other programs use ${others.toFixed(2)} cores, more than ${OTHERS_CORES_MAX}: ` +
        'stop them, or continue with --force',
    )
  }

  /** Runs a script of a tree, with its packages. Returns the printed text. Throws if the script fails. */
  async run(root: string, args: readonly string[]): Promise<string> {
    if (this.#isClosed) throw new Error('interrupted')
    const child = spawn(process.execPath, ['tools/run.mjs', ...args], {
      cwd: root,
      // A process group of its own, so that nothing of the run can outlive it.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      // Each run starts its own Postgres. So Postgres counts as a child of this process, and not as another program.
      env: { ...process.env, DATABASE_URL: undefined, TMPDIR: this.#folder },
    })
    this.#child = child
    const output = { stdout: '', all: '' }
    child.stdout!.setEncoding('utf8').on('data', (data) => {
      output.stdout += data
      output.all += data
    })
    child.stderr!.setEncoding('utf8').on('data', (data) => {
      output.all += data
    })
    const timer = setTimeout(() => killGroup(child), RUN_MS_MAX)
    child.once('exit', () => killGroup(child))
    const ended = await new Promise<number | string>((done) => {
      child.once('error', ({ message }) => done(message))
      child.once('close', (code, signal) => done(code ?? signal!))
    })
    clearTimeout(timer)
    this.#child = null
    if (ended === 0) return output.stdout
    throw new Error(`${args.join(' ')} ended with ${ended}:\n${output.all.slice(-OUTPUT_CHARS_MAX)}`)
  }

  /** Returns the result of `work`, and how many cores were used by all but this process and its ended children. */
  async #observe<Result>(work: () => Promise<Result>): Promise<{ result: Result; others: number }> {
    // For Postgres, a snapshot adds up a process and its children. The same sum is used for this process.
    const groups = { processes: {}, postmaster: process.pid }
    const before = takeCpuSnapshot(groups)
    const result = await work()
    return { result, others: cpuBetween(before, takeCpuSnapshot(groups))['others']! }
  }

  async #close(): Promise<void> {
    this.#isClosed = true
    const child = this.#child
    if (child === null) return
    const ended = new Promise((done) => child.once('close', done))
    child.kill('SIGINT')
    const late = setTimeout(() => killGroup(child), STOP_MS_MAX)
    await ended
    clearTimeout(late)
  }
}

/** Returns the report in a folder that has only one. Throws if there is none. */
function readReportIn(folder: string): unknown {
  const file = readdirSync(folder).find((name) => name.endsWith('.json'))
  if (file === undefined) throw new Error('it wrote no report')
  return JSON.parse(readFileSync(join(folder, file), 'utf8'))
}

function killGroup({ pid }: ChildProcess): void {
  try {
    process.kill(-pid!, 'SIGKILL')
  } catch {
    // No process of the group is left.
  }
}
