import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { bareEnvironment } from './bare-environment.ts'

const PROJECT_DIR = resolve(import.meta.dirname, '..', '..')

export type ScriptRun = { readonly code: number | null; readonly stdout: string; readonly stderr: string }
type Options = {
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
  readonly root?: string
}

/**
 * Runs a script of the project as a process until it exits. The process gets only PATH and the compile cache from the
 * caller's environment. The function is asynchronous, because some callers also run an application or a load.
 */
export async function runScript(
  script: string,
  args: readonly string[],
  { env, input = '', root = PROJECT_DIR }: Options = {},
): Promise<ScriptRun> {
  const child = spawn(process.execPath, [script, ...args], {
    cwd: root,
    env: { ...bareEnvironment(), ...env },
    stdio: 'pipe',
  })
  child.stdin.on('error', () => {}) // An error is ignored, because a script that failed does not read its input.
  child.stdin.end(input)
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

export function runCommand(name: string, args: readonly string[], options?: Options): Promise<ScriptRun> {
  return runScript('src/run/command.ts', [name, ...args], options)
}
