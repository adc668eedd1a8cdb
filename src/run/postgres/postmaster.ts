import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { clusterDir, logFile } from './layout.ts'
import { ownIdentity, readPidFile } from './previous.ts'
import { CLEAN_ENV, type RunAs } from './run-as.ts'

export type Postmaster = {
  readonly pid: number
  readonly exited: Promise<void>
  stop(mode: 'fast' | 'immediate'): Promise<void>
}

type SpawnOptions = {
  readonly dataDir: string
  readonly binDir: string
  readonly runAs: RunAs
  readonly port: number
  readonly settings: Readonly<Record<string, string | number>>
  readonly env?: Readonly<Record<string, string>>
  /** True if the data folder is to be removed when the server stops. */
  readonly trash: boolean
  readonly log: (line: string) => void
}

const LOG_BYTES_MAX = 16 * 1024 * 1024
const POLL_MS = 10
/**
 * Maximum time in ms of a start. Recovery after a crash replays up to max_wal_size, which takes long but is no error.
 */
const READY_MS_MAX = 10 * 60_000
const SLOW_NOTICE_MS = 5_000
/** Time in ms that clients have to close their connections. After this time, the server closes the connections. */
const CLOSING_MS_MAX = 300
const FAST_STOP_MS_MAX = 60_000
const IMMEDIATE_STOP_MS_MAX = 10_000
/** Maximum time in ms for which the backends of a killed server may still use its shared memory. */
const LEFTOVERS_MS_MAX = 15_000

/**
 * Starts the server process and waits until it accepts connections. If the start fails, throws an error with the end of
 * the server's log.
 */
export async function spawnPostmaster(options: SpawnOptions): Promise<Postmaster> {
  const giveUpAt = Date.now() + LEFTOVERS_MS_MAX
  for (;;) {
    try {
      return await spawnOnce(options)
    } catch (error) {
      const leftovers = error instanceof Error && /pre-existing shared memory block/.test(error.message)
      if (!leftovers || Date.now() > giveUpAt) throw error
      await sleep(200)
    }
  }
}

async function spawnOnce(options: SpawnOptions): Promise<Postmaster> {
  const log = openLog(logFile(options.dataDir))
  const child = spawnServer(options, log.fd)
  closeSync(log.fd)
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  if (child.pid === undefined) throw new Error(`${join(options.binDir, 'postgres')} cannot be started`)
  const letGo = watch(child.pid, options)
  try {
    await waitUntilReady(child, options)
  } catch (error) {
    child.kill('SIGQUIT')
    await exited
    letGo()
    const said = readFileSync(logFile(options.dataDir), 'utf8').slice(log.size).trim()
    throw new Error(`${(error as Error).message}${said ? `:\n${said.slice(-2_000)}` : ''}`)
  }
  return { pid: child.pid, exited, stop: (mode) => stopServer(child, exited, mode).then(letGo) }
}

/**
 * Starts the server in a session of its own. Ctrl-C is sent to every process of the foreground group, and the server
 * must live until our processes have finished their work. `tallystick.owner` identifies the starting process.
 */
function spawnServer(options: SpawnOptions, logFd: number): ChildProcess {
  const settings = { ...options.settings, port: options.port, 'tallystick.owner': ownIdentity() }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn(join(options.binDir, 'postgres'), ['-D', clusterDir(options.dataDir), ...flags], {
    ...(options.runAs === null ? {} : { uid: options.runAs.uid, gid: options.runAs.gid }),
    cwd: '/',
    env: { ...CLEAN_ENV, ...options.env },
    stdio: ['ignore', 'ignore', logFd],
    detached: true,
  })
  child.unref()
  return child
}

/** Opens the log file. A large file is renamed first, so that the log cannot grow for ever. */
function openLog(file: string): { fd: number; size: number } {
  if (existsSync(file) && statSync(file).size > LOG_BYTES_MAX) renameSync(file, `${file}.1`)
  const fd = openSync(file, 'a', 0o600)
  return { fd, size: statSync(file).size }
}

async function waitUntilReady(child: ChildProcess, options: SpawnOptions): Promise<void> {
  const startedAt = Date.now()
  let noticeAt = startedAt + SLOW_NOTICE_MS
  while (Date.now() - startedAt < READY_MS_MAX) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error('Postgres did not start')
    const found = readPidFile(clusterDir(options.dataDir))
    if (found !== null && found.pid === child.pid && found.ready) return
    if (Date.now() > noticeAt) {
      options.log('Postgres is still starting: after a crash it first replays its log')
      noticeAt += SLOW_NOTICE_MS * 4
    }
    await sleep(POLL_MS)
  }
  throw new Error(`Postgres was not ready within ${READY_MS_MAX / 60_000} minutes`)
}

async function stopServer(
  child: ChildProcess,
  exited: Promise<void>,
  mode: 'fast' | 'immediate',
): Promise<void> {
  const steps: [NodeJS.Signals, number][] = [
    ['SIGTERM', CLOSING_MS_MAX],
    ['SIGINT', FAST_STOP_MS_MAX],
    ['SIGQUIT', IMMEDIATE_STOP_MS_MAX],
    ['SIGKILL', IMMEDIATE_STOP_MS_MAX],
  ]
  child.ref()
  for (const [signal, timeoutMs] of mode === 'fast' ? steps : steps.slice(2)) {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill(signal)
    const patience = new AbortController()
    const gone = exited.then(() => true)
    const late = sleep(timeoutMs, false, { signal: patience.signal }).catch(() => false)
    const stopped = await Promise.race([gone, late])
    patience.abort()
    if (stopped) return
  }
}

/**
 * Starts a watchdog that stops the server if this process ends abruptly (SIGKILL, a crash). The watchdog is a shell
 * that waits for the end of its input. The kernel closes this input when this process ends. Returns a function that
 * ends the watchdog.
 */
function watch(pid: number, options: SpawnOptions): () => void {
  const trash = options.trash ? options.dataDir : ''
  const watchdog = spawn(
    '/bin/sh',
    ['-c', WATCHDOG, 'tallystick-watchdog', `${pid}`, clusterDir(options.dataDir), trash],
    {
      cwd: '/',
      env: CLEAN_ENV,
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    },
  )
  watchdog.on('error', () => {})
  watchdog.unref()
  watchdog.stdin.on('error', () => {})
  ;(watchdog.stdin as unknown as { unref(): void }).unref()
  return () => watchdog.stdin.end()
}

/**
 * Script of the watchdog. It checks the pid file before it stops the server, because another process may have the pid
 * by then.
 */
const WATCHDOG = `
while read -r _; do :; done
if read -r found < "$2/postmaster.pid" && [ "$found" = "$1" ]; then kill -INT "$1"; fi
if [ -n "$3" ]; then
  waited=0
  while [ -e "$2/postmaster.pid" ] && [ $waited -lt 100 ]; do sleep 0.1; waited=$((waited + 1)); done
  rm -rf "$3"
fi`
