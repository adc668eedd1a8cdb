import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { PROXY_END_MS, PROXY_KILL_MS } from './limits.ts'
import type { Downstream, Upstream, UpstreamEnd } from './upstream.ts'
import { write } from './write.ts'

/*
 * Runs a server as a child process. The server leads a process group, so that a signal also reaches its descendants:
 * with a shell or `npx`, the real server is a descendant. The server is stopped as MCP specifies (Lifecycle, Shutdown,
 * stdio): its input ends, then it gets SIGTERM, then SIGKILL.
 */

const HAS_GROUPS = process.platform !== 'win32'

/** Starts the server. The server writes to the proxy's standard error, because servers log there. */
export function openProcess(
  [command, ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  { receive }: Downstream,
): Upstream {
  const child = spawn(command!, args, {
    ...{ stdio: ['pipe', 'pipe', 'inherit'], env, windowsHide: true },
    detached: HAS_GROUPS,
  })
  const guard = watchOver(child, env)
  // Errors are ignored: the server has ended and no longer reads what the client writes.
  child.stdin.on('error', () => {})
  const read = (async () => {
    for await (const bytes of child.stdout) await receive(bytes as Buffer)
  })().catch(() => {})
  let stopping: Promise<void> | null = null
  const stop = () => {
    stopping ??= endGroup(child)
    return stopping
  }
  return {
    send: (bytes) => write(child.stdin, bytes),
    end() {
      child.stdin.end()
      setTimeout(stop, PROXY_END_MS).unref()
    },
    stop: () => void stop(),
    ended: exitOf(child).then(async ({ why, isFailure }) => {
      const wasStopped = stopping !== null
      // Stops the group, because a descendant that still runs may have the output open.
      await stop()
      await Promise.race([read, sleep(PROXY_END_MS, undefined, { ref: false })])
      child.stdout.destroy()
      guard?.stdin?.end('over\n')
      return { why, isFailure: isFailure && !wasStopped }
    }),
  }
}

/** Sends SIGTERM to the group, and SIGKILL after PROXY_KILL_MS. Resolves when the group has ended, or was killed. */
async function endGroup(child: ChildProcess): Promise<void> {
  const until = performance.now() + PROXY_KILL_MS
  for (let isThere = signalGroup(child, 'SIGTERM'); isThere; isThere = signalGroup(child, 0)) {
    if (performance.now() > until) return void signalGroup(child, 'SIGKILL')
    await sleep(GROUP_POLL_MS)
  }
}

const GROUP_POLL_MS = 20

/** Sends a signal to the group. Returns whether any process got it. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  const { pid } = child
  if (pid === undefined) return false
  if (!HAS_GROUPS) return child.exitCode === null && child.signalCode === null && child.kill(signal)
  try {
    return process.kill(-pid, signal)
  } catch {
    return false
  }
}

/**
 * Shell script that exits when it reads a line. If the proxy ends without writing a line, `read` fails, and the
 * script ends group $1.
 */
const GUARD = `read -r over && exit
sleep ${PROXY_END_MS / 1_000}; kill -s TERM -- "-$1"
sleep ${PROXY_KILL_MS / 1_000}; kill -s KILL -- "-$1"`

/**
 * Starts a shell that ends the server's group if this process is killed. The shell has its own group, because clients
 * kill the proxy's group. Returns null if the platform has no groups, or if the server did not start.
 */
function watchOver({ pid }: ChildProcess, env: NodeJS.ProcessEnv): ChildProcess | null {
  if (!HAS_GROUPS || pid === undefined) return null
  const guard = spawn('/bin/sh', ['-c', GUARD, 'sh', `${pid}`], {
    ...{ stdio: ['pipe', 'ignore', 'ignore'], env },
    detached: true,
  })
  // Errors are ignored: if the shell can't run, the server is stopped only by the end of its input.
  guard.on('error', () => {})
  guard.stdin.on('error', () => {})
  guard.unref()
  ;(guard.stdin as unknown as { unref(): void }).unref()
  return guard
}

async function exitOf(child: ChildProcess): Promise<UpstreamEnd> {
  return new Promise((resolve) => {
    child.once('error', (error) =>
      resolve({ why: `the server could not be started: ${error.message}`, isFailure: true }),
    )
    child.once('exit', (code, signal) =>
      resolve({
        why: `the server ended (${signal ?? `exit code ${code}`})`,
        isFailure: code !== 0 && signal !== 'SIGTERM',
      }),
    )
  })
}
