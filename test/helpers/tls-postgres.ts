import { execFileSync } from 'node:child_process'
import { chownSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { TestContext } from 'node:test'
import { withClient } from '../../src/db/connect/client.ts'
import { clusterDir } from '../../src/run/postgres/layout.ts'
import { resolveRunAs } from '../../src/run/postgres/run-as.ts'
import { startTestPostgres } from './database.ts'
import { temporaryDir } from './postgres.ts'

export function whyNoCertificates(): string | null {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' })
    return null
  } catch {
    return 'openssl is not installed: it makes the certificates of this test'
  }
}

export type TlsPostgres = {
  readonly ownerUrl: string
  readonly superuserUrl: string
  /**
   * Files with the certificates of two authorities: the authority that signed the server's certificate, and an
   * unrelated authority.
   */
  readonly caFile: string
  readonly otherCaFile: string
  /** Replaces the server's certificate for new connections. */
  show(names: string, days: number): Promise<void>
}

/** Starts a Postgres that requires TLS from all logins except the superuser. */
export async function startTlsPostgres(t: TestContext): Promise<TlsPostgres> {
  const dir = temporaryDir()
  const path = (name: string) => join(dir, name)
  for (const name of ['ca', 'other']) makeAuthority(path(name))
  const show = (names: string, days: number) => {
    makeCertificate({ path: path('server'), authority: path('ca'), names, days })
    ownByPostgres(path('server.key'))
    ownByPostgres(path('server.pem'))
  }
  show('DNS:localhost', 2)
  const server = await startTestPostgres(t, {
    settings: { ssl: 'on', ssl_cert_file: path('server.pem'), ssl_key_file: path('server.key') },
  })
  const hba = join(clusterDir(server.dataDir), 'pg_hba.conf')
  const rules = 'host all postgres all scram-sha-256\nhostssl all all all scram-sha-256\n'
  writeFileSync(hba, rules)
  const reload = () =>
    withClient(server.superuserUrl, (client) => client.query('select pg_reload_conf(), pg_sleep(0.1)'))
  await reload()
  return {
    ownerUrl: server.ownerUrl,
    superuserUrl: server.superuserUrl,
    caFile: path('ca.pem'),
    otherCaFile: path('other.pem'),
    async show(names, days) {
      show(names, days)
      await reload()
    },
  }
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

function makeAuthority(path: string): void {
  openssl(
    'req',
    '-x509',
    ...KEY,
    '-keyout',
    `${path}.key`,
    '-out',
    `${path}.pem`,
    '-subj',
    `/CN=${basename(path)}`,
    '-days',
    '2',
  )
}

function makeCertificate(of: { path: string; authority: string; names: string; days: number }): void {
  const { path, authority, names, days } = of
  openssl('req', ...KEY, '-keyout', `${path}.key`, '-out', `${path}.csr`, '-subj', '/CN=database')
  writeFileSync(`${path}.ext`, `subjectAltName=${names}\n`)
  const signed = [
    '-CA',
    `${authority}.pem`,
    '-CAkey',
    `${authority}.key`,
    '-days',
    `${days}`,
    '-extfile',
    `${path}.ext`,
  ]
  openssl('x509', '-req', '-in', `${path}.csr`, '-out', `${path}.pem`, ...signed)
}

function openssl(...argv: string[]): void {
  execFileSync('openssl', argv, { stdio: 'ignore' })
}

/** Makes the server's user the owner of a key file. Postgres refuses a key file that others may read. */
function ownByPostgres(file: string): void {
  const user = resolveRunAs('/nonexistent', () => {})
  writeFileSync(file, readFileSync(file), { mode: 0o600 })
  if (user !== null) chownSync(file, user.uid, user.gid)
}
