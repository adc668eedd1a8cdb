import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { bareEnvironment } from './bare-environment.ts'

const PROJECT_DIR = resolve(import.meta.dirname, '..', '..')

export type ScriptRun = { readonly code: number | null; readonly stdout: string; readonly stderr: string }
type Options = {
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
  /** The folder it is run in: of another copy of the project. */
  readonly root?: string
}

/**
 * Runs a script of the project as a process, to its end. Nothing of the caller's environment reaches it but PATH. Not synchronously:
 * some callers have an application or load in their own process.
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
  child.stdin.on('error', () => {}) // a script that failed does not read
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

/** Runs an operator's command, as the image and `npm run op` do. */
export function runCommand(name: string, args: readonly string[], options?: Options): Promise<ScriptRun> {
  return runScript('src/run/command.ts', [name, ...args], options)
}
