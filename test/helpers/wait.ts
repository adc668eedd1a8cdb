import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

/** Maximum time in ms of a wait. On a busy machine, one slice of the event loop has taken 20 s. */
const WAIT_MS_MAX = 60_000
/** Delays in ms between two polls. They grow, because many conditions are queries, and some waits take seconds. */
const POLL_MS_MIN = 5
const POLL_MS_MAX = 25
const POLL_GROWTH = 1.1

export async function until(condition: () => Promise<boolean> | boolean, msMax = WAIT_MS_MAX): Promise<void> {
  const giveUpAt = Date.now() + msMax
  for (
    let delayMs = POLL_MS_MIN;
    !(await condition());
    delayMs = Math.min(POLL_MS_MAX, delayMs * POLL_GROWTH)
  ) {
    if (Date.now() > giveUpAt) throw new Error(`it did not happen within ${msMax} ms`)
    await sleep(delayMs)
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
