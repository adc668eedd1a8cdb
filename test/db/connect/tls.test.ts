import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { runPreflight } from '../../../cli/preflight/preflight.ts'
import { withClient } from '../../../src/db/connect/client.ts'
import { Database } from '../../../src/db/connect/connection.ts'
import { chooseTls } from '../../../src/db/connect/tls.ts'
import { migrate } from '../../../src/db/schema/migrate.ts'
import { verifyInThread } from '../../../src/followers/audit/verify-in-thread.ts'
import { type Config, parseConfig } from '../../../src/run/config.ts'
import { getOwnerDatabase } from '../../../src/run/owner-database.ts'
import { startServer } from '../../../src/run/server.ts'
import { startWorker } from '../../../src/run/worker.ts'
import { makeMasterKey } from '../../../src/signing/master-key.ts'
import { createTestDatabase } from '../../helpers/database.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { startTlsPostgres, type TlsPostgres, whyNoCertificates } from '../../helpers/tls-postgres.ts'

const skip = whyNoCertificates() ?? false

test('without sslmode, TLS is verify-full for a remote host and disabled for a local one', () => {
  const modeFor = (host: string) => chooseTls(new URLSearchParams(), host, null).mode
  for (const host of ['db.example', '10.0.0.7', '127.0.0.1.example', 'fd00::1'])
    assert.equal(modeFor(host), 'verify-full')
  for (const host of ['localhost', '127.0.0.1', '127.9.9.9', '::1', '/var/run/postgresql'])
    assert.equal(modeFor(host), 'disable')
})

test('unknown, duplicate or misleading URL parameters are refused with advice', () => {
  const message = (query: string, caFile: string | null = null) => {
    try {
      new Database(`postgres://api:hush@db.example/ledgers?${query}`, { caFile, password: null })
    } catch (error) {
      return (error as Error).message
    }
    return assert.fail(`${query} was taken`)
  }
  for (const mode of ['prefer', 'allow', 'no-verify', ''])
    assert.match(
      message(`sslmode=${mode}`),
      /is unknown: use one of disable, require, verify-ca, verify-full/,
    )
  assert.match(message('sslmode=verify-ca'), /needs a private authority.*TALLYSTICK_DATABASE_CA_FILE/)
  assert.match(message('ssl=true'), /the URL has the unknown parameter ssl: remove it/)
  assert.match(message('sslmode=disable&sslmode=verify-full'), /the URL has the parameter sslmode twice/)
  assert.match(
    message('sslmode=require&sslrootcert=system'),
    /would check no certificate: write sslmode=verify-full/,
  )
  assert.match(message('channel_binding=require'), /the unknown parameter channel_binding/)
  assert.doesNotMatch(message('ssl=true'), /hush/)
  assert.throws(
    () => new Database('postgres://api:hu%sh@db.example/ledgers'),
    /^Error: the database’s URL has a % that is not escaped: write %25 instead$/,
  )
  assert.match(message('', '/nowhere/ca.pem'), /cannot be read: ENOENT/)
  const file = join(temporaryDir(), 'ca.pem')
  writeFileSync(file, 'no certificate')
  assert.match(message('', file), /has no certificate: it must be a bundle in PEM/)
  writeFileSync(file, '-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----\n')
  assert.match(message('', file), /certificate 1 of 1 in .* is not a certificate: download the bundle again/)
})

test('rejectUnauthorized is set explicitly: true for verify-full, false for require', () => {
  const isLookedAt = (query: string) => {
    const { options } = chooseTls(new URLSearchParams(query), 'db.example', null)
    return options !== false && options.rejectUnauthorized
  }
  assert.equal(isLookedAt(''), true)
  assert.equal(isLookedAt('sslmode=verify-full'), true)
  assert.equal(isLookedAt('sslmode=require'), false)
})

test('isUnverified is true for require and disable of a remote host, false for a local host', () => {
  const isUnverified = (url: string) => new Database(url).isUnverified
  assert.equal(isUnverified('postgres://api@db.example/ledgers?sslmode=require'), true)
  assert.equal(isUnverified('postgres://api@db.example/ledgers?sslmode=disable'), true)
  assert.equal(isUnverified('postgres://api@db.example/ledgers'), false)
  assert.equal(isUnverified('postgres://api@127.0.0.1/ledgers'), false)
})

test('an operator’s command warns of a database not verified by a certificate', (t) => {
  const error = t.mock.method(console, 'error', () => {})
  const from = (url: string) => getOwnerDatabase(parseConfig({ DATABASE_URL: url }))
  from('postgres://owner:hush@db.example/ledgers')
  assert.equal(error.mock.callCount(), 0)
  from('postgres://owner:hush@db.example/ledgers?sslmode=require')
  assert.deepEqual(
    error.mock.calls.map(({ arguments: said }) => said),
    [
      [
        'the database owner@db.example:5432/ledgers is not authenticated by a certificate: see sslmode in docs/operate/postgres.md',
      ],
    ],
  )
})

