import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { temporaryDirInMemory } from '../../helpers/postgres.ts'
import { runCli } from '../../helpers/run-cli.ts'
import { Deployment, type Ledger, OPERATOR_KEY } from '../deployment/deployment.ts'

const WAIT_MS_MAX = 20_000

test('a ledger of an older backup is closed until the operator acknowledges the loss', async (t) => {
  const dir = temporaryDirInMemory()
  const deployment = await Deployment.start({ dir, apis: 1, worker: true })
  t.after(() => deployment.stop())
  const ledger = await deployment.createLedger('restored')
  for (let n = 0; n < 3; n++) assert.equal(await notarize(deployment, ledger), 201)

  const cluster = join(dir, 'postgres', 'cluster')
  const backup = join(dir, 'backup')
  await deployment.killPostgres('server')
  copyFolder(cluster, backup)
  await deployment.startPostgres()
  await until('records are taken again', async () => (await notarize(deployment, ledger)) === 201)
  for (let n = 0; n < 5; n++) assert.equal(await notarize(deployment, ledger), 201)
  const size = (await entriesOf(deployment, ledger)).length
  const newer = join(dir, 'newer.note')
  await until('a checkpoint covers all of it', async () => {
    const note = await latestCheckpoint(deployment, ledger)
    writeFileSync(newer, note)
    return note.split('\n')[1] === `${size}`
  })
  assert.match((await verify(deployment, ledger, newer)).stdout, /^INTEGRITY_OK .*checkpoint=given/m)

  await deployment.killPostgres('server')
  rmSync(cluster, { recursive: true })
  copyFolder(backup, cluster)
  await deployment.startPostgres()
  await until('the worker has closed the ledger', async () => {
    await notarize(deployment, ledger)
    return (await operator(deployment, ledger)).status === 200
  })
  const found = (await entriesOf(deployment, ledger)).length
  assert.equal(await notarize(deployment, ledger), 503)
  assert.match(await refusal(deployment, ledger, newer), /checkpoint/)

  const shown = await operator(deployment, ledger)
  assert.deepEqual([shown.body.known.size, shown.body.found.size], [size, found])
  const reopened = await operator(deployment, ledger, { known: shown.body.known })
  assert.equal(reopened.status, 200)
  assert.equal(await notarize(deployment, ledger), 201)
  await until('checkpoints go on', async () => {
    const published = Number((await latestCheckpoint(deployment, ledger)).split('\n')[1])
    return published > found
  })
  assert.match(await refusal(deployment, ledger, newer), /checkpoint/)
  const alone = await verify(deployment, ledger)
  assert.match(alone.stdout, new RegExp(`^INTEGRITY_OK entries=${found + 2} `, 'm'))
  const notes = readdirSync(join(dir, 'files', 'checkpoints'))
  assert.ok(notes.some((name) => name.startsWith(`${ledger.ledger}.${size}-`)))
})

/** Copies a folder with owner and modes, because its files belong to another user if root runs the tests. */
function copyFolder(from: string, to: string): void {
  execFileSync('cp', ['-a', from, to])
}

async function notarize(deployment: Deployment, { bearer }: Ledger): Promise<number> {
  const response = await fetch(`${deployment.urls[0]}/v1/records`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: '{"type":"generic/1","payload":{}}',
  })
  await response.arrayBuffer()
  return response.status
}

async function get(deployment: Deployment, { bearer }: Ledger, path: string): Promise<string> {
  const response = await fetch(deployment.urls[0] + path, { headers: { authorization: `Bearer ${bearer}` } })
  return response.text()
}

async function entriesOf(deployment: Deployment, ledger: Ledger): Promise<string[]> {
  return (await get(deployment, ledger, '/v1/entries')).trimEnd().split('\n')
}

const latestCheckpoint = (deployment: Deployment, ledger: Ledger) =>
  get(deployment, ledger, '/v1/checkpoints/latest')

type Restore = { known: { size: number; chain: string }; found: { size: number } }

async function operator(
  deployment: Deployment,
  { ledger }: Ledger,
  body?: object,
): Promise<{ status: number; body: Restore }> {
  const response = await fetch(`${deployment.urls[0]}/v1/ledgers/${ledger}/restore`, {
    method: body ? 'POST' : 'GET',
    headers: {
      authorization: `Bearer ${OPERATOR_KEY}`,
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Restore }
}

function verify(deployment: Deployment, { bearer }: Ledger, checkpoint?: string) {
  const args = [
    'verify',
    '--server',
    deployment.urls[0]!,
    ...(checkpoint ? ['--checkpoint', checkpoint] : []),
  ]
  return runCli(args, { env: { TALLYSTICK_API_KEY: bearer } })
}

async function refusal(deployment: Deployment, ledger: Ledger, checkpoint: string): Promise<string> {
  const { code, stdout, stderr } = await verify(deployment, ledger, checkpoint)
  assert.notEqual(code, 0, stdout)
  return stdout + stderr
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const giveUpAt = Date.now() + WAIT_MS_MAX; !(await isSo()); await sleep(50)) {
    assert.ok(Date.now() < giveUpAt, `not in ${WAIT_MS_MAX} ms: ${what}`)
  }
}
