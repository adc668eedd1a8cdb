import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { promisify } from 'node:util'
import pg from 'pg'
import { bareEnvironment } from '../../helpers/bare-environment.ts'
import { freePort } from '../../helpers/free-port.ts'
import { startSuitePostgres } from '../../helpers/postgres.ts'
import { ProductProcess } from '../deployment/product-process.ts'
import { blockWith, markedBlocks } from '../docs/marked-blocks.ts'
import { parse, template } from '../helm/render.ts'
import { type Pod, podOf, type Stored } from './pods.ts'

const PROJECT = join(import.meta.dirname, '..', '..', '..')
const KUBERNETES = '1.36.0'
/**
 * First removes the roles that this Postgres already has. Then creates a master user like the master user of RDS: it is
 * no superuser, and it can grant rds_iam.
 */
const MASTER = `
  drop database tallystick;
  drop role tallystick_owner;
  create role master login createrole createdb password 'master';
  create role rds_iam;
  grant rds_iam to master with admin option`

const blocks = markedBlocks('docs/operate/eks.md')
const block = (language: string, part: string) => blockWith(blocks, language, part)

/**
 * Follows docs/operate/eks.md from its secrets to the verified record. The page's SQL runs on a Postgres whose master
 * user has only the rights of Amazon's master user. Helm renders the page's values. Each pod runs as a process with the
 * manifest's arguments, environment and files. Only addresses and ports differ, because all pods share one loopback.
 */
export async function walkEks(helm: string, dir: string): Promise<string> {
  mkdirSync(dir)
  const secrets = await makeSecrets(dir)
  const postgres = await startSuitePostgres()
  const started: ProductProcess[] = []
  try {
    await makeOwner(postgres.superuserUrl, secrets, block('sql', 'tallystick_owner login createrole'))
    const stored = storedOf(secrets)
    const [port, url] = await addressOf()
    const { hostname, port: databasePort } = new URL(postgres.superuserUrl)
    const objects = await render(helm, [
      // A route needs a host name, but the servers' address here is an IP.
      ...['--set', `publicUrl=${url},ingress.hosts[0]=ledger.example`],
      ...['--set', `database.host=${hostname},database.port=${databasePort}`],
    ])
    const pod = (kind: string, component: string) => podOf(objects, kind, component, stored, dir)
    await runPod(pod('Job', 'migrate'))
    const server = await startPod(pod('Deployment', 'api'), { TALLYSTICK_PORT: port })
    started.push(server, await startPod(pod('Deployment', 'worker')))
    await server.isReadyAt(url)
    const smoke = await runPod(pod('Pod', 'test'), { TALLYSTICK_URL: url })
    assert.match(smoke, /^INTEGRITY_OK .*\n$/m)
    const api = `postgres://tallystick_api@${hostname}:${databasePort}/tallystick`
    const args = ['preflight', '--database', api]
    assert.match(await runPod({ ...pod('Deployment', 'api'), args }, {}, [0, 1]), /login tallystick_api/)
    return await verifyFirstRecord(url, secrets, dir)
  } finally {
    for (const each of started) await each.end('SIGKILL')
    await postgres.stop('immediate')
  }
}

/**
 * Follows docs/operate/eks.md with tokens instead of passwords. Only the migration runs, because it needs no token, and
 * the Postgres of this test accepts none.
 */
export async function migrateForIam(helm: string, dir: string): Promise<string> {
  mkdirSync(dir)
  const secrets = await makeSecrets(dir)
  const postgres = await startSuitePostgres()
  try {
    await makeOwner(
      postgres.superuserUrl,
      secrets,
      block('sql', 'tallystick_owner login createrole'),
      block('sql', 'grant rds_iam'),
    )
    const values = join(dir, 'iam-values.yaml')
    await promisify(execFile)('bash', ['-c', `cat > ${values} <<'END'\n${block('yaml', 'auth: iam')}END`])
    const { hostname, port } = new URL(postgres.superuserUrl)
    const database = `database.host=${hostname},database.port=${port},database.iam.region=eu-central-1`
    const objects = await render(helm, ['--values', values, '--set', database])
    return (await runPod(podOf(objects, 'Job', 'migrate', storedOf(secrets), dir))).trim()
  } finally {
    await postgres.stop('immediate')
  }
}

type Secrets = Readonly<
  Record<'MASTER_KEY' | 'OPERATOR_KEY' | 'OWNER_PASSWORD' | 'API_PASSWORD' | 'WORKER_PASSWORD', string>
