import { Readable } from 'node:stream'
import { main } from '../../cli/main.ts'
import { bareEnvironment } from './bare-environment.ts'
import { capture } from './capture.ts'

type CommandRun = { readonly code: number; readonly stdout: string; readonly stderr: string }
type Input = { readonly input?: string; readonly isTTY?: boolean }

/**
 * Runs the command line tool in this process and with this process's environment. This takes much less time than
 * runCli.
 */
export async function runCommand(
  args: readonly string[],
  { input = '', isTTY = false }: Input = {},
): Promise<CommandRun> {
  const [stdout, stderr] = [capture(isTTY), capture(isTTY)]
  const code = await main(args, { stdin: Readable.from([Buffer.from(input)]), stdout, stderr })
  return { code, stdout: stdout.text(), stderr: stderr.text() }
}

/**
 * Works like `runCommand`, but with a minimal environment like runCli. The function replaces `process.env` while the
 * command runs, so only one call may run at a time.
 */
export async function runAlone(
  args: readonly string[],
  { env, ...input }: Input & { env?: Record<string, string> } = {},
): Promise<CommandRun> {
  const { env: ours } = process
  process.env = { ...bareEnvironment(), HOME: '/nowhere', XDG_CONFIG_HOME: '/nowhere', ...env }
  try {
    return await runCommand(args, input)
  } finally {
    process.env = ours
  }
}
