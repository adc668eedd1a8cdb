import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isReady } from './processes.ts'

export const PROJECT_DIR = resolve(import.meta.dirname, '..', '..', '..')

/** Maximum time of a start in ms. With a load average of 26 on two cores, a start has taken more than 30 s. */
const READY_MS_MAX = 120_000

export const WORKER_IS_READY = 'the worker is running'

export type Launch = {
  /**
   * What to start. `server` and `worker` are commands of the image's entry point. `all-in-one` is `npm start`.
   * `command` is the entry point without a command.
   */
  readonly script: 'server' | 'worker' | 'all-in-one' | 'command'
  readonly args?: readonly string[]
  /** The whole environment of the process. No variable of this process is added. */
  readonly env: NodeJS.ProcessEnv
  readonly root?: string
  readonly nodeArgs?: readonly string[]
  /**
   * Where the output goes:
   *
   * - A path: both outputs are appended to this log.
   * - A number: an open file descriptor.
   * - `memory`: both outputs are stored in memory.
   * - `errors`: standard error is shown and standard output is dropped. Measurements use this, because a log would be
   *   part of the load.
   */
  readonly output: string | number | 'memory' | 'errors'
  readonly uid?: number
  readonly launcher?: boolean
}

/**
 * Starts a server, a worker or `npm start` as a process. All tests and benchmarks use it
 * (test/system/deployment/ways.test.ts). The process is killed when this process ends.
 */
export class ProductProcess {
  readonly child: ChildProcess
  readonly pid: number
  readonly name: string
  /** Resolves with the exit code or the signal's name, once the outputs of the process are closed too. */
  readonly ended: Promise<number | string>
  /** Address of the process's inspector, if `nodeArgs` open an inspector and `output` is `errors`. */
  readonly inspector: Promise<string>
  readonly #log: string | null
  readonly #logged: number
  #kept = ''

  constructor({
    script,
    args = [],
    env,
    root = PROJECT_DIR,
    nodeArgs = [],
    output,
    uid,
    launcher = false,
  }: Launch) {
    this.name = script
    const kind = output === 'memory' || output === 'errors' ? output : 'log'
    this.#log = kind === 'log' && typeof output === 'string' ? output : null
    this.#logged = this.#log !== null && existsSync(this.#log) ? statSync(this.#log).size : 0
    const log = this.#log === null ? null : openSync(this.#log, 'a')
    const [stdout, stderr] = {
      memory: ['pipe', 'pipe'],
      errors: ['ignore', 'pipe'],
      log: [log ?? output, log ?? output],
    }[kind] as ['pipe' | number, 'pipe' | number]
    const isCommand = script === 'server' || script === 'worker'
    const scripts = [...(launcher ? ['tools/run.mjs'] : []), `src/run/${isCommand ? 'command' : script}.ts`]
    const words = [...scripts.map((path) => join(root, path)), ...(isCommand ? [script] : []), ...args]
    this.child = spawn(process.execPath, [...nodeArgs, ...words], {
      // Another user cannot enter the project's folder.
      cwd: uid === undefined ? root : '/',
      env,
      ...(uid !== undefined && { uid, gid: uid }),
      stdio: ['ignore', stdout, stderr],
    })
    if (log !== null) closeSync(log)
    if (this.child.pid === undefined) throw new Error(`${script} does not start`)
    this.pid = this.child.pid
    const { promise, resolve } = Promise.withResolvers<string>()
    this.inspector = promise
    if (kind === 'errors') showErrors(script, this.child, resolve)
    else
      for (const stream of [this.child.stdout, this.child.stderr])
        stream?.on('data', (data) => {
          this.#kept += data
        })
    const kill = () => this.child.kill('SIGKILL')
    process.once('exit', kill)
    this.child.once('exit', () => process.off('exit', kill))
    this.ended = new Promise((done) => this.child.once('close', (code, signal) => done(code ?? signal!)))
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null
  }

  said(): string {
    return this.#log === null ? this.#kept : readFileSync(this.#log).subarray(this.#logged).toString()
  }

  async end(signal: NodeJS.Signals): Promise<number | string> {
    if (!this.hasEnded) this.child.kill(signal)
    return this.ended
  }

  /** Stops the process as an orchestrator does: SIGTERM, then SIGKILL if the process does not end in time. */
  async stop(msMax = 10_000): Promise<void> {
    const timer = setTimeout(() => this.child.kill('SIGKILL'), msMax)
    await this.end('SIGTERM')
    clearTimeout(timer)
  }

  /** Resolves when a server at this address is ready. Throws with the process's log if the process ends instead. */
  async isReadyAt(url: string): Promise<void> {
    await this.#until(() => isReady(url))
  }

  /** Resolves when the process has printed the text. Throws with the process's log if the process ends instead. */
  async says(text: string): Promise<void> {
    await this.#until(async () => this.said().includes(text))
  }

  async #until(condition: () => Promise<boolean>): Promise<void> {
    const giveUpAt = Date.now() + READY_MS_MAX
    while (!(await condition())) {
      if (this.hasEnded) throw new Error(`${this.name} ended with ${await this.ended}:\n${this.said()}`)
      if (Date.now() > giveUpAt) throw new Error(`${this.name} does not start: ${this.said().slice(-2_000)}`)
      await sleep(25)
    }
  }
}

/** Forwards a process's standard error, without the lines of its inspector. */
function showErrors(script: string, child: ChildProcess, onInspector: (address: string) => void): void {
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    const address = /Debugger listening on (ws:\S+)/.exec(text)?.[1]
    if (address) onInspector(address)
    const rest = text.replace(
      /^(Debugger (listening|attached)|For help, see|Waiting for the debugger).*\n/gm,
      '',
    )
    if (rest.trim() !== '') process.stderr.write(`[${script}] ${rest}`)
  })
}