>

async function makeSecrets(dir: string): Promise<Secrets> {
  const lines = await bash(`set -a\n${block('sh', 'MASTER_KEY="$(openssl')}\nenv`, { cwd: dir })
  return Object.fromEntries(lines.split('\n').map((line) => line.split('=', 2))) as Secrets
}

function storedOf(secrets: Secrets): Stored {
  return {
    'tallystick-master-key': { 'master-key': secrets.MASTER_KEY },
    'tallystick-operator-key': { 'operator-key': secrets.OPERATOR_KEY },
    'tallystick-database-owner': { password: secrets.OWNER_PASSWORD },
    'tallystick-database-api': { password: secrets.API_PASSWORD },
    'tallystick-database-worker': { password: secrets.WORKER_PASSWORD },
    'rds-ca': { 'ca.pem': rootCertificates[0]! },
  }
}

async function makeOwner(superuserUrl: string, { OWNER_PASSWORD }: Secrets, ...sql: string[]): Promise<void> {
  await queries(Object.assign(new URL(superuserUrl), { pathname: '/postgres' }).href, MASTER)
  const master = Object.assign(new URL(superuserUrl), {
    username: 'master',
    password: 'master',
    pathname: '/postgres',
  }).href
  const statements = sql.join('').replaceAll(":'owner_password'", pg.escapeLiteral(OWNER_PASSWORD))
  await queries(master, statements)
}

/** Sends the statements one by one, as psql does, because a database cannot be created within a transaction. */
async function queries(connectionString: string, statements: string): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    for (const statement of statements.split(';').filter((each) => each.trim() !== ''))
      await client.query(statement)
  } finally {
    await client.end()
  }
}

async function render(helm: string, args: readonly string[]) {
  const values = join(PROJECT, 'helm', 'tallystick', 'ci', 'eks-values.yaml')
  const { code, stdout, stderr } = await template({ name: 'Helm', path: helm }, KUBERNETES, [
    '--values',
    values,
    ...args,
  ])
  assert.equal(code, 0, stderr)
  return parse(stdout)
}

async function addressOf(): Promise<[port: string, url: string]> {
  const port = await freePort()
  return [port, `http://127.0.0.1:${port}`]
}

async function startPod(pod: Pod, env: Record<string, string> = {}): Promise<ProductProcess> {
  return launch(pod, { TALLYSTICK_METRICS_PORT: await freePort(), ...env })
}

async function runPod(pod: Pod, env: Record<string, string> = {}, codes = [0]): Promise<string> {
  const started = launch(pod, env)
  const code = await started.ended
  assert.ok(codes.includes(code as number), `${pod.args[0]} ended with ${code}: ${started.said()}`)
  return started.said()
}

function launch({ args, env }: Pod, more: Record<string, string>): ProductProcess {
  return new ProductProcess({
    script: 'command',
    args,
    env: { ...bareEnvironment(), ...env, ...more },
    output: 'memory',
  })
}

async function verifyFirstRecord(url: string, { OPERATOR_KEY }: Secrets, dir: string): Promise<string> {
  const pasted = ['first-ledger.json', 'kept.note', 'ledger.ndjson'].map((part) =>
    block('sh', `> ${part}`.replace('> ledger', '-o ledger')),
  )
  const text = pasted.join('\n').replaceAll('https://ledger.example', url)
  // The reader is in a checkout with its packages, but this shell is in another folder. So `npx` is replaced.
  const npx = `npx() { shift; node ${join(PROJECT, 'cli', 'tallystick.ts')} "$@"; }`
  const output = await bash(`${npx}\n${text}`, { cwd: dir, env: { OPERATOR_KEY, XDG_CONFIG_HOME: dir } })
  const verdicts = output.split('\n').filter((line) => /^(INTEGRITY|PROOF)_/.test(line))
  assert.match(verdicts[0]!, /^INTEGRITY_OK entries=5 records=1 keys=self-asserted checkpoint=given /)
  assert.match(verdicts[1]!, /^PROOF_OK /)
  return verdicts[0]!
}

async function bash(
  text: string,
  { cwd, env }: { cwd: string; env?: Record<string, string> },
): Promise<string> {
  const options = { cwd, env: { ...bareEnvironment(), ...env } }
  const { stdout } = await promisify(execFile)('bash', ['--norc', '-euc', text], options)
  return stdout
}
