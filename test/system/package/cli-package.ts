import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { COMMANDS } from '../../../cli/commands.ts'
import type { PackageServer } from './deployment.ts'
import { type Ended, type Project, runProgram } from './project.ts'
import type { Runtime } from './runtimes.ts'

/**
 * Notarizes, serves, exports and verifies with the installed command. The command is started through npm's link,
 * under the runtime's Node.
 */
export async function useCommandOn(
  runtime: Runtime,
  { dir }: Project,
  deployment: PackageServer,
): Promise<string> {
  const env = { ...(await deployment.newLedger()), PATH: dirname(runtime.file) }
  const command = join(dir, 'node_modules', '.bin', 'tallystick')
  const tallystick = async (code: number, ...args: string[]): Promise<Ended> => {
    const ended = await runProgram(command, args, { cwd: dir, env })
    if (ended.code === code) return ended
    throw new Error(`\`tallystick ${args.join(' ')}\` ended with ${ended.code}, not ${code}: ${ended.stderr}`)
  }
  await tallystick(0, '--help')
  for (const name of Object.keys(COMMANDS)) {
    const { stdout, stderr } = await tallystick(0, ...name.split(' '), '--help')
    if (!stdout.startsWith(`tallystick ${name}`) || stderr !== '')
      throw new Error(`\`tallystick ${name} --help\` printed ${stdout.slice(0, 200)} ${stderr}`)
  }
  const { stdout } = await tallystick(0, 'notarize', '--payload', '{"tool":"search"}')
  const { id } = JSON.parse(stdout) as { id: string }
  await tallystick(0, 'get', id)
  const call = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'get_record', arguments: { record: id } },
  }
  const served = await runProgram(command, ['mcp'], { cwd: dir, env, input: `${JSON.stringify(call)}\n` })
  if (!served.stdout.includes('"state":"RECORDED"'))
    throw new Error(`\`tallystick mcp\` answered ${served.stdout} ${served.stderr}`)
  await tallystick(0, 'export', '-o', 'ledger.ndjson')
  const verified = await tallystick(0, 'verify', 'ledger.ndjson', '--threads', '2')
  changeOneByte(join(dir, 'ledger.ndjson'))
  await tallystick(1, 'verify', 'ledger.ndjson', '--threads', '2')
  return verified.stdout.trim()
}

/** Changes the last entry's envelope. The envelope stays valid base64. */
function changeOneByte(file: string): void {
  const text = readFileSync(file, 'utf8')
  const at = text.lastIndexOf('"envelope":"') + 200
  writeFileSync(file, text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1))
}
