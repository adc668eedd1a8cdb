import type { Tallystick } from '../../sdk/client.ts'
import type { RecordType } from '../../sdk/generated/api.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { withOutput } from '../output-file.ts'
import { RefusedError } from '../run.ts'
import { typesSource } from '../types-source.ts'

const HELP = `tallystick types codegen [-o FILE] [NAME/VERSION | NAME]…

Writes TypeScript of what payloads and evidence of the ledger's registered types hold, for \`new Tallystick<Types>()\`: of those that
are named, of all versions of a NAME, or of all. What a type can't say, such as ranges and patterns, the server still checks.

  -o, --out FILE   where to write; by default, or with -, standard output
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick types codegen -o src/tallystick-types.ts
  tallystick types codegen order/2 delivery
`

export const typesCodegen = defineCommand({
  help: HELP,
  options: { out: { type: 'string', short: 'o' }, ...CONNECTION_OPTIONS },
  async run(values, wanted, io) {
    return withOutput(values.out, { io, isPrivate: false }, async (output) => {
      const client = await connect(values)
      const types = new Map<string, RecordType>()
      for (const name of await namesOf(client, wanted)) types.set(name, await client.types.get(name))
      await output.save([typesSource([...types.values()])])
      return EXIT.ok
    })
  },
})

/** Those that every ledger has are known to the SDK, unless they are asked for. */
async function namesOf(client: Tallystick, wanted: readonly string[]): Promise<string[]> {
  if (wanted.length === 0) return registeredOf(client, {})
  const names: string[] = []
  for (const each of wanted) {
    const found = each.includes('/') ? [each] : await registeredOf(client, { name: each })
    if (found.length === 0) throw new RefusedError(`no type named ${JSON.stringify(each)} is registered`)
    names.push(...found)
  }
  return names
}

async function registeredOf(client: Tallystick, query: { name?: string }): Promise<string[]> {
  const names: string[] = []
  for await (const { type, registeredAt } of client.types.list(query))
    if (registeredAt !== null) names.push(type)
  return names
}
