import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { SHARED_SLICE_MS_MAX, SLICE_MS_MAX } from '../../src/load/limits.ts'
import { SharedSlices } from '../../src/load/slice.ts'

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
  // The shortest of three runs, because other processes may take the CPU. Ten slices have nine pauses between them.
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
