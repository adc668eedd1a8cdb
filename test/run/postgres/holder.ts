import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { runSync } from '../../../src/run/postgres/run-as.ts'
import { endsWithTests } from '../../helpers/children.ts'

/** An unprivileged user for tests that run as root; null if that user cannot run this project's files. */
export const plainUser = findPlainUser()

function findPlainUser(): number | null {
  const nobody = { uid: 65_534, gid: 65_534, name: 'nobody' }
  return process.getuid?.() === 0 && runSync(process.execPath, ['--check', import.meta.filename], nobody).ok
    ? nobody.uid
    : null
}

type Holder = {
  readonly process: ChildProcess
  readonly superuserUrl: string
  readonly port: number
  readonly pid: number
}

type HolderOptions = { readonly uid?: number; readonly umask?: string; readonly binDir?: string }

/** Starts a process that runs a Postgres. Rejects with the process's stderr if the process ends instead. */
export async function startHolder(dataDir: string, options: HolderOptions = {}): Promise<Holder> {
  const script = join(import.meta.dirname, 'hold.ts')
  const umask = options.umask ? `umask ${options.umask}; ` : ''
  const args = [process.execPath, script, dataDir, ...(options.binDir ? [options.binDir] : [])]
  const child = spawn('/bin/sh', ['-c', `${umask}exec "$@"`, 'sh', ...args], {
    ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  endsWithTests(child)
  let output = ''
  let errors = ''
  child.stdout.on('data', (data) => {
    output += data
  })
  child.stderr.on('data', (data) => {
    errors += data
  })
  while (!output.includes('\n')) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(errors)
    await sleep(10)
  }
  return { process: child, ...JSON.parse(output) }
}

export async function kill(holder: Holder, signal: NodeJS.Signals): Promise<void> {
  const exited = once(holder.process, 'exit')
  holder.process.kill(signal)
  await exited
}

export async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

/** Resolves with true if the process ends in time. A zombie counts as ended. */
export async function ends(pid: number, timeoutMs = 5_000): Promise<boolean> {
  for (const giveUpAt = Date.now() + timeoutMs; Date.now() < giveUpAt; await sleep(20))
    if (!runs(pid)) return true
  return false
}

export function runs(pid: number): boolean {
  try {
    process.kill(pid, 0)
    const stat = `/proc/${pid}/stat`
    return !existsSync(stat) || !/\) Z /.test(readFileSync(stat, 'utf8'))
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
