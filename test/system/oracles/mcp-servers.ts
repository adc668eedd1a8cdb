import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { Tallystick } from '../../../sdk/client.ts'
import { CLI } from '../../helpers/run-cli.ts'
import { until } from '../../helpers/wait.ts'
import type { Check } from './mcp.ts'
import { installPackages } from './npm-packages.ts'

type Call = { readonly name: string; readonly arguments: Record<string, unknown> }

type Server = {
  readonly package: string
  readonly args: (dir: string) => readonly string[]
  readonly env: (dir: string) => Record<string, string>
  readonly calls: (dir: string) => readonly Call[]
}

const VERSION = '2026.8.31'
const PACKAGES = ['server-everything', 'server-filesystem', 'server-memory'].map(
  (name) => `@modelcontextprotocol/${name}`,
)
/** Servers with the calls to make. One call to each server must fail. */
const SERVERS: Readonly<Record<string, Server>> = {
  everything: {
    package: '@modelcontextprotocol/server-everything',
    args: () => [],
    env: () => ({}),
    calls: () => [
      { name: 'echo', arguments: { message: 'süß \u2028 🦎' } },
      { name: 'get-sum', arguments: { a: 1, b: 2.5 } },
      { name: 'get-tiny-image', arguments: {} },
      { name: 'get-structured-content', arguments: { location: 'Chicago' } },
      { name: 'trigger-long-running-operation', arguments: { duration: 0.2, steps: 2 } },
      { name: 'get-sum', arguments: { a: 'one' } },
    ],
  },
  filesystem: {
    package: '@modelcontextprotocol/server-filesystem',
    args: (dir) => [dir],
    env: () => ({}),
    calls: (dir) => [
      { name: 'write_file', arguments: { path: join(dir, 'a.txt'), content: 'a\r\nb\n'.repeat(5_000) } },
      { name: 'read_text_file', arguments: { path: join(dir, 'a.txt') } },
      { name: 'list_directory', arguments: { path: dir } },
      { name: 'read_text_file', arguments: { path: '/etc/hostname' } },
    ],
  },
  memory: {
    package: '@modelcontextprotocol/server-memory',
    args: () => [],
    env: (dir) => ({ MEMORY_FILE_PATH: join(dir, 'memory.jsonl') }),
    calls: () => [
      {
        name: 'create_entities',
        arguments: { entities: [{ name: 'copper', entityType: 'metal', observations: ['9,612 dollars'] }] },
      },
      { name: 'search_nodes', arguments: { query: 'dollars' } },
      { name: 'read_graph', arguments: {} },
      { name: 'create_entities', arguments: { entities: 'copper' } },
    ],
  },
}

/**
 * Compares official servers with and without the proxy. The official client calls the servers. The proxy must forward
 * each byte, and both sides must see no difference. The ledger must have each call with its outcome.
 */
export async function mcpServerChecks(
  client: Tallystick,
  { url, key, dir }: { readonly url: string; readonly key: string; readonly dir: string },
): Promise<Check[]> {
  const modules = await installPackages(
    'mcp-servers',
    Object.fromEntries(PACKAGES.map((name) => [name, VERSION])),
  )
  return Object.entries(SERVERS).map(([name, server]) => [
    `the official server ${name}, behind the proxy`,
    async () => {
      const program = join(modules, server.package, 'dist', 'index.js')
      const files = join(dir, `mcp-${name}`)
      const env = { ...(process.env as Record<string, string>), TALLYSTICK_URL: url, TALLYSTICK_API_KEY: key }
      const proxy = [
        CLI,
        'mcp-proxy',
        '--name',
        name,
        '--spool',
        join(files, 'outbox'),
        '--',
        process.execPath,
      ]
      const direct = await use(server, program, files, { label: 'direct', env, proxy: [] })
      const proxied = await use(server, program, files, { label: 'proxied', env, proxy })
      sameBytes(files, 'client', 'server')
      if (!read(files, 'direct-server.in').equals(read(files, 'proxied-server.in')))
        throw said('the server was sent other bytes than without the proxy')
      if (!isDeepStrictEqual(direct, proxied)) throw said('the client was answered otherwise')
      const wanted = server.calls(files).map((call) => call.name)
      await until(async () => isDeepStrictEqual(await callsOf(client, name, 'agent-outcome/1'), wanted))
      const actions = await callsOf(client, name, 'agent-action/1')
      if (!isDeepStrictEqual(actions, wanted)) throw said(`the ledger has ${actions.join(', ')}`)
      return {
        stdout: `${wanted.length} calls, ${read(files, 'proxied-server.out').length} bytes of answers`,
      }
    },
  ])
}

type Session = {
  readonly label: string
  readonly env: Record<string, string>
  readonly proxy: readonly string[]
}

/** Returns the answers of the calls. Each use has the same folder, so that the calls are equal. */
async function use(server: Server, program: string, files: string, { label, env, proxy }: Session) {
  const shared = join(files, 'shared')
  mkdirSync(shared, { recursive: true })
  const tee = (side: string) => [join(import.meta.dirname, 'tee.ts'), join(files, `${label}-${side}`)]
  const args = [...tee('client'), process.execPath, ...proxy, ...tee('server'), process.execPath, program]
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...args, ...server.args(shared)],
    env: { ...env, ...server.env(join(files, label)) },
    stderr: 'ignore',
  })
  mkdirSync(join(files, label))
  const mcp = new Client({ name: 'oracle', version: '1' })
  await mcp.connect(transport)
  try {
    const answers: unknown[] = [(await mcp.listTools()).tools]
    for (const call of server.calls(shared))
      answers.push(await mcp.callTool(call).catch((error: Error) => error.message))
    return answers
  } finally {
    await mcp.close()
  }
}

function sameBytes(files: string, before: string, behind: string): void {
  for (const direction of ['in', 'out'])
    if (!read(files, `proxied-${before}.${direction}`).equals(read(files, `proxied-${behind}.${direction}`)))
      throw said(`the proxy has changed bytes: ${direction}`)
}

function read(files: string, name: string): Buffer {
  return readFileSync(join(files, name))
}

async function callsOf(client: Tallystick, server: string, type: `${string}/${number}`): Promise<unknown[]> {
  const records = await client.records.list({ type, order: 'asc' }).toArray(200)
  return records
    .filter(({ payload }) => payload?.['server'] === server)
    .map(({ payload }) => payload?.['name'])
}

function said(stderr: string): Error {
  return Object.assign(new Error(stderr), { stderr })
}