test('with TLS', { skip }, async (t) => {
  let postgres: TlsPostgres
  before(async () => {
    postgres = await startTlsPostgres(t)
  })

  /** Returns whether the connection is encrypted. Throws the error of the connection. */
  const connect = (mode: string, { host = 'localhost', ca = null as string | null } = {}) => {
    const url = new URL(postgres.ownerUrl)
    url.hostname = host
    url.searchParams.set('sslmode', mode)
    const database = new Database(url.href, { caFile: ca, password: null })
    return withClient(database, async (client) => {
      const { rows } = await client.query<{ ssl: boolean }>(
        'select ssl from pg_stat_ssl where pid = pg_backend_pid()',
      )
      return rows[0]!.ssl
    })
  }

  await t.test('verify-full needs the configured authority and the certificate’s host name', async () => {
    const ca = postgres.caFile
    assert.equal(await connect('verify-full', { ca }), true)
    await assert.rejects(connect('verify-full'), /no trusted authority.*TALLYSTICK_DATABASE_CA_FILE/)
    await assert.rejects(
      connect('verify-full', { ca: postgres.otherCaFile }),
      /none of the authorities in .*other\.pem has signed its certificate/,
    )
    await assert.rejects(
      connect('verify-full', { ca, host: '127.0.0.1' }),
      /write the host name of the certificate in the URL/,
    )
  })

  await t.test('verify-ca ignores the host name', async () => {
    assert.equal(await connect('verify-ca', { ca: postgres.caFile, host: '127.0.0.1' }), true)
    await assert.rejects(connect('verify-ca', { ca: postgres.otherCaFile }), /none of the authorities/)
  })

  await t.test('require encrypts, and verifies the authority where one is named', async () => {
    assert.equal(await connect('require', { host: '127.0.0.1' }), true)
    assert.equal(await connect('require', { host: '127.0.0.1', ca: postgres.caFile }), true)
    await assert.rejects(connect('require', { ca: postgres.otherCaFile }), /none of the authorities/)
  })

  await t.test(
    'disable does not encrypt, and a database that requires TLS gives an error about sslmode',
    async () => {
      await assert.rejects(connect('disable'), /whether it accepts connections without TLS \(sslmode\)/)
    },
  )

  await t.test('sslrootcert of the URL takes precedence over the environment', async () => {
    const url = new URL(postgres.ownerUrl)
    url.hostname = 'localhost'
    url.search = new URLSearchParams({ sslmode: 'verify-full', sslrootcert: postgres.caFile }).toString()
    const options = { caFile: postgres.otherCaFile, password: null }
    await withClient(new Database(url.href, options), (client) => client.query('select'))
  })

  await t.test('a certificate that is too old is refused', async () => {
    await postgres.show('DNS:localhost', -1)
    await assert.rejects(connect('verify-full', { ca: postgres.caFile }), /has expired: renew it/)
    await postgres.show('DNS:localhost', 2)
  })

  await t.test('require and verify-full refuse a database without TLS', async (t) => {
    const plain = new URL((await createTestDatabase(t)).apiUrl)
    for (const mode of ['require', 'verify-full']) {
      plain.search = `sslmode=${mode}`
      await assert.rejects(
        withClient(plain.href, (client) => client.query('select')),
        /it does not accept TLS: turn TLS on there \(ssl = on\), or write sslmode=disable/,
      )
    }
  })

  await t.test('server, worker, verifier and preflight all connect with TLS', async () => {
    const config = await migrateAndConfigure(postgres)
    const server = await startServer(config)
    const worker = await startWorker(config)
    assert.equal((await fetch(`${server.url}/readyz`)).status, 200)
    const ledger = await createLedger(server.url)
    const options = { ...config.database }
    const report = await verifyInThread(
      { url: config.workerUrl!, options, ledger, checkpoints: [] },
      () => {},
      new AbortController().signal,
      null,
    )
    assert.equal(report!.ok, true)
    const preflight = await runPreflight({
      ...PREFLIGHT,
      database: new Database(config.workerUrl!, options),
    })
    assert.equal(preflight.pooler, 'none')
    await worker.close()
    await server.close()
  })
})

const OPERATOR_KEY = `tlo_${'5'.repeat(32)}`

async function migrateAndConfigure({ ownerUrl, caFile }: TlsPostgres): Promise<Config> {
  const url = (user: string, password: string) =>
    Object.assign(new URL(ownerUrl), {
      hostname: 'localhost',
      username: user,
      password,
      search: 'sslmode=verify-full',
    }).href
  const passwords = { api: 'tls-api', worker: 'tls-worker' }
  const owner = new URL(ownerUrl)
  const options = { caFile, password: null }
  const masterKey = new Uint8Array(32).fill(5)
  await migrate({
    ownerUrl: new Database(url(owner.username, owner.password), options),
    masterKey: makeMasterKey(masterKey),
    passwords,
  })
  return parseConfig({
    TALLYSTICK_API_DATABASE_URL: url('tallystick_api', passwords.api),
    TALLYSTICK_WORKER_DATABASE_URL: url('tallystick_worker', passwords.worker),
    TALLYSTICK_DATABASE_CA_FILE: caFile,
    TALLYSTICK_MASTER_KEY: Buffer.from(masterKey).toString('hex'),
    TALLYSTICK_OPERATOR_KEY: OPERATOR_KEY,
    TALLYSTICK_PORT: '0',
    TALLYSTICK_DATA: temporaryDir(),
    TALLYSTICK_LOG_LEVEL: 'silent',
  })
}

async function createLedger(url: string): Promise<string> {
  const response = await fetch(`${url}/v1/ledgers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${OPERATOR_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'over TLS' }),
  })
  assert.equal(response.status, 201)
  return ((await response.json()) as { ledger: { id: string } }).ledger.id
}

const PREFLIGHT = {
  gateMs: 5,
  server: null,
  replica: null,
  now: Date.now,
} as const
