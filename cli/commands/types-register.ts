import type { PostTypesBody } from '../../sdk/generated/api.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { readObject } from '../json-input.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { UsageError } from '../run.ts'

const HELP = `tallystick types register FILE…

Registers types of records (docs/guides/types.md), one definition in each FILE; - is standard input. A registered type
never changes and cannot be removed: registering it again does nothing if the definition is the same, and is refused
otherwise. Needs a key with the scope types:write.

${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick types register order-1.json
  tallystick types preview order-1.json --payload '{"sku":"ABC-1234","quantity":2}'
`

export const typesRegister = defineCommand({
  help: HELP,
  options: { ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS },
  async run(values, files, io) {
    if (files.length === 0) throw new UsageError('usage: tallystick types register FILE')
    const client = await connect(values)
    for (const file of files) {
      // The server checks the definition, and its error says which part is wrong.
      const definition = (await readObject(file, io)) as unknown as PostTypesBody
      printItem(await client.types.register(definition), values.json, io.stdout)
    }
    return EXIT.ok
  },
})
