import { spawn } from 'node:child_process'
import { join, resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '..', '..', '..')
export const CHART_DIR = join(ROOT, 'helm', 'tallystick')
const COMMAND_MS_MAX = 20 * 60_000

export type Output = { readonly code: number; readonly stdout: string; readonly stderr: string }

export function execute(file: string, args: readonly string[]): Promise<Output> {
  return new Promise((done, fail) => {
    const child = spawn(file, args, { cwd: ROOT, timeout: COMMAND_MS_MAX, stdio: ['ignore', 'pipe', 'pipe'] })
    const output = { stdout: '', stderr: '' }
    child.stdout.on('data', (data) => {
      output.stdout += data
    })
    child.stderr.on('data', (data) => {
      output.stderr += data
    })
    child.on('error', fail)
    child.on('close', (code) => done({ ...output, code: code ?? 1 }))
  })
}

export async function faultsOf(file: string, args: readonly string[]): Promise<string[]> {
  const { code, stdout, stderr } = await execute(file, args)
  return code === 0 ? [] : [`${stdout}${stderr}`.trim() || `exit code ${code}`]
}
