import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { endsWithTests } from '../../helpers/children.ts'
import { putCluster, temporaryDirInMemory } from '../../helpers/postgres.ts'

export { freePort } from '../../helpers/free-port.ts'

export const PROJECT_DIR = resolve(import.meta.dirname, '..', '..', '..')

type Started = {
  readonly process: ChildProcess
  /** Everything that it said when it was up. */
  readonly output: string
  /** … and since. */
  said(): string
  readonly url: string
  /** The line to paste. */
  readonly curl: string
  /** Sends the signal and answers how the process ended: its exit code, or the signal's name. */
  stop(signal: NodeJS.Signals): Promise<number | string>
}

type StartOptions = {
  readonly env?: Record<string, string>
  readonly project?: string
  readonly uid?: number
  /** A descriptor for standard output and standard error. */
  readonly output?: number
  /** By tools/run.mjs, as npm does it. */
  readonly launcher?: boolean
}

export function launch(options: StartOptions & { output: number }): ChildProcess
export function launch(options: StartOptions): ChildProcessByStdio<null, Readable, Readable>
export function launch(options: StartOptions): ChildProcess {
  const project = options.project ?? PROJECT_DIR
  // Leaves out the variables that configure a Tallystick of the person who runs the tests.
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(TALLYSTICK_|OTEL_|DATABASE_URL$)/.test(name)),
  )
  const scripts = options.launcher ? ['tools/run.mjs', 'src/run/all-in-one.ts'] : ['src/run/all-in-one.ts']
  const { output = 'pipe' } = options
  const child = spawn(
    process.execPath,
    scripts.map((script) => join(project, script)),
    {
      cwd: options.uid === undefined ? project : '/',
      env: { ...inherited, TALLYSTICK_LOG_LEVEL: 'warn', ...options.env },
      ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
      stdio: ['ignore', output, output],
    },
  )
  return endsWithTests(child)
}

/** Runs `npm start`, until it says that it runs; rejects with its output if it ends instead. */
export async function startAllInOne(options: StartOptions): Promise<Started> {
  const child = launch(options)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data) => {
      output += data
    })
  }
  const closed = once(child, 'close')
  while (!output.includes('Ctrl-C stops it')) {
    if (child.exitCode !== null || child.signalCode !== null) {
      await closed
      throw new Error(`ended with ${child.exitCode ?? child.signalCode}:\n${output}`)
    }
    await sleep(10)
  }
  return {
    process: child,
    output,
    said: () => output,
    url: /URL +(\S+)/.exec(output)![1]!,
    curl: /^ +(curl .*)$/m.exec(output)![1]!,
    async stop(signal) {
      child.kill(signal)
      const [code, how] = await closed
      return code ?? how
    },
  }
}

/** As a person would: pasted into a shell. */
export async function paste(line: string): Promise<{ status: number; body: { id: string; type: string } }> {
  const child = spawn('/bin/sh', ['-c', `${line} -w '\\n%{http_code}'`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (data) => {
    output += data
  })
  await once(child, 'close')
  const [body, status] = output.split('\n')
  return { status: Number(status), body: JSON.parse(body ?? 'null') }
}

export async function getRecord(url: string, dataDir: string, id: string): Promise<number> {
  const { key } = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'))
  const response = await fetch(`${url}/v1/records/${id}`, { headers: { authorization: `Bearer ${key}` } })
  await response.body?.cancel()
  return response.status
}

/** Without the second that a first start's initdb takes. */
export function initializedDir(): string {
  const dataDir = temporaryDirInMemory()
  putCluster(join(dataDir, 'postgres'))
  return dataDir
}

export function postgresPid(dataDir: string): number {
  return Number.parseInt(readFileSync(join(dataDir, 'postgres', 'cluster', 'postmaster.pid'), 'utf8'), 10)
}

/** Workers that a process has started and that are not gone. */
export function workersOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const [, state, ppid] = /\) (\S) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))!
        if (Number(ppid) !== parent || state === 'Z') return false
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('worker-process.ts')
      } catch {
        return false
      }
    })
}
