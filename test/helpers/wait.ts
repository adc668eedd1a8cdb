import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

/** Maximum time in ms of a wait. On a busy machine, one slice of the event loop has taken 20 s. */
const WAIT_MS_MAX = 60_000

export async function until(condition: () => Promise<boolean> | boolean, msMax = WAIT_MS_MAX): Promise<void> {
  for (const giveUpAt = Date.now() + msMax; !(await condition()); await sleep(5)) {
    if (Date.now() > giveUpAt) throw new Error(`it did not happen within ${msMax} ms`)
  }
}

/**
 * Locks all chain heads, which blocks every append. The returned function unlocks them. The end of the test unlocks
 * them too.
 */
export async function lockHeads(t: TestContext, superuserUrl: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: superuserUrl })
  await client.connect()
  await client.query('begin')
  await client.query('select from tallystick.chain_heads for update')
  let held = true
  const release = async () => {
    if (!held) return
    held = false
    await client.query('rollback')
    await client.end()
  }
  t.after(release)
  return release
}
