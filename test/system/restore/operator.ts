import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { StoredCheckpoints } from '../../../src/followers/checkpoints/stored-checkpoints.ts'
import { runAlone } from '../../helpers/run-command.ts'
import { runCommand } from '../../helpers/run-script.ts'
import { type Ledger, OPERATOR_KEY } from '../deployment/deployment.ts'

/*
 * Actions of an operator, an agent and an auditor before and after a restore. They use the command line and the API, as
 * in reality.
 */

const KEPT_MS_MAX = 20_000

/** Resolves when the worker has stored a checkpoint of all entries in each ledger. */
export async function untilKept(dir: string, sizes: ReadonlyMap<string, number>): Promise<void> {
  const giveUpAt = Date.now() + KEPT_MS_MAX
  for (;;) {
    const kept = new StoredCheckpoints(dir)
    await kept.load({ error: () => {} })
    const found = new Map(kept.all.map(({ ledger, checkpoint }) => [ledger, checkpoint.size]))
    if ([...sizes].every(([ledger, size]) => found.get(ledger) === size)) return
    if (Date.now() > giveUpAt) throw new Error('the worker has not kept a checkpoint of every ledger')
    await sleep(100)
  }
}

/** Stores checkpoints as an outsider does. Returns the file for each ledger. */
export async function keepOutside(
  url: string,
  ledgers: readonly Ledger[],
  dir: string,
): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>()
  for (const { ledger, bearer } of ledgers) {
    const file = join(dir, `${ledger}.ndjson`)
    const env = { TALLYSTICK_API_KEY: bearer }
    const { code, stderr } = await runAlone(['checkpoints', 'watch', file, '--once', '--server', url], {
      env,
    })
    assert.equal(code, 0, stderr)
    files.set(ledger, file)
  }
  return files
}

export async function verifyAgainst(
  ownerUrl: string,
  ledger: string,
  outside: ReadonlyMap<string, string>,
): Promise<string> {
  const of = ['--database', ownerUrl, '--ledger', ledger]
  const { stdout } = await runAlone(['verify', ...of, '--checkpoint', outside.get(ledger)!])
  return stdout
}

/**
 * Runs the check after a restore. `kept` is the folder of the stored checkpoints; null means that the operator forgets
 * the option.
 */
export async function restoreCheck(
  ownerUrl: string,
  kept: string | null,
  masterKey: Uint8Array,
): Promise<{ code: number | null; output: string }> {
  const args = kept === null ? [] : ['--checkpoints', kept]
  const { code, stdout, stderr } = await runCommand('restore-check', args, {
    env: { DATABASE_URL: ownerUrl, TALLYSTICK_MASTER_KEY: Buffer.from(masterKey).toString('hex') },
  })
  return { code, output: stdout + stderr }
}

export async function append(
  url: string,
  { bearer }: Ledger,
): Promise<{ status: number; code: string | null }> {
  const { status, body } = await send(`${url}/v1/records`, 'POST', bearer, {
    type: 'generic/1',
    payload: { intent: 'after the restore', item: 0 },
  })
  return { status, code: (body['code'] as string | undefined) ?? null }
}

export async function acknowledge(url: string, ledger: string, size: number): Promise<void> {
  const route = `${url}/v1/ledgers/${ledger}/restore`
  const { body } = await send(route, 'GET', OPERATOR_KEY)
  assert.equal((body['known'] as { size: number }).size, size)
  const { status } = await send(route, 'POST', OPERATOR_KEY, { known: body['known'] })
  assert.ok(status === 200 || status === 201, `POST ${route} answered ${status}`)
}

async function send(
  url: string,
  method: string,
  bearer: string,
  body?: object,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${bearer}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}
