import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { listMigrations } from '../../../src/db/schema/migrate.ts'
import { bareEnvironment } from '../../helpers/bare-environment.ts'
import { runScript } from '../../helpers/run-script.ts'
import { end, findPort, isReady } from '../faults/processes.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const READY_MS_MAX = 30_000

/** A version of the code in a folder of its own, and the processes that it starts. */
export class Release {
  readonly name: string
  readonly #root: string
  readonly #env: Record<string, string>
  readonly #logDir: string
  readonly #children: ChildProcess[] = []

  constructor(
    name: string,
    root: string,
    of: { readonly env: Record<string, string>; readonly logDir: string },
  ) {
    this.name = name
    this.#root = root
    this.#env = of.env
    this.#logDir = of.logDir
  }

  /** Its base URL, when it is ready; null where it does not start. */
  async startServer(): Promise<string | null> {
    const port = await findPort()
    const child = this.#spawn('src/run/server.ts', { TALLYSTICK_PORT: String(port) })
    const url = `http://127.0.0.1:${port}`
    const giveUpAt = Date.now() + READY_MS_MAX
    while (!(await isReady(url))) {
      if (child.exitCode !== null) return null
      if (Date.now() > giveUpAt)
        throw new Error(`the server of ${this.name} is not ready: ${this.said('src/run/server.ts')}`)
      await sleep(50)
    }
    return url
  }

  async startWorker(): Promise<void> {
    const child = this.#spawn('src/run/worker.ts', {})
    const giveUpAt = Date.now() + READY_MS_MAX
    while (!this.said('src/run/worker.ts').includes('the worker follows the chains')) {
      if (child.exitCode !== null || Date.now() > giveUpAt)
        throw new Error(`the worker of ${this.name} does not start: ${this.said('src/run/worker.ts')}`)
      await sleep(50)
    }
  }

  async migrate(): Promise<string> {
    const { code, stdout, stderr } = await runScript('src/run/migrate.ts', [], {
      env: this.#env,
      root: this.#root,
    })
    if (code !== 0) throw new Error(`migrate of ${this.name} ended with ${code}: ${stdout}${stderr}`)
    return stdout
  }

  /** As it was written for the schema that it knows: whether it goes by what newer schemas say of themselves. */
  get mayRestartOnNewer(): boolean {
    return readFileSync(join(this.#root, 'src', 'db', 'schema', 'migrate.ts'), 'utf8').includes(
      'schema_serves',
    )
  }

  /** The end of what its processes of that kind have logged. */
  said(script: string): string {
    return readFileSync(this.#logOf(script), 'utf8').slice(-4_000)
  }

  /** As an orchestrator stops them; throws where one had ended by itself. */
  async stop(): Promise<void> {
    for (const child of this.#children.splice(0)) {
      if (child.exitCode !== null) continue
      await end(child, 'SIGTERM')
      if (child.exitCode !== 0) throw new Error(`a process of ${this.name} ended with ${child.exitCode}`)
    }
  }

  kill(): void {
    for (const child of this.#children) child.kill('SIGKILL')
  }

  #logOf(script: string): string {
    return join(this.#logDir, `${this.name}-${script.replace(/\W+/g, '-')}.log`)
  }

  #spawn(script: string, env: Record<string, string>): ChildProcess {
    const log = openSync(this.#logOf(script), 'a')
    const child = spawn(process.execPath, [script], {
      cwd: this.#root,
      env: { ...bareEnvironment(), ...this.#env, ...env },
      stdio: ['ignore', log, log],
    })
    closeSync(log)
    process.once('exit', () => child.kill('SIGKILL'))
    this.#children.push(child)
    return child
  }
}

/**
 * The newest release in the history; before the first one, this commit itself, so that a rolling restart is tried at least.
 * `isServed`: every migration since then serves it. null, and why, if there is no history to take it from.
 */
export function findReleaseBefore():
  | { commit: string; isRelease: boolean; isServed: boolean }
  | { commit: null; why: string } {
  try {
    // By version, and v1.0.0-rc.1 before v1.0.0.
    const byVersion = ['-c', 'versionsort.suffix=-', 'tag', '--sort=-version:refname']
    const release = git(...byVersion, '--list', 'v*', '--merged', 'HEAD').split('\n')[0]
    const commit = git('rev-parse', '--verify', `${release || 'HEAD'}^{commit}`).trim()
    const known = git('ls-tree', '--name-only', commit, 'migrations/').match(/\b\d{4}(?=-)/g) ?? []
    const newest = Math.max(...known.map(Number))
    const since = listMigrations().filter(({ version }) => version > newest)
    return {
      commit,
      isRelease: Boolean(release),
      isServed: since.every(({ servesFrom }) => servesFrom !== null && servesFrom <= newest),
    }
  } catch {
    return { commit: null, why: 'this folder has no history' }
  }
}

/** Its sources in a folder of their own, with the dependencies of this version. */
export function unpackRelease(commit: string, dir: string): string {
  mkdirSync(dir)
  const tar = execFileSync('git', ['archive', commit, 'src', 'worker', 'sdk', 'migrations', 'package.json'], {
    cwd: ROOT,
    maxBuffer: 256 * 1024 * 1024,
  })
  execFileSync('tar', ['-x', '-C', dir], { input: tar })
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'))
  return dir
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
}
