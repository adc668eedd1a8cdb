import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { endsWithTests } from '../../helpers/children.ts'
import { putCluster, temporaryDirInMemory } from '../../helpers/postgres.ts'
import { PROJECT_DIR, ProductProcess } from './product-process.ts'

export { freePort } from '../../helpers/free-port.ts'

export { PROJECT_DIR } from './product-process.ts'

type Started = {
  readonly process: ChildProcess
  readonly output: string
  /** Returns all output so far. `output` has only the output until the process was ready. */
  said(): string
  readonly url: string
  readonly curl: string
  stop(signal: NodeJS.Signals): Promise<number | string>
}

type StartOptions = {
  readonly env?: Record<string, string>
  readonly project?: string
  readonly uid?: number
  readonly output?: number
  readonly launcher?: boolean
}

/** Runs `npm start` without waiting until it is ready. */
export function launch({ project = PROJECT_DIR, env, output, ...how }: StartOptions): ProductProcess {
  // Leaves out the variables of this environment that configure another Tallystick.
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(TALLYSTICK_|OTEL_|DATABASE_URL$)/.test(name)),
  )
  const started = new ProductProcess({
    ...how,
    script: 'all-in-one',
    root: project,
    env: { ...inherited, TALLYSTICK_LOG_LEVEL: 'warn', ...env },
    output: output ?? 'memory',
  })
  endsWithTests(started.child)
  return started
}

/** Runs `npm start` and waits until it is ready. Rejects with the output if the process ends instead. */
export async function startAllInOne(options: StartOptions): Promise<Started> {
  const started = launch(options)
  await started.says('Ctrl-C stops it')
  const output = started.said()
  return {
    process: started.child,
    output,
    said: () => started.said(),
    url: /URL +(\S+)/.exec(output)![1]!,
    curl: /^ +(curl .*)$/m.exec(output)![1]!,
    stop: (signal) => started.end(signal),
  }
}

/** Runs the line in a shell, as if a reader had pasted it. */
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

/** Returns a data directory that is already initialised, which saves a second of initdb. */
export function initializedDir(): string {
  const dataDir = temporaryDirInMemory()
  putCluster(join(dataDir, 'postgres'))
  return dataDir
}

export function postgresPid(dataDir: string): number {
  return Number.parseInt(readFileSync(join(dataDir, 'postgres', 'cluster', 'postmaster.pid'), 'utf8'), 10)
}

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
