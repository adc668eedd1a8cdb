import type { Tls } from './tls.ts'

/**
 * Thrown if a connection could not be made. In this case nothing was sent. The message says what to do and never
 * contains the password.
 */
export class ConnectError extends Error {
  /** Error code of the network or of TLS, or an SQLSTATE of Postgres. */
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
  // For a host with several addresses, Node throws an error without a message. The code or the name then replaces the
  // message.
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

/** Maps error codes to advice. Codes that need no advice are missing. */
const BY_CODE: Readonly<Record<string, string | ((tls: Tls) => string)>> = {
  ECONNREFUSED: 'check that Postgres runs there',
  ENOTFOUND: 'its host name is unknown: check the URL',
  EAI_AGAIN: 'its host name cannot be resolved at the moment',
  '28P01': CHECK_LOGIN,
  '28000': ({ mode }) =>
    mode === 'disable'
      ? `${CHECK_LOGIN}, and whether it accepts connections without TLS (sslmode)`
      : CHECK_LOGIN,
  '3D000': 'create the database first',
  '42501':
    'let the database’s owner run `npm run op -- migrate`, or `grant connect on database … to …` (docs/operate/postgres.md)',
  '53300': 'raise max_connections, or run fewer processes (docs/operate/settings.md#connections)',
  '08P01': 'if that is a pooler, see docs/operate/postgres.md#poolers',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'write the host name of the certificate in the URL (for Aurora the cluster’s endpoint, not an alias). If it is that name already, ' +
    'something in between answers with its own certificate',
  CERT_HAS_EXPIRED:
    'its certificate, or an authority’s, has expired: renew it, or download the bundle of authorities again',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet: check this machine’s clock',
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
    return 'no trusted authority has signed its certificate: name a file with its authority in TALLYSTICK_DATABASE_CA_FILE (docs/operate/postgres.md)'
  return `none of the authorities in ${caFile} has signed its certificate: get the right bundle`
}

const BY_MESSAGE: readonly (readonly [RegExp, string])[] = [
  [
    /does not support SSL/,
    'it does not accept TLS: turn TLS on there (ssl = on), or write sslmode=disable in the URL if you trust the network in between',
  ],
  [/asks for a password/, 'docs/operate/postgres.md says where to set it'],
  [
    /timeout|Connection terminated/,
    'check that it can be reached from here: address, firewall, security group',
  ],
]
