import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { publishCheckpoints } from '../../src/followers/checkpoints/publish.ts'
import type { Test, TestApp } from './app.ts'
import { makePublisher } from './publisher.ts'
import { openWorkerPool } from './test-worker.ts'

/**
 * Returns a function that publishes a checkpoint of every ledger that has grown. The function backdates the previous
 * checkpoints, so that it does not have to wait.
 */
export async function makePublish(t: Test, app: TestApp): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), 'tallystick-test-'))
  const pool = openWorkerPool(t, app)
  t.after(async () => rmSync(directory, { recursive: true }))
  const publisher = await makePublisher(pool, directory)
  return async () => {
    await unguarded(app, "update tallystick.checkpoints set published_at = published_at - interval '2 s'")
    while (await publishCheckpoints(publisher));
    const [fault] = publisher.logged as { err: Error }[]
    if (fault) throw fault.err
  }
}

/** Runs statements with all triggers disabled, like an attacker who controls the machine. */
export async function unguarded(app: TestApp, statements: string): Promise<void> {
  await app.sql(`begin; set local session_replication_role = replica; ${statements}; commit`)
}
