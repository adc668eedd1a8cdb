import type { Tls } from './tls.ts'

/** A connection could not be made, so nothing was sent. The message says what to do and never contains the password. */
export class ConnectError extends Error {
  /** Error code of the network or of TLS, or a SQLSTATE. */
  readonly code: string | undefined

  constructor(message: string, cause: Error) {
    super(message, { cause })
    this.name = 'ConnectError'
    this.code = (cause as { code?: string }).code
  }

  get isLoginRefused(): boolean {
    return this.code === '28P01' || this.code === '28000'
  }
}

export function explainConnectFailure(error: Error, where: string, tls: Tls): ConnectError {
  if (error instanceof ConnectError) return error
  // For a host with several addresses Node throws an error without a message.
  const text = error.message || (error as { code?: string }).code || error.name
  const advice = adviseOn(error, tls)
  return new ConnectError(`cannot connect to the database ${where}: ${text}${advice && `: ${advice}`}`, error)
}

function adviseOn(error: Error, tls: Tls): string {
  const { code = '', message } = error as Error & { code?: string }
  const advice = BY_CODE[code]
  if (advice !== undefined) return typeof advice === 'string' ? advice : advice(tls)
  const found = BY_MESSAGE.find(([pattern]) => pattern.test(message))
  return found ? found[1] : ''
}

const CHECK_LOGIN = 'check user and password'

/** Advice by error code. Codes that need no advice are missing. */
const BY_CODE: Readonly<Record<string, string | ((tls: Tls) => string)>> = {
  ECONNREFUSED: 'is Postgres running there?',
  ENOTFOUND: 'its host name is not known',
  EAI_AGAIN: 'its host name cannot be looked up at the moment',
  '28P01': CHECK_LOGIN,
  '28000': ({ mode }) =>
    mode === 'disable'
      ? `${CHECK_LOGIN}, and whether it takes connections without TLS (sslmode)`
      : CHECK_LOGIN,
  '3D000': 'make the database first',
  '42501':
    'let the database’s owner run `npm run op -- migrate`, or `grant connect on database … to …` (docs/operate/postgres.md)',
  '53300':
    'there are more processes than max_connections has room for (docs/operate/settings.md#connections)',
  '08P01': 'if that is a pooler, see docs/operate/postgres.md#poolers',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'name the host in the URL as its certificate does (of Aurora, the cluster’s endpoint, no alias). If that is the name, somebody ' +
    'else answers: something in between shows a certificate of its own',
  CERT_HAS_EXPIRED:
    'its certificate, or one above it, is too old: renew it, or get the bundle of authorities anew',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet: is this machine’s clock right?',
  ...Object.fromEntries(
    [
      'SELF_SIGNED_CERT_IN_CHAIN',
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'UNABLE_TO_GET_ISSUER_CERT',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'CERT_SIGNATURE_FAILURE',
    ].map((code) => [code, adviseOnAuthority]),
  ),
}

function adviseOnAuthority({ caFile }: Tls): string {
  if (caFile === null)
    return 'no authority that is trusted has signed its certificate: name theirs in TALLYSTICK_DATABASE_CA_FILE (docs/operate/postgres.md)'
  return `none of the authorities in ${caFile} has signed its certificate: get the right bundle`
}

const BY_MESSAGE: readonly (readonly [RegExp, string])[] = [
  [
    /does not support SSL/,
    'it takes no TLS: turn it on there (ssl = on), or say sslmode=disable in the URL, if the network in between is yours',
  ],
  [/asks for a password/, 'docs/operate/postgres.md says where from'],
  [/timeout|Connection terminated/, 'is it reachable from here: address, firewall, security group?'],
]
