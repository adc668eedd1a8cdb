import type { PostTypesBody, PostTypesByNameByVersionPreviewBody } from '../../sdk/generated/api.ts'
import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { readJsonArgument, readObject } from '../json-input.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { UsageError } from '../run.ts'

const HELP = `tallystick types preview NAME/VERSION [--payload JSON|FILE] [--evidence JSON|FILE]
tallystick types preview FILE [--payload JSON|FILE] [--evidence JSON|FILE]

Validates documents by a type, as if they were a record's: prints the first fault of each, and for a gated type with
both documents the results of its rules. FILE is a definition that need not be registered; start its path with ./ if it
could be taken for NAME/VERSION. Writes nothing. Ends with 1 if a document is refused, or a rule fails.

  --payload DOC    the payload: JSON, a file, or - for standard input
  --evidence DOC   the evidence, likewise
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick types preview order/1 --payload '{"sku":"ABC-1234","quantity":2}'
  tallystick types preview ./order-2.json --payload order.json --evidence delivery.json
`

const TYPE_NAME = /^[a-z][a-z0-9.-]*\/\d+$/

export const typesPreview = defineCommand({
  help: HELP,
  options: {
    payload: { type: 'string' },
    evidence: { type: 'string' },
    ...CONNECTION_OPTIONS,
    ...OUTPUT_OPTIONS,
  },
  async run(values, positionals, io) {
    const type = onlyArgument(
      positionals,
      'types preview NAME/VERSION or FILE, with --payload and --evidence',
    )
    if ([type, values.payload, values.evidence].filter((each) => each === '-').length > 1)
      throw new UsageError(
        'only one of --payload and --evidence can be read from standard input (-): name a file for the other one',
      )
    const documents: PostTypesByNameByVersionPreviewBody = {
      payload: await readDocument(values.payload, '--payload', io),
      evidence: await readDocument(values.evidence, '--evidence', io),
    }
    const client = await connect(values)
    const preview = TYPE_NAME.test(type)
      ? await client.types.preview(type, documents)
      : await client.types.previewDefinition(await readDefinition(type, io), documents)
    printItem(preview, values.json, io.stdout)
    return preview.valid && preview.outcome !== 'fail' ? EXIT.ok : EXIT.refused
  },
})

async function readDocument(given: string | undefined, option: string, io: Io) {
  return given === undefined ? undefined : readJsonArgument(given, option, io)
}

/** Reads a definition. The server checks the definition, and its error says which part is wrong. */
async function readDefinition(file: string, io: Io): Promise<PostTypesBody> {
  return (await readObject(file, io)) as unknown as PostTypesBody
}
