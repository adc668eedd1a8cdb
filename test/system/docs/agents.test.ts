import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parseArgs } from 'node:util'
import { mcpProxy } from '../../../cli/commands/mcp-proxy.ts'
import { settingsOf } from '../../../cli/hook/settings.ts'

const pageOf = (name: string) => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8')
const blocksOf = (page: string) => [...page.matchAll(/^```json\n([\s\S]*?)^```/gm)].map(([, text]) => text!)

type Server = { readonly command: string; readonly args: string[] }
type Configuration = {
  readonly mcpServers?: Record<string, Server>
  readonly servers?: Record<string, Server>
}

test('the documented MCP clients start the proxy, with a command or a server’s URL', () => {
  const servers = blocksOf(pageOf('integrations/mcp-proxy.md')).flatMap((block) => {
    const { mcpServers, servers } = JSON.parse(block) as Configuration
    return Object.values({ ...mcpServers, ...servers })
  })
  assert.equal(servers.length, 2)
  for (const { command, args } of servers) {
    assert.equal(command, 'tallystick')
    const [name, ...rest] = args
    assert.equal(name, 'mcp-proxy')
    const { values, positionals } = parseArgs({
      args: rest,
      options: mcpProxy.options,
      allowPositionals: true,
    })
    assert.equal(values['upstream'] === undefined, positionals.length > 0)
  }
})

test('the documented settings of the coding agent equal those that the hook prints', () => {
  assert.equal(
    blocksOf(pageOf('integrations/hooks.md'))[0],
    settingsOf("tallystick hook --framework 'claude-code'"),
  )
})
