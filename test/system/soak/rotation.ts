import { setTimeout as sleep } from 'node:timers/promises'
import { withClient } from '../../../src/db/connect/client.ts'
import { listSigningKeys } from '../../../src/db/schema/rotation.ts'
import { toHex } from '../../../src/proof/bytes.ts'
import { database } from '../../../src/verify/database.ts'
import { formatReport } from '../../../src/verify/report.ts'
import { verifyLedger } from '../../../src/verify/verify-ledger.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { Deployment, type Ledger } from '../deployment/deployment.ts'
import { formatAttempts, formatLoad, reckonAll, startClientsOn } from '../faults/kill.ts'
import { formatReckoning, type Reckoning } from '../faults/reckoning.ts'

const LEDGERS = 8
const CLIENTS = 32
const ROTATIONS = 2
const NEW_LEDGER_EVERY_MS = 1_000
/**
 * Maximum time of a rotation in ms. The database retires a key 90 s after its successor was made, and the worker checks
 * every second.
 */
const ROTATION_MS_MAX = 120_000

/**
 * Rotates the envelope key twice, while two API processes and a worker are under load on existing and new ledgers. No
 * request may fail. Each ledger must verify with only its own first key.
 */
export async function rotation(): Promise<Reckoning> {
  const dir = temporaryDir()
  const deployment = await Deployment.start({ dir, apis: 2, worker: true })
  try {
    const ledgers = await deployment.createLedgers(LEDGERS)
    const [firstKid] = await signingKids(deployment)
    const clients = startClientsOn(deployment, dir, ledgers, CLIENTS)
    const stop = new AbortController()
    const making = makeLedgers(deployment, stop.signal)
    for (let i = 0; i < ROTATIONS; i++) await rotateOnce(deployment)
    stop.abort()
    const made = await making
    await clients.finish()
    deployment.requireAlive()

    const { reckoning, entries } = await reckonAll(deployment, dir, ledgers)
    for (const { ledger } of ledgers) await verifyFrom(deployment, ledger, firstKid!)
    for (const { ledger } of made) await verifyFrom(deployment, ledger, null)
    console.log(`rotation, ${ROTATIONS} times: ${formatReckoning(reckoning)}`)
    console.log(
      `  entries=${entries} verified from the first key; ${made.length} ledgers made meanwhile; ${formatAttempts(clients.attempts)}; ${formatLoad()}`,
    )
    const others = Object.keys(clients.attempts).filter((label) => label !== '201')
    if (others.length > 0) throw new Error(`rotation: requests were answered ${others.join(', ')}`)
    return reckoning
  } finally {
    await deployment.stop()
  }
}

async function rotateOnce(deployment: Deployment): Promise<void> {
  await sleep(2_000)
  const startedAt = performance.now()
  const newKid = await deployment.rotateKey({ force: false })
  while ((await signingKids(deployment)).length > 1) {
    if (performance.now() - startedAt > ROTATION_MS_MAX) throw new Error('the old key is not retired')
    await sleep(500)
  }
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  console.log(`rotation: ${toHex(newKid).slice(0, 8)} alone signs after ${seconds} s`)
}

async function signingKids(deployment: Deployment): Promise<string[]> {
  const keys = await withClient(deployment.ownerUrl, listSigningKeys)
  return keys.map(({ kid }) => toHex(kid))
}

async function makeLedgers(deployment: Deployment, signal: AbortSignal): Promise<Ledger[]> {
  const made: Ledger[] = []
  while (!signal.aborted) {
    made.push(await deployment.createLedger(`made meanwhile ${made.length}`))
    await sleep(NEW_LEDGER_EVERY_MS, undefined, { signal }).catch(() => {})
  }
  return made
}

async function verifyFrom(deployment: Deployment, ledger: string, kid: string | null): Promise<void> {
  const report = await verifyLedger(database(deployment.ownerUrl, ledger), {
    threads: 1,
    kids: kid === null ? [] : [kid],
  })
  if (!report.ok || (kid !== null && report.keys !== 'given'))
    throw new Error(`${ledger}: ${formatReport(report)}`)
}
