import assert from 'node:assert/strict'
import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import pg from 'pg'
import { ROOT } from '../../../tools/bundle.ts'
import { bareEnvironment } from '../../helpers/bare-environment.ts'
import { endsWithTests } from '../../helpers/children.ts'
import { startTestPostgres } from '../../helpers/database.ts'
import { freePort } from '../../helpers/free-port.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'
import { until } from '../../helpers/wait.ts'
import { type Part, partOfService, partOfUnit, readCompose, UNITS } from './units.ts'

const COMMAND = join(ROOT, 'src', 'run', 'command.ts')
const run = promisify(execFile)

test('our containers have no needless permissions, and read their secrets from files', () => {
  const { services, secrets, volumes, networks } = readCompose()
  assert.deepEqual(Object.keys(services), ['postgres', 'migrate', 'server', 'worker', 'smoke'])
  for (const [name, service] of Object.entries(services)) {
    assert.deepEqual(
      [service.read_only, service.cap_drop, service.security_opt],
      [true, ['ALL'], ['no-new-privileges:true']],
      name,
    )
    for (const secret of service.secrets) assert.ok(secrets[secret], `${name}: ${secret}`)
    for (const network of service.networks) assert.ok(network in networks, `${name}: ${network}`)
    for (const [variable, value] of Object.entries(service.environment)) {
      assert.ok(!/(KEY|PASSWORD)$/.test(variable), `${name}: ${variable}`)
      if (value.startsWith('/run/secrets/')) assert.ok(service.secrets.includes(basename(value)), variable)
    }
    for (const port of service.ports ?? []) assert.match(port, /^127\.0\.0\.1:/)
  }
  for (const name of ['server', 'worker']) {
    assert.deepEqual(services[name]!.depends_on, { migrate: { condition: 'service_completed_successfully' } })
    assert.equal(services[name]!.healthcheck!.test[1], 'node')
  }
  assert.deepEqual(Object.keys(volumes), ['postgres', 'checkpoints'])
})

test('systemd accepts the units', { skip: !hasSystemd() }, (t) => {
  const { directory } = temporaryFiles(t)
  const units = UNITS.map((file) => {
    const unit = join(directory, basename(file))
    const text = readFileSync(file, 'utf8').replaceAll('/opt/tallystick', ROOT)
    writeFileSync(
      unit,
      text.replace(/^EnvironmentFile=.*/m, `EnvironmentFile=${ROOT}/deploy/systemd/tallystick.env`),
    )
    return unit
  })
  const said = execFileSync('systemd-analyze', ['verify', '--man=no', ...units], {
    encoding: 'utf8',
    stdio: 'pipe',
  })
  assert.equal(said, '')
})

test('the settings of Compose and of the units start a deployment that passes its smoke test', async (t) => {
  const postgres = await startTestPostgres(t)
  const client = new pg.Client({ connectionString: postgres.superuserUrl })
  await client.connect()
  const { services } = readCompose()
  const values = { TALLYSTICK_PUBLIC_URL: 'http://ledger.example' }
  const compose = ['migrate', 'server', 'worker', 'smoke'].map((name) =>
    partOfService(services[name]!, values),
  )
  const owner = new URL(postgres.ownerUrl)
  // The owner is a superuser, as the first user of the Postgres image is.
  await client.query('alter role tallystick_owner superuser')
  await deploy(t, compose, owner)
  await client.query('alter role tallystick_owner nosuperuser createrole')
  await client.query('grant tallystick_api, tallystick_worker to tallystick_owner with admin option')
  await deploy(t, [...UNITS.map(partOfUnit), compose[3]!], owner)
  await client.end()
})

async function deploy(t: TestContext, parts: readonly Part[], owner: URL): Promise<void> {
  const { directory } = temporaryFiles(t)
  const secrets: Readonly<Record<string, string>> = {
    'owner-password': decodeURIComponent(owner.password),
    'api-password': 'password-of-servers',
    'worker-password': 'password-of-workers',
    'master-key': '7'.repeat(64),
    'operator-key': `tlo_${'7'.repeat(32)}`,
  }
  const ports = { server: await freePort(), worker: await freePort() }
  const metrics = { server: await freePort(), worker: await freePort() }
  const [migrate, server, worker, smoke] = parts.map((part) => {
    const folder = join(directory, part.command)
    mkdirSync(folder)
    const place = (path: string) => {
      const login = part.command === 'server' ? 'api' : 'worker'
      const name = basename(path) === 'database-password' ? `${login}-password` : basename(path)
      const file = join(folder, basename(path))
      writeFileSync(file, `${secrets[name]!}\n`, { mode: 0o440 })
      return file
    }
    const files = new Map(part.secrets.map((path) => [path, place(path)]))
    const env = Object.entries(part.env).map(([name, value]) => {
      if (name.endsWith('_FILE')) return [name, files.get(value)!]
      if (name.endsWith('DATABASE_URL')) return [name, value.replace(/@[^/]+\//, `@${owner.host}/`)]
      return [name, value.replace('%S', folder)]
    })
    const own = { TALLYSTICK_HOST: '127.0.0.1', TALLYSTICK_LOG_LEVEL: 'warn', TALLYSTICK_DATA: folder }
    return { command: part.command, env: { ...bareEnvironment(), ...own, ...Object.fromEntries(env) } }
  })
  await run(process.execPath, [COMMAND, 'migrate'], { env: migrate!.env })
  const running = [server!, worker!].map(({ command, env }) => {
    const its = command as keyof typeof ports
    const more = { TALLYSTICK_PORT: ports[its], TALLYSTICK_METRICS_PORT: metrics[its] }
    return endsWithTests(
      spawn(process.execPath, [COMMAND, command], { env: { ...env, ...more }, stdio: 'inherit' }),
    )
  })
  for (const port of Object.values(metrics))
    await until(async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.ok ?? false)
  const url = `http://127.0.0.1:${ports.server}`
  const { stdout } = await run(process.execPath, [COMMAND, 'smoke'], {
    env: { ...smoke!.env, TALLYSTICK_URL: url },
  })
  assert.match(stdout, /^INTEGRITY_OK /m)
  for (const child of running) {
    child.kill('SIGINT')
    await once(child, 'exit')
  }
}

function hasSystemd(): boolean {
  try {
    execFileSync('systemd-analyze', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
