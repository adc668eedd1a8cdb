import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { SHARED_SLICE_MS_MAX, SLICE_MS_MAX } from '../../src/load/limits.ts'
import { SharedSlices, SlicedJobs } from '../../src/load/slice.ts'

const LONG_MS = SLICE_MS_MAX * 1.1
const ITERATIONS_MAX = 10_000

test('short reads share an iteration of the event loop, long reads take one each, round-robin by owner', async () => {
  const slices = new SharedSlices()
  const log = new Log()
  const read = log.reader(slices)
  const reads = [
    ...['b0', 'b1', 'b2'].map((name) => read('busy', name, 0)),
    ...['b3', 'b4', 'b5'].map((name) => read('busy', name, LONG_MS)),
    ...['q0', 'q1', 'q2'].map((name) => read('quiet', name, 0)),
  ]
  await log.countUntil(Promise.all(reads))
  assert.deepEqual(log.names.slice(0, 6), ['b0', 'q0', 'b1', 'q1', 'b2', 'q2'])
  assert.equal(new Set(log.iterations.slice(0, 7)).size, 1)
  assert.equal(new Set(log.iterations.slice(6)).size, 3)
})

test('beside an active owner, reads of 1 ms take an iteration each', async () => {
  const slices = new SharedSlices()
  const log = new Log()
  const read = log.reader(slices)
  slices.noteRequest('writer')
  await log.countUntil(
    Promise.all(['b0', 'b1', 'b2'].map((name) => read('busy', name, SHARED_SLICE_MS_MAX * 1.1))),
  )
  assert.equal(new Set(log.iterations).size, 3)
})

test('a read that continues at once waits behind the reads of others', async () => {
  const slices = new SharedSlices()
  const done: string[] = []
  const work = async (name: string) => {
    for (let piece = 1; piece <= 2; piece++) {
      await slices.next('owner')
      done.push(`${name}${piece}`)
    }
  }
  await Promise.all(['a', 'b', 'c'].map(work))
  assert.deepEqual(done, ['a1', 'b1', 'c1', 'a2', 'b2', 'c2'])
})

test('jobs end a slice when its time is over, with all that they have started; other work runs before the next slice', async () => {
  const done: string[] = []
  const observed: number[] = []
  let left = 5
  const job = () => {
    if (left === 0) return false
    const name = `job ${left--}`
    const untilMs = performance.now() + 3
    void Promise.resolve()
      .then(() => {})
      .then(() => {
        while (performance.now() < untilMs);
        done.push(name)
      })
    return true
  }
  const jobs = new SlicedJobs(job, 5, (ms) => observed.push(ms))
  jobs.start()
  jobs.start()
  await nextIteration()
  done.push('other work')
  while (left > 0 || done.length < 6) await nextIteration()
  await nextIteration()
  assert.equal(done[0], 'job 5')
  assert.ok(done.indexOf('other work') < 4, done.join())
  assert.equal(done.length, 6)
  assert.ok(observed.length >= 3, `${observed.length} slices`)
  assert.ok(observed.slice(0, -1).every((ms) => ms >= 5))
  left = 1
  jobs.start()
  await nextIteration()
  assert.equal(done.at(-1), 'job 1', 'starts again after it has run out of jobs')
})

test('long reads pause while another owner is active that reads nothing long', async () => {
  const measure = async (others: readonly string[]) => {
    const slices = new SharedSlices()
    for (const owner of ['reader', ...others]) slices.noteRequest(owner)
    const beganAtMs = performance.now()
    for (let i = 0; i < 10; i++) {
      await slices.next('reader')
      work(5)
    }
    return performance.now() - beganAtMs
  }
  // The shortest of three runs, because other processes may take the CPU. There are pauses between the ten slices.
  const alone = Math.min(await measure([]), await measure([]), await measure([]))
  const beside = await measure(['writer'])
  assert.ok(beside - alone > 9 * 5 * 0.7, `${beside} ms beside a writer, ${alone} ms alone`)
})

function work(ms: number): void {
  for (const untilMs = performance.now() + ms; performance.now() < untilMs; );
}

/** Notes which reads got a slice, and in which iteration of the event loop. */
class Log {
  readonly names: string[] = []
  readonly iterations: number[] = []
  #iteration = 0

  reader(slices: SharedSlices) {
    return async (owner: string, name: string, ms: number) => {
      await slices.next(owner)
      this.names.push(name)
      this.iterations.push(this.#iteration)
      work(ms)
    }
  }

  async countUntil(done: Promise<unknown>): Promise<void> {
    let isDone = false
    void done.then(() => (isDone = true))
    for (; !isDone && this.#iteration < ITERATIONS_MAX; this.#iteration++) await nextIteration()
    await done
  }
}
