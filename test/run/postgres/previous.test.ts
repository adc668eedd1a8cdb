import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { stopOrphan } from '../../../src/run/postgres/previous.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'
import { until } from '../../helpers/wait.ts'

const linux = { skip: process.platform !== 'linux' && 'a zombie is known by /proc' }

test('waits for a killed server until its process is reaped', linux, async (t) => {
  const { zombie, reap } = await makeZombie(t)
  const cluster = clusterOf(t, zombie)
  setTimeout(reap, 300)
  const startedAt = performance.now()
  await stopOrphan(cluster, assert.fail)
  assert.ok(performance.now() - startedAt >= 290)
  assert.equal(pidIn(cluster), zombie, 'Postgres itself removes the file of a server that is gone')
})

test(
  'a killed server that is never reaped, as in a container without init, is disowned',
  linux,
  async (t) => {
    const { zombie } = await makeZombie(t)
    const cluster = clusterOf(t, zombie)
    await stopOrphan(cluster, assert.fail)
    assert.equal(pidIn(cluster), process.pid)
  },
)

/**
 * Makes a zombie. A shell starts a child, and is then replaced by a program that never waits for the child. When the
 * child ends, it stays as a zombie.
 */
async function makeZombie(t: TestContext): Promise<{ zombie: number; reap: () => void }> {
  const parent = spawn('sh', ['-c', 'sleep 0.1 & echo $!; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const reap = () => void parent.kill('SIGKILL')
  t.after(reap)
  const [line] = (await parent.stdout.take(1).toArray()) as [Buffer]
  const zombie = Number(line.toString())
  await until(() => /\) Z /.test(readFileSync(`/proc/${zombie}/stat`, 'utf8')))
  return { zombie, reap }
}

function clusterOf(t: TestContext, pid: number): string {
  const cluster = temporaryFiles(t).directory
  writeFileSync(join(cluster, 'postmaster.pid'), `${pid}\n${cluster}\n`)
  return cluster
}

function pidIn(cluster: string): number {
  return Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0])
}
