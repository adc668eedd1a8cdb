import { type ChildProcess, spawn } from 'node:child_process'

/** `inspector`: the address to profile it at, if it was started for that. */
export type Child = {
  readonly pid: number
  readonly inspector: Promise<string> | null
  stop(): Promise<void>
}

const STOP_MS_MAX = 10_000

/** Starts a script of ours with this environment, and sees to it that it does not outlive this process. */
export function startChild(script: string, env: NodeJS.ProcessEnv, inspect: boolean): Child {
  const root = new URL('..', import.meta.url)
  // Logging is part of a process's cost, but nobody wants to read it here.
  const child = spawn(process.execPath, [...(inspect ? ['--inspect=127.0.0.1:0'] : []), script], {
    cwd: root,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  if (child.pid === undefined) throw new Error(`${script} does not start`)
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  const inspector = watchErrors(script, child)
  return { pid: child.pid, inspector: inspect ? inspector : null, stop: () => stopChild(child) }
}

/** Passes on what a process says on stderr; resolves with the inspector's address when that appears. */
function watchErrors(script: string, child: ChildProcess): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    const address = /Debugger listening on (ws:\S+)/.exec(text)?.[1]
    if (address) resolve(address)
    const rest = text.replace(
      /^(Debugger (listening|attached)|For help, see|Waiting for the debugger).*\n/gm,
      '',
    )
    if (rest.trim() !== '') process.stderr.write(`[${script}] ${rest}`)
  })
  return promise
}

function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
    child.once('exit', () => {
      clearTimeout(timer)
      resolve()
    })
    child.kill('SIGTERM')
  })
}
