import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { bareEnvironment } from './bare-environment.ts'

export const CLI = fileURLToPath(new URL('../../cli/tallystick.ts', import.meta.url))

type CliRun = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

/** Runs the command line tool as a process. Nothing of the caller's environment reaches it but PATH. */
export async function runCli(
  args: readonly string[],
  options: { env?: Record<string, string>; input?: string } = {},
): Promise<CliRun> {
  const child = spawn(process.execPath, [CLI, ...args], {
    env: { ...bareEnvironment(), HOME: '/nowhere', XDG_CONFIG_HOME: '/nowhere', ...options.env },
    stdio: 'pipe',
  })
  child.stdin.on('error', () => {}) // a tool that failed does not read
  child.stdin.end(options.input ?? '')
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  return { code, stdout, stderr }
}
