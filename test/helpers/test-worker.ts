import type pg from 'pg'
import { loadKeysFrom } from '../../src/db/chain/signed-entries.ts'
import { makeExpiryRound } from '../../src/followers/expiry/expire-records.ts'
import { RefusedItems } from '../../src/followers/refused.ts'
import { verifyCompletions } from '../../src/followers/verification/verify-completions.ts'
import { TypeRegistry } from '../../src/ledgers/types/type-registry.ts'
import { parseId } from '../../src/proof/ids.ts'
import { EnvelopeKeys } from '../../src/signing/envelope-keys.ts'
import type { Test, TestApp } from './app.ts'
import { openTestPool } from './connect.ts'
import { lentPool } from './lent-app.ts'
import { raiseVerifiedSizes } from './verified-sizes.ts'

/** Returns the worker's functions for gated records, with the worker's login. They run only when a test calls them. */
export function openTestWorker(t: Test, app: TestApp) {
  return makeTestWorker(openWorkerPool(t, app), app)
}

export function openWorkerPool(t: Test, app: TestApp): pg.Pool {
  return lentPool(t, app, 'worker', () => openTestPool(app.database.workerUrl, { max: 2 }))
}

export function makeTestWorker(pool: pg.Pool, app: TestApp) {
  const refused: string[] = []
  const deps = {
    pool,
    envelopeKeys: new EnvelopeKeys(loadKeysFrom(pool)),
    cursorMac: app.deps.cursorMac,
    requestVerification() {},
    signers: app.deps.signers,
    types: new TypeRegistry({ readPool: pool, threads: app.deps.threads }),
    entropy: app.deps.entropy,
    now: Date.now,
    machineNow: Date.now,
    observeVerification: () => {},
    observeExpiry: () => {},
    refusedExpiries: new RefusedItems(Date.now, { pauseMs: 0, itemsMax: 100 }),
    log: { error: (_: object, message: string) => void refused.push(message) },
  }
  const expireRound = makeExpiryRound(deps)

  return {
    /** Verifies the completion of the record. Throws if the worker cannot verify it. */
    async verify(record: string): Promise<void> {
      const name = { ledgerId: parseId('led', app.ledger.ledger.id), recordId: parseId('rec', record) }
      await raiseVerifiedSizes(app)
      const [result] = await verifyCompletions(deps, [name])
      if (result!.status !== 'done') throw result!.error
    },
    async expireOverdue(): Promise<void> {
      await raiseVerifiedSizes(app)
      while (await expireRound());
      if (refused.length > 0) throw new Error(refused.join(', '))
    },
  }
}
