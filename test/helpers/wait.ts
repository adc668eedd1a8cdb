import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

/** Ends a wait for what never comes. A machine that is busy with other things has been seen to take 20 s for a turn. */
const WAIT_MS_MAX = 60_000

/** Returns when the condition holds; throws when it does not in time. */
export async function until(condition: () => Promise<boolean> | boolean, msMax = WAIT_MS_MAX): Promise<void> {
  for (const giveUpAt = Date.now() + msMax; !(await condition()); await sleep(5)) {
    if (Date.now() > giveUpAt) throw new Error(`it did not happen within ${msMax} ms`)
  }
}

/** Holds all chain heads, so that no append gets through; the function returned lets go, as does the test's end. */
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
