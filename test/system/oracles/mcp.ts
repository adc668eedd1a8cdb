import { execFile } from 'node:child_process'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { installPythonTool } from '../../../tools/python-tool.ts'
import { CLI } from '../../helpers/run-cli.ts'
import { installPackages } from './npm-packages.ts'

const HERE = import.meta.dirname
const CONFORMANCE = { '@modelcontextprotocol/conformance': '0.1.16' }
/**
 * Scenarios that need only the protocol. The other scenarios are left out: they call tools, prompts and resources of
 * the suite's own example, or features that are not used here (logging, subscriptions, sampling, elicitation).
 */
const SCENARIOS = [
  'server-initialize',
  'ping',
  'tools-list',
  'resources-list',
  'prompts-list',
  'dns-rebinding-protection',
]
const run = promisify(execFile)

export type Check = readonly [what: string, run: () => Promise<{ readonly stdout: string }>]

/** Returns checks with third-party clients that use the ledger over MCP, and with the protocol's conformance suite. */
export async function mcpChecks(url: string, key: string): Promise<Check[]> {
  const python = join(dirname(installPythonTool('mcp', join(HERE, 'mcp-requirements.txt'))), 'python')
  const script = join(HERE, 'mcp_client.py')
  const modules = await installPackages('mcp-conformance', CONFORMANCE)
  const suite = join(modules, '@modelcontextprotocol', 'conformance', 'dist', 'index.js')
  const env = { ...process.env, TALLYSTICK_URL: url, TALLYSTICK_API_KEY: key }
  const eras = ['legacy', 'auto'].flatMap((era): Check[] => [
    [`PyPI's mcp over HTTP, ${era}`, () => run(python, [script, era, 'http', `${url}/mcp`, key])],
    [
      `PyPI's mcp over stdio, ${era}`,
      // URL and key are given as options, because the client passes on almost none of its environment variables.
      () =>
        run(python, [script, era, 'stdio', process.execPath, CLI, 'mcp', '--server', url, '--api-key', key], {
          env,
        }),
    ],
  ])
  const scenarios = SCENARIOS.map(
    (scenario): Check => [
      `conformance, ${scenario}`,
      () => withKey(url, key, (keyed) => conform(suite, keyed, scenario)),
    ],
  )
  const refused: Check = [
    "PyPI's mcp, with a key that nobody made",
    () => refusal(run(python, [script, 'auto', 'http', `${url}/mcp`, `${key.slice(0, -1)}_`])),
  ]
  return [...eras, refused, ...scenarios]
}

async function refusal(running: Promise<unknown>): Promise<{ stdout: string }> {
  const { stderr } = await running.then(
    () => ({ stderr: 'took it' }),
    (error: { stderr: string }) => error,
  )
  if (!stderr.includes('401 unauthenticated: the API key is unknown'))
    throw Object.assign(new Error('not refused'), { stderr })
  return { stdout: 'refused' }
}

async function conform(suite: string, url: string, scenario: string): Promise<{ stdout: string }> {
  const { stdout } = await run(process.execPath, [
    suite,
    'server',
    '--url',
    `${url}/mcp`,
    '--scenario',
    scenario,
  ])
  const said = /Passed: (\d+)\/(\d+)/.exec(stdout)
  if (!said || said[1] !== said[2]) throw Object.assign(new Error(scenario), { stderr: stdout })
  return { stdout: said[0] }
}

/**
 * Runs `use` with a proxy that adds the key to requests, because the suite sends no key. The proxy changes nothing
 * else.
 */
async function withKey<T>(url: string, key: string, use: (keyed: string) => Promise<T>): Promise<T> {
  const { hostname, port } = new URL(url)
  const proxy = createServer((asked: IncomingMessage, answered: ServerResponse) => {
    const headers = { ...asked.headers, authorization: `Bearer ${key}` }
    const sent = request({ hostname, port, path: asked.url, method: asked.method, headers }, (answer) => {
      answered.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(answered)
    })
    asked.pipe(sent)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  try {
    return await use(`http://localhost:${(proxy.address() as AddressInfo).port}`)
  } finally {
    proxy.closeAllConnections()
    proxy.close()
  }
}
