import { type ConnectionValues, findConnection } from './connection.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'
import type { Io } from './io.ts'
import { OUTPUT_OPTIONS, printItem } from './output.ts'

/** What every command takes that makes a secret. */
export const SECRET_OPTIONS = { env: { type: 'boolean' }, ...OUTPUT_OPTIONS } as const
export const SECRET_HELP =
  '  --env            print what an environment needs: TALLYSTICK_URL and TALLYSTICK_API_KEY'

type WithSecret = { readonly id: string; readonly key: string | null }
type Values = ConnectionValues & { readonly env?: boolean | undefined; readonly json?: boolean | undefined }

/**
 * The one time that a secret is shown. A server that did this before, and whose answer was lost on the way, no longer has
 * it: the key is there, and is of no use until it is rotated.
 */
export async function printSecret(made: WithSecret, values: Values, io: Io): Promise<ExitCode> {
  if (made.key === null) {
    printItem(made, values.json, io.stdout)
    io.stderr.write(
      `tallystick: the key was made before, and its secret is not shown again: \`tallystick keys rotate ${made.id}\` makes another\n`,
    )
    return EXIT.unavailable
  }
  if (values.env) {
    const { url } = await findConnection(values)
    io.stdout.write(`TALLYSTICK_URL=${url}\nTALLYSTICK_API_KEY=${made.key}\n`)
  } else printItem(made, values.json, io.stdout)
  io.stderr.write('tallystick: the secret is shown this once: keep it now\n')
  return EXIT.ok
}
