import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sendWhileItWorks } from '../../../cli/outbox/sender.ts'
import { Tallystick } from '../../../sdk/client.ts'
import { makeIdempotencyKey } from '../../../sdk/idempotency-key.ts'
import { putInInbox } from '../../../sdk/node/inbox.ts'
import { makeItem } from '../../../sdk/notarizer/items.ts'
import { sharedCliApp } from '../../helpers/cli-app.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'
import { spoolIn, waitForDeeds, waiting } from '../mcp-proxy/set-up.ts'

test('a sender gives up a fixed time after its last success, not while it succeeds', async (t) => {
  const app = await sharedCliApp(t)
  const directory = spoolIn(temporaryFiles(t).directory)
  const giveUpMs = 2_000
  const put = (i: number) =>
    putInInbox(directory, makeItem({ i }, { type: 'generic/1' }, Date.now()), makeIdempotencyKey())
  put(0)
  const until = performance.now() + 1.5 * giveUpMs
  const options = { directory, connect: async () => new Tallystick(), report: () => {} }
  const left = sendWhileItWorks(options, { idleMs: 60_000, giveUpMs })
  for (let i = 1; performance.now() < until; i++) {
    await waitForDeeds(app, i)
    await sleep(giveUpMs / 8)
    put(i)
  }
  assert.equal(await left, null)
  assert.equal(waiting(directory), 0)
})
