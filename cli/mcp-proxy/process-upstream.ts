import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { PROXY_KILL_MS } from './limits.ts'
import type { Ended, Receive, Upstream } from './upstream.ts'

/** A server that is a process of its own. Its standard error is ours: servers write their logs there. */
export function openProcess(
  [command, ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  receive: Receive,
): Upstream {
  const child = spawn(command!, args, { stdio: ['pipe', 'pipe', 'inherit'], env, windowsHide: true })
  // It has ended, and does not read what the client still writes.
  child.stdin.on('error', () => {})
  const read = (async () => {
    for await (const bytes of child.stdout) await receive(bytes as Buffer)
  })().catch(() => {})
  return {
    send: (bytes) => write(child.stdin, bytes),
    end: () => void child.stdin.end(),
    stop() {
      child.kill('SIGTERM')
      setTimeout(() => child.kill('SIGKILL'), PROXY_KILL_MS).unref()
    },
    ended: exitOf(child).then(async (ended) => {
      await read
      return ended
    }),
  }
}

async function exitOf(child: ReturnType<typeof spawn>): Promise<Ended> {
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

/** Waits if the reader is slower: nothing piles up here. */
export async function write(out: Writable, bytes: Buffer): Promise<void> {
  if (out.write(bytes) || out.destroyed) return
  const over = new AbortController()
  const { signal } = over
  await Promise.race([once(out, 'drain', { signal }), once(out, 'close', { signal })]).catch(() => {})
  // The one that did not come would be listened for as long as the stream lives.
  over.abort()
}
