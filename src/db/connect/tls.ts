import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { CA_FILE_BYTES_MAX } from '../limits.ts'

/**
 * Modes of `sslmode` (docs/databases.md), with the meanings that Postgres gives them:
 *
 * - `disable`: no TLS. - `require`: TLS without a check of the certificate, unless a CA is named: then as `verify-ca`. -
 * `verify-ca`: a named authority has signed the certificate. - `verify-full`: a trusted authority has, for this host.
 *
 * `prefer` and `allow` are refused: an attacker who can drop a packet decides whether they encrypt.
 */
const TLS_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const
type TlsMode = (typeof TLS_MODES)[number]

export type Tls = {
  readonly mode: TlsMode
  /** CA that must have signed the certificate; null: those that Node trusts by itself. */
  readonly caFile: string | null
  /** As pg takes it. */
  readonly options: false | ConnectionOptions
}

/** `parameters`: of the URL. `caFile`: the environment's, over which the URL's own `sslrootcert` goes. */
export function chooseTls(parameters: URLSearchParams, host: string, caFile: string | null): Tls {
  const mode = parseMode(parameters.get('sslmode') ?? (isLocal(host) ? 'disable' : 'verify-full'))
  const named = parameters.get('sslrootcert') ?? caFile
  const trusted = named === 'system' ? null : named
  if (mode === 'disable') return { mode, caFile: null, options: false }
  if (mode === 'require' && named === 'system') {
    throw new Error(
      'sslmode=require with sslrootcert=system would look at no certificate: say sslmode=verify-full, or take sslrootcert away',
    )
  }
  if (mode === 'verify-ca' && trusted === null) {
    throw new Error(
      'sslmode=verify-ca needs an authority of its own, because anybody gets a certificate of a public one: name its ' +
        'file in TALLYSTICK_DATABASE_CA_FILE, or say sslmode=verify-full',
    )
  }
  const options = {
    ...(trusted !== null && { ca: readAuthorities(trusted) }),
    // Set in every mode, because NODE_TLS_REJECT_UNAUTHORIZED decides if it is left out.
    rejectUnauthorized: mode !== 'require' || trusted !== null,
    ...(mode !== 'verify-full' && { checkServerIdentity: () => undefined }),
  }
  return { mode, caFile: trusted, options }
}

/** Whether the server proves nothing about itself: anybody on the way could be it. */
export function isUnverified({ mode, caFile }: Tls, host: string): boolean {
  return !isLocal(host) && (mode === 'disable' || (mode === 'require' && caFile === null))
}

/** This machine, by a socket or the loopback: bytes sent there pass no network. */
function isLocal(host: string): boolean {
  if (host.startsWith('/') || host === 'localhost' || host === '::1') return true
  return isIP(host) === 4 && host.startsWith('127.')
}

function parseMode(text: string): TlsMode {
  const mode = TLS_MODES.find((known) => known === text)
  if (mode) return mode
  throw new Error(`sslmode=${text.slice(0, 32)} is none that is known: say one of ${TLS_MODES.join(', ')}`)
}

/** Throws where Node would trust nobody, and say so only as it connects. */
function readAuthorities(file: string): string[] {
  const text = readBundle(file)
  const found = text.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? []
  if (found.length === 0) throw new Error(`${file} holds no certificate: it must be a bundle in PEM`)
  for (const [i, pem] of found.entries()) {
    try {
      new X509Certificate(pem)
    } catch {
      throw new Error(
        `certificate ${i + 1} of ${found.length} in ${file} is not a certificate: get the bundle anew`,
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
