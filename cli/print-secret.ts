import type { KeyWithSecret } from '../sdk/resources/keys.ts'
import { type ConnectionValues, findConnection } from './connection.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'
import type { Io } from './io.ts'
import { OUTPUT_OPTIONS, printItem } from './output.ts'
import { InputError } from './run.ts'

/** What every command takes that makes a secret. */
export const SECRET_OPTIONS = { env: { type: 'boolean' }, ...OUTPUT_OPTIONS } as const
export const SECRET_HELP =
  '  --env            print what an environment needs: TALLYSTICK_URL and TALLYSTICK_API_KEY'

type Values = ConnectionValues & { readonly env?: boolean | undefined; readonly json?: boolean | undefined }

/** Nothing that a shell would do something with. */
const SECRET = /^[A-Za-z0-9_-]+$/

/**
 * The one time that a secret is shown. Throws InputError for what is none: it is written into files that a shell reads, and a server
 * that chose another text would choose what that executes.
 */
export async function printSecret(made: KeyWithSecret, values: Values, io: Io): Promise<ExitCode> {
  if (typeof made.key !== 'string' || !SECRET.test(made.key))
    throw new InputError(
      'what was answered is no secret of an API key: check that the address is a Tallystick server’s',
    )
  if (values.env) {
    const { url } = await findConnection(values)
    io.stdout.write(`TALLYSTICK_URL=${url}\nTALLYSTICK_API_KEY=${made.key}\n`)
  } else printItem(made, values.json, io.stdout)
  io.stderr.write('tallystick: the secret is shown this once: keep it now\n')
  return EXIT.ok
}
