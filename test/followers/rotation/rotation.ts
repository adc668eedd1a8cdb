import { loadSigners } from '../../../src/append/open-signers.ts'
import { withClient } from '../../../src/db/connect/client.ts'
import { type StartedRotation, startRotation } from '../../../src/db/schema/rotation.ts'
import { PausedLedgers } from '../../../src/followers/checkpoints/faulty-ledgers.ts'
import type { RotateDeps } from '../../../src/followers/rotation/rotate-keys.ts'
import { makeMasterKey } from '../../../src/signing/master-key.ts'
import type { Test, TestApp } from '../../helpers/app.ts'
import { openTestPool } from '../../helpers/connect.ts'
import { TEST_MASTER_KEY } from '../../helpers/database.ts'

const masterKey = makeMasterKey(TEST_MASTER_KEY)

/** Starts a rotation like `npm run op -- rotate-key`. */
export function rotateKey(
  app: TestApp,
  options: { compromisedAt?: Date; force?: boolean } = {},
): Promise<StartedRotation> {
  const { compromisedAt = null, force = false } = options
  return withClient(app.database.ownerUrl, (client) =>
    startRotation(client, masterKey, { compromisedAt, force }),
  )
}

export type Rotator = RotateDeps & { readonly logged: object[] }

export function makeRotator(t: Test, app: TestApp): Rotator {
  const pool = openTestPool(app.database.workerUrl, { max: 4 })
  t.after(() => pool.end())
  const logged: object[] = []
  return {
    pool,
    loadSigners: () => loadSigners(pool, masterKey),
    unmoved: new PausedLedgers(Date.now),
    now: Date.now,
    log: { info: () => {}, error: (details) => void logged.push(details) },
    logged,
  }
}

/** Backdates all keys by two minutes. A key is retired only when the newest key is older than 90 s. */
export async function passTwoMinutes(app: TestApp): Promise<void> {
  await app.sql("update tallystick.server_keys set activated_at = activated_at - interval '2 minutes'")
}

export async function envelopeKeys(app: TestApp) {
  const rows = await app.sql<{ kid: string; retired: boolean; compromised: boolean; sealed: boolean }>(
    `select encode(k.kid, 'hex') as kid, retired_at is not null as retired, compromised_at is not null as compromised,
       s.kid is not null as sealed
     from tallystick.server_keys k left join tallystick.envelope_key_secrets s using (kid)
     where use = 'envelope' order by activated_at`,
  )
  return rows
}

export async function kidOf(app: TestApp, ledger = app.ledger.ledger.id): Promise<string> {
  const [row] = await app.sql<{ kid: string }>(
    `select encode(h.envelope_kid, 'hex') as kid from tallystick.chain_heads h
     join tallystick.ledgers l using (ledger_id) where l.origin like '%/' || $1`,
    [ledger],
  )
  return row!.kid
}
