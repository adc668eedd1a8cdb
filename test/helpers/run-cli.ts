import { fileURLToPath } from 'node:url'
import { runScript, type ScriptRun } from './run-script.ts'

export const CLI = fileURLToPath(new URL('../../cli/tallystick.ts', import.meta.url))

/** Runs the command line tool as a process, without the user's configuration. */
export function runCli(
  args: readonly string[],
  { env, ...options }: { env?: Record<string, string>; input?: string } = {},
): Promise<ScriptRun> {
  const home = { HOME: '/nowhere', XDG_CONFIG_HOME: '/nowhere' }
  return runScript(CLI, args, { ...options, env: { ...home, ...env }, root: process.cwd() })
}
