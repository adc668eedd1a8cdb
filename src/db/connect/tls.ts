import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { CA_FILE_BYTES_MAX } from '../limits.ts'

/**
 * Modes of `sslmode` (docs/operate/postgres.md), with Postgres' meanings:
 *
 * - `disable`: no TLS.
 * - `require`: TLS without a check of the certificate. If a CA is named, `require` means `verify-ca`.
 * - `verify-ca`: a named authority has signed the certificate.
 * - `verify-full`: a trusted authority has signed the certificate for this host.
 *
 * `prefer` and `allow` are refused, because an attacker who can drop a packet could turn encryption off.
 */
const TLS_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const
type TlsMode = (typeof TLS_MODES)[number]

export type Tls = {
  readonly mode: TlsMode
  /**
   * CA file with the authorities that may sign the certificate. null if the authorities that Node trusts by default may
   * sign it.
   */
  readonly caFile: string | null
  readonly options: false | ConnectionOptions
}

/**
 * Chooses TLS from the URL's `parameters`. `caFile` is from the environment; the URL's `sslrootcert` overrides it.
 *
 * Throws on unknown modes, unsafe combinations and unreadable CA files.
 */
export function chooseTls(parameters: URLSearchParams, host: string, caFile: string | null): Tls {
  const mode = parseMode(parameters.get('sslmode') ?? (isLocal(host) ? 'disable' : 'verify-full'))
  const named = parameters.get('sslrootcert') ?? caFile
  const trusted = named === 'system' ? null : named
  if (mode === 'disable') return { mode, caFile: null, options: false }
  if (mode === 'require' && named === 'system') {
    throw new Error(
      'sslmode=require with sslrootcert=system would check no certificate: write sslmode=verify-full, or remove sslrootcert',
    )
  }
  if (mode === 'verify-ca' && trusted === null) {
    throw new Error(
      'sslmode=verify-ca needs a private authority, because anybody can get a certificate from a public one: name its ' +
        'file in TALLYSTICK_DATABASE_CA_FILE, or write sslmode=verify-full',
    )
  }
  const options = {
    ...(trusted !== null && { ca: readAuthorities(trusted) }),
    // Always set, because otherwise NODE_TLS_REJECT_UNAUTHORIZED would decide.
    rejectUnauthorized: mode !== 'require' || trusted !== null,
    ...(mode !== 'verify-full' && { checkServerIdentity: () => undefined }),
  }
  return { mode, caFile: trusted, options }
}

/**
 * Returns true if the server's identity is not checked. Anybody on the network path could then impersonate the server.
 */
export function isUnverified({ mode, caFile }: Tls, host: string): boolean {
  return !isLocal(host) && (mode === 'disable' || (mode === 'require' && caFile === null))
}

/** Returns true if `host` is this machine (a Unix socket or a loopback address). The bytes then pass no network. */
function isLocal(host: string): boolean {
  if (host.startsWith('/') || host === 'localhost' || host === '::1') return true
  return isIP(host) === 4 && host.startsWith('127.')
}

function parseMode(text: string): TlsMode {
  const mode = TLS_MODES.find((known) => known === text)
  if (mode) return mode
  throw new Error(`sslmode=${text.slice(0, 32)} is unknown: use one of ${TLS_MODES.join(', ')}`)
}

/**
 * Reads the CA bundle. Throws if the bundle has no certificate or an invalid certificate. Node would report such an
 * error only when it connects.
 */
function readAuthorities(file: string): string[] {
  const text = readBundle(file)
  const found = text.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? []
  if (found.length === 0) throw new Error(`${file} has no certificate: it must be a bundle in PEM`)
  for (const [i, pem] of found.entries()) {
    try {
      new X509Certificate(pem)
    } catch {
      throw new Error(
        `certificate ${i + 1} of ${found.length} in ${file} is not a certificate: download the bundle again`,
      )
    }
  }
  return found
}

function readBundle(file: string): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(`the bundle of authorities cannot be read: ${(error as Error).message}`)
  }
  if (Buffer.byteLength(text) <= CA_FILE_BYTES_MAX) return text
  throw new Error(
    `${file} is larger than ${CA_FILE_BYTES_MAX} bytes: it must be a bundle of authorities in PEM`,
  )
}
