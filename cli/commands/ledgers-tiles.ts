import { TallystickOperator } from '../../sdk/operator.ts'
import { onlyArgument } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { URL_DEFAULT } from '../connection.ts'
import { environment } from '../environment.ts'
import { EXIT } from '../exit-codes.ts'
import { OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { UsageError } from '../run.ts'

const HELP = `tallystick ledgers tiles LEDGER --public
tallystick ledgers tiles LEDGER --by-key

Sets who may read a ledger as a tiled log (docs/formats/tiles.md): anybody, or only its keys with the scope audit:read.
Caches may store for a year what was public. Needs the operator's key, in TALLYSTICK_OPERATOR_KEY.

  --public         anybody may read all of its entries: ids, types, times and digests, but no documents
  --by-key         only its keys, the default
  --server URL     the server. Default: TALLYSTICK_URL, or ${URL_DEFAULT}
${OUTPUT_HELP}
  -h, --help

Examples:
  tallystick ledgers tiles led_01kd2m3n4p5q6r7s8t9v0w1x2y --public
  tallystick ledgers tiles led_01kd2m3n4p5q6r7s8t9v0w1x2y --by-key
`

export const ledgersTiles = defineCommand({
  help: HELP,
  options: {
    public: { type: 'boolean' },
    'by-key': { type: 'boolean' },
    server: { type: 'string' },
    ...OUTPUT_OPTIONS,
  },
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'ledgers tiles LEDGER')
    if (values.public === values['by-key'])
      throw new UsageError('ledgers tiles needs one of --public and --by-key')
    const operatorKey = environment.operatorKey()
    if (operatorKey === undefined) throw new UsageError("no operator's key: set TALLYSTICK_OPERATOR_KEY")
    const baseUrl = values.server ?? environment.serverUrl() ?? URL_DEFAULT
    const operator = new TallystickOperator({ baseUrl, operatorKey })
    printItem(await operator.ledgers.setTiles(id, values.public ? 'public' : 'key'), values.json, io.stdout)
    return EXIT.ok
  },
})
