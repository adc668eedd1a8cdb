import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkGate } from '../../bench/preflight.ts'
import { measureCommits } from '../../cli/preflight/commits.ts'
import { judgeCommits } from '../../cli/preflight/judge-measured.ts'
import { openPreflightClient } from '../../src/db/schema/preflight.ts'
import { startTestPostgres } from '../helpers/database.ts'
import { temporaryDir } from '../helpers/postgres.ts'
import { runAlone } from '../helpers/run-command.ts'
import { slowFsync } from '../system/soak/slow-fsync.ts'

/** Time in ms that is longer than a whole commit with a fast flush takes on a busy machine. */
const FLUSH_MS = 60

test('a slow disk fails the gate of the command and of the benchmarks, by the flush alone', async (t) => {
  const env = slowFsync(temporaryDir(), FLUSH_MS * 1_000)
  if (env === null) return t.skip('there is no C compiler (cc) to make the slow disk with')
  const postgres = await startTestPostgres(t, { env })
  const args = ['preflight', '--json', '--database', postgres.ownerUrl]

  const slow = await runAlone(args)
  assert.equal(slow.code, 1)
  const { flush, commitWithoutFlush, findings } = JSON.parse(slow.stdout)
  assert.ok(flush.p50Ms >= FLUSH_MS - commitWithoutFlush.p50Ms, `flush ${flush.p50Ms} ms`)
  assert.ok(commitWithoutFlush.p50Ms < FLUSH_MS, `without it ${commitWithoutFlush.p50Ms} ms`)
  const [failed] = findings.filter(({ status }: { status: string }) => status === 'fail')
  assert.equal(failed.check, 'flush')
  assert.match(failed.detail, /; the gate is 5 ms$/)

  const raised = await runAlone([...args, '--gate-ms', '10000'])
  assert.equal(raised.code, 0, raised.stdout)

  const client = await openPreflightClient(postgres.ownerUrl)
  t.after(() => client.end())
  const commits = await measureCommits(client)
  assert.throws(() => checkGate(commits, 5, false), /a flush of the log takes .* more than the gate of 5 ms/)
  checkGate(commits, 5, true)
  checkGate(commits, 10_000, false)
})

test('the gate is on the median; a p99 above it is a warning', () => {
  const latency = (p50Ms: number, p99Ms: number) => {
    const [p50, p99] = [p50Ms * 1e6, p99Ms * 1e6]
    return { count: 300, mean: p50, p50, p90: p50, p99, p999: p99, max: p99 }
  }
  const statusOf = (p50: number, p99: number) => {
    const flush = latency(p50, p99)
    return judgeCommits({ commit: flush, unflushed: latency(0.1, 0.2), flush }, 5)[1]!.status
  }
  assert.deepEqual(
    [statusOf(1, 4.9), statusOf(5, 5), statusOf(1, 5.1), statusOf(5.1, 6)],
    ['ok', 'ok', 'warn', 'fail'],
  )
})
