import type { KeyWithSecret } from '../sdk/resources/keys.ts'
import type { PeerInvitation } from '../sdk/resources/peers.ts'
import type { WebhookWithSecret } from '../sdk/resources/webhooks.ts'
import { type ConnectionValues, findConnection } from './connection.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'
import type { Io } from './io.ts'
import { OUTPUT_OPTIONS, printItem } from './output.ts'
import { InputError } from './run.ts'

export const SECRET_OPTIONS = { env: { type: 'boolean' }, ...OUTPUT_OPTIONS } as const
export const SECRET_HELP =
  '  --env            print environment variables: TALLYSTICK_URL and TALLYSTICK_API_KEY'
export const WEBHOOK_SECRET_HELP =
  "  --env            print the receiver's environment variables: WEBHOOK_SECRET and WEBHOOK_PUBLIC_KEY"

type Values = ConnectionValues & { readonly env?: boolean | undefined; readonly json?: boolean | undefined }

/** Form of a secret. It has no characters that a shell would interpret. */
const SECRET = /^[A-Za-z0-9_-]+$/
const INVITATION = /^tlp_[A-Za-z0-9_-]+$/
const WEBHOOK_SECRET = /^whsec_[A-Za-z0-9+/]+=*$/
const WEBHOOK_PUBLIC_KEY = /^whpk_[A-Za-z0-9+/]+=*$/

/**
 * Prints a key with its secret. The secret is shown only this once. Throws InputError if the secret does not have its
 * usual form. Users write the secret into files that a shell reads. Without this check, a hostile server could choose
 * what the shell executes.
 */
export async function printSecret(made: KeyWithSecret, values: Values, io: Io): Promise<ExitCode> {
  requireSecret(made.key, SECRET, 'no secret of an API key')
  if (values.env) {
    const { url } = await findConnection(values)
    io.stdout.write(`TALLYSTICK_URL=${url}\nTALLYSTICK_API_KEY=${made.key}\n`)
  } else printItem(made, values.json, io.stdout)
  return remindToStore(io)
}

/** Like `printSecret`, for a webhook. With `--env` it prints variables for the environment of the receiver. */
export function printWebhookSecret(made: WebhookWithSecret, values: Values, io: Io): ExitCode {
  const { secret, publicKey } = made
  requireSecret(secret, WEBHOOK_SECRET, 'no secret of a webhook')
  requireSecret(publicKey, WEBHOOK_PUBLIC_KEY, 'no public key of a webhook')
  if (values.env) io.stdout.write(`WEBHOOK_SECRET=${secret}\nWEBHOOK_PUBLIC_KEY=${publicKey}\n`)
  else printItem(made, values.json, io.stdout)
  return remindToStore(io)
}

/** Like `printSecret`, for an invitation. The user passes the invitation to the other side unchanged. */
export function printInvitation(
  made: PeerInvitation,
  values: { readonly bare?: boolean | undefined; readonly json?: boolean | undefined },
  io: Io,
): ExitCode {
  requireSecret(made.invitation, INVITATION, 'no invitation')
  if (values.bare) io.stdout.write(`${made.invitation}\n`)
  else printItem(made, values.json, io.stdout)
  return remindToStore(io)
}

function requireSecret(text: unknown, pattern: RegExp, otherwise: string): void {
  if (typeof text === 'string' && pattern.test(text)) return
  throw new InputError(`the answer has ${otherwise}: check that the address is that of a Tallystick server`)
}

function remindToStore(io: Io): ExitCode {
  io.stderr.write('tallystick: the secret is only shown once: store it now\n')
  return EXIT.ok
}
