import { type McpServer, ResourceNotFoundError, ResourceTemplate } from '@modelcontextprotocol/server'
import { NotFoundError, TallystickError } from '../../sdk/errors.ts'
import { explain } from './answers.ts'
import type { McpDeps } from './deps.ts'
import { MCP_COMPLETIONS_MAX } from './limits.ts'

const JSON_TYPE = 'application/json'
const NOTE_TYPE = 'text/plain'

/**
 * Registers the content of the ledger as resources, which people attach to a conversation. Models use the tools
 * instead.
 */
export function registerResources(server: McpServer, deps: McpDeps): void {
  const { client } = deps
  const read = reader(deps)

  server.registerResource(
    'ledger',
    'tallystick://ledger',
    {
      title: 'The ledger',
      description: 'name, size and keys of the ledger, and the key of this request',
      mimeType: JSON_TYPE,
    },
    (uri) => read(uri, JSON_TYPE, () => client.ledger.get()),
  )
  server.registerResource(
    'latest-checkpoint',
    'tallystick://checkpoints/latest',
    {
      title: 'The newest checkpoint',
      description: 'a signed note: store it elsewhere, and no change of earlier entries goes unnoticed',
      mimeType: NOTE_TYPE,
    },
    (uri) =>
      read(
        uri,
        NOTE_TYPE,
        async () => (await client.checkpoints.latest()) ?? 'no checkpoint yet: it comes within seconds',
      ),
  )
  server.registerResource(
    'record',
    new ResourceTemplate('tallystick://records/{id}', {
      list: undefined,
      complete: { id: (value) => completed(value, newestIds) },
    }),
    { title: 'A record', description: 'the current state of a record', mimeType: JSON_TYPE },
    (uri, { id }) => read(uri, JSON_TYPE, () => client.records.get(`${id}`)),
  )
  server.registerResource(
    'type',
    new ResourceTemplate('tallystick://types/{name}/{version}', {
      list: undefined,
      complete: {
        name: (value) => completed(value, async () => (await types()).map(([name]) => name)),
        version: (value, context) =>
          completed(value, async () =>
            (await types())
              .filter(([name]) => name === context?.arguments?.['name'])
              .map(([, version]) => version),
          ),
      },
    }),
    { title: 'A type', description: 'schemas and rules of a type of records', mimeType: JSON_TYPE },
    (uri, { name, version }) => read(uri, JSON_TYPE, () => client.types.get(`${name}/${version}`)),
  )

  async function newestIds(): Promise<string[]> {
    const { data } = await client.records.list({ limit: MCP_COMPLETIONS_MAX }).page()
    return data.map(({ id }) => id)
  }

  async function types(): Promise<[name: string, version: string][]> {
    const { data } = await client.types.list({ limit: MCP_COMPLETIONS_MAX }).page()
    return data.map(({ type }) => type.split('/') as [string, string])
  }
}

/**
 * Returns the distinct values of a list that begin with `value`. Returns an empty list if the key may not read the
 * list.
 */
async function completed(value: string, list: () => Promise<string[]>): Promise<string[]> {
  try {
    return [...new Set(await list())].filter((one) => one.startsWith(value)).slice(0, MCP_COMPLETIONS_MAX)
  } catch (error) {
    if (error instanceof TallystickError) return []
    throw error
  }
}

function reader({ report }: McpDeps) {
  return async (uri: URL, mimeType: string, get: () => Promise<object | string>) => {
    try {
      const value = await get()
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      return { contents: [{ uri: uri.href, mimeType, text }] }
    } catch (error) {
      if (error instanceof NotFoundError) throw new ResourceNotFoundError(uri.href, error.message)
      throw new Error(explain(error, report))
    }
  }
}
