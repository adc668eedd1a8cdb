import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Readable, Writable } from 'node:stream'
import { test } from 'node:test'
import { type Action, Actions, type ActionsOptions, type Outcome } from '../../sdk/actions/index.ts'
import type { Tallystick } from '../../sdk/client.ts'
import { NotRecordedError } from '../../sdk/errors.ts'
import type { RecordOptions } from '../../sdk/notarizer/items.ts'
import type { NotarizerOptions, RecordedBatch } from '../../sdk/notarizer/options.ts'
import { OUTCOMES, outcomeCases } from '../helpers/outcome-cases.ts'
import { sharedSdk } from './set-up.ts'

type Run = (deed: (action: Action) => unknown) => Promise<unknown>
type Case = (run: Run, actions: Actions) => unknown

const LATE = new RangeError('late')

/** The cases of the tables in docs/reference/outcomes.md, as code. A name may have a variant after a colon. */
const CASES: Readonly<Record<string, Case>> = {
  returns: (run) => run(() => 'done'),
  'returns-nothing': (run) => run(() => undefined),
  ...each('returns-falsy', [0, '', false, null, 0n, Number.NaN], (value) => (run) => run(() => value)),
  ...each(
    'returns-collection',
    [
      [Promise.resolve()],
      new Map([[1, 2]]),
      new Set([1]),
      new Uint8Array(2),
      new URLSearchParams('a=1'),
      new Headers(),
    ],
    (value) => (run) => run(async () => value),
  ),
  'throws-error': (run) => run(() => Promise.reject(LATE)),
  'throws-error:at once': (run) => run(() => fail(LATE)),
  ...each('throws-nothing', [undefined, null, 0, '', false], (value) => (run) => run(() => fail(value))),
  'throws-nothing:rejects': (run) => run(() => Promise.reject()),
  'cancelled-during': (run) => {
    const { signal } = abortLater()
    return run(
      () => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    )
  },
  ...each(
    'cancelled-during',
    ['AbortError', 'CanceledError', 'ModelAbortError', 'APIUserAbortError'],
    (name) => (run) => run(() => fail(Object.assign(new Error('x'), { name }))),
  ),
  'cancelled-after': async (run) => {
    const abort = new AbortController()
    await run(async () => abort.signal.aborted)
    abort.abort()
  },
  'times-out:of a socket': (run) => run(() => fail(Object.assign(new Error('x'), { code: 'ETIMEDOUT' }))),
  'times-out:of axios': (run) =>
    run(() => fail(Object.assign(new Error('timeout of 1000ms exceeded'), { code: 'ECONNABORTED' }))),
  'times-out:of fetch': (run) => {
    const cause = Object.assign(new Error('Headers Timeout Error'), { name: 'HeadersTimeoutError' })
    return run(() => fail(new TypeError('fetch failed', { cause })))
  },
  'throws-error:of its own, after a wait': (run) =>
    run(() => fail(new Error('rolled back', { cause: new DOMException('too long', 'TimeoutError') }))),
  'times-out': (run) => run(() => fail(new DOMException('too long', 'TimeoutError'))),
  'returns-task': (run) => run(() => thenable((yes) => yes('done'))),
  'returns-task-that-fails': (run) => run(() => thenable((_yes, no) => no(LATE))),

  'generator-ends': (run) => readAll(run(() => numbers())),
  'generator-ends:iterable object': (run) => readAll(run(() => ({ [Symbol.iterator]: numbers }))),
  'generator-ends:helpers': async (run) => {
    const made = (await run(() => numbers())) as Iterator<number> & { map?(f: unknown): Iterable<number> }
    return [...(made.map?.((n: number) => n) ?? (made as unknown as Iterable<number>))]
  },
  'generator-fails': (run) => readAll(run(() => numbers(LATE))),
  'generator-fails:with nothing': (run) => readAll(run(() => nothingLater())),
  'generator-fails:in its finally': async (run) => {
    const made = (await run(() => finallyThrows())) as Generator
    made.next()
    made.return(1)
  },
  'generator-abandoned': async (run) => {
    for (const _ of (await run(() => numbers())) as Generator) break
  },
  'generator-abandoned:the reader throws into it': async (run) => {
    const made = (await run(() => numbers())) as Generator
    made.next()
    made.throw(LATE)
  },
  'generator-never-read': (run) => run(() => numbers()),
  'async-generator-ends': (run) => readAll(run(() => asyncNumbers())),
  'async-generator-abandoned:a cursor, whose documents say done': async (run) => {
    const cursor = {
      next: async () => ({ id: 1, done: true }),
      [Symbol.asyncIterator]: () => asyncNumbers(LATE),
    }
    await ((await run(() => cursor)) as typeof cursor).next()
  },
  'async-generator-fails:with a length': (run) =>
    readAll(
      run(() => ({ [Symbol.asyncIterator]: () => asyncNumbers(LATE), length: 2, size: 2, keys: () => [] })),
    ),
  'stream-fails:of Node, with a length': (run) =>
    readAll(run(() => Object.assign(Readable.from(asyncNumbers(LATE)), { length: 2 }))),
  'async-generator-fails': (run) => readAll(run(() => asyncNumbers(LATE))),
  'async-generator-abandoned': async (run) => {
    for await (const _ of (await run(() => asyncNumbers())) as AsyncGenerator) break
  },
  'async-generator-abandoned:disposed': async (run) => {
    const made = (await run(() => asyncNumbers())) as AsyncGenerator
    await made.next()
    await made[Symbol.asyncDispose]?.()
    await made.return(undefined)
  },
  'promise-of-iterable': (run) =>
    readAll(run(async () => ({ [Symbol.asyncIterator]: () => asyncNumbers() }))),
  'promise-of-iterable-that-fails': (run) =>
    readAll(run(async () => ({ [Symbol.asyncIterator]: () => asyncNumbers(LATE) }))),

  'stream-ends': (run) => readAll(run(() => streamOf())),
  'stream-ends:bytes': async (run) => {
    const bytes = await new Response((await run(() => new Response('abc').body)) as ReadableStream).text()
    assert.equal(bytes, 'abc')
  },
  'stream-ends:bytes into a buffer': async (run) => {
    const stream = (await run(() => new Response('abc').body)) as ReadableStream
    const reader = stream.getReader({ mode: 'byob' })
    let read = 0
    for (let done = false; !done; ) {
      const answer = await reader.read(new Uint8Array(2))
      read += answer.value?.length ?? 0
      done = answer.done
    }
    assert.equal(read, 3)
  },
  'stream-ends:piped': async (run) => {
    const stream = (await run(() => streamOf())) as ReadableStream
    return readAll(stream.pipeThrough(new TransformStream()))
  },
  'stream-ends:of a subclass': (run) => readAll(run(() => new Subclass(sourceOf()))),
  'stream-ends:of Node': (run) => readAll(run(() => Readable.from(['a', 'b']))),
  'stream-fails': (run) => readAll(run(() => streamOf(LATE))),
  'stream-fails:of Node': (run) => readAll(run(() => Readable.from(asyncNumbers(LATE)))),
  'stream-abandoned': async (run) => {
    const stream = (await run(() => streamOf())) as ReadableStream
    await stream.cancel('enough')
  },
  'stream-abandoned:in a loop': async (run) => {
    for await (const _ of (await run(() => streamOf())) as ReadableStream<unknown>) break
  },
  'stream-abandoned:of Node': async (run) => {
    for await (const _ of (await run(() => Readable.from(['a', 'b']))) as Readable) break
  },
  'result-not-followed': (run) => run(() => new Response('body')),
  'result-not-followed:frozen generator': (run) => readAll(run(() => Object.freeze(numbers(LATE)))),
  'result-not-followed:child process': async (run) => {
    const child = (await run(() => spawn(process.execPath, ['-e', 'process.exit(1)']))) as ChildProcess
    await once(child, 'close')
  },
  'result-not-followed:emitter, which may never end': (run) => run(() => new EventEmitter()),
  'result-not-followed:Observable': (run) => run(() => ({ subscribe: () => ({ unsubscribe: () => {} }) })),
  'result-not-followed:EventTarget': (run) => run(() => new EventTarget()),
  'result-not-followed:written stream': (run) => run(() => new WritableStream()),
  'result-not-followed:written stream of Node': (run) => run(() => new Writable()),
  'result-not-followed:locked stream': (run) => {
    const stream = streamOf(LATE)
    stream.getReader()
    return run(() => stream)
  },

  'root-ends-first': async (run, actions) => {
    await actions.run({ kind: 'agent', name: 'a root' }, (root) => {
      const below = actions.begin({ kind: 'agent', name: 'in between', parent: root })
      void run(() => actions.begin({ kind: 'tool', name: 'never', parent: below }) && new Promise(() => {}))
    })
  },
  'closed-while-open': (run) => void run(() => new Promise(() => {})),
}

test('docs/reference/outcomes.md has exactly the table of the test cases', () => {
  const page = readFileSync(new URL('../../docs/reference/outcomes.md', import.meta.url), 'utf8')
  const tables = page.split('## Cases')[1]!.split('| Case |').slice(1)
  const rows = tables.map((table) =>
    table
      .split('\n')
      .slice(2)
      .filter((line) => line.startsWith('|'))
      .map((line) =>
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim()),
      ),
  )
  const cell = (found: string | readonly string[] | undefined) => [found ?? ''].flat().join(', ')
  const ways = Object.keys(OUTCOMES.ways)
  const parts = [ways.slice(0, 6), ways.slice(6)]
  const expected = parts.map((part) =>
    OUTCOMES.cases
      .filter(({ expected }) => part.some((way) => expected[way] !== undefined))
      .map(({ name, expected }) => [name, ...part.map((way) => cell(expected[way]))]),
  )
  assert.deepEqual(rows, [OUTCOMES.cases.map(({ name, of, what }) => [name, of, what]), ...expected])
})

test('an action has the outcome of its wrapped function', async (t) => {
  const client = (await sharedSdk()).client()
  const cases = outcomeCases('run')

  await t.test('in each case of the table', async () => {
    const actions = new Actions({ tallystick: client })
    for (const [name, happens] of Object.entries(CASES)) {
      // In the case root-ends-first, the action is below a root action that ends earlier. In all other cases the action
      // itself is a root.
      const parent =
        name === 'root-ends-first' ? actions.begin({ kind: 'agent', name: 'its root' }) : undefined
      const run: Run = (deed) => actions.run({ kind: 'tool', name, parent }, deed)
      await Promise.resolve()
        .then(() => happens(run, actions))
        .catch(() => {})
      parent?.end({ status: 'ok' })
    }
    await actions.flush()
    await actions.close({ timeoutMs: 1_000 })
  })

  await t.test(
    'with failClosed, an action that cannot be recorded is denied without calling the function',
    async () => {
      const away = new Actions({ tallystick: client, failClosed: true, onRefused: () => {} })
      const call = { kind: 'nonsense' as 'tool', name: 'not-recorded' }
      await assert.rejects(away.run(call, () => assert.fail('it was called')))
      await away.close()
    },
  )

  await t.test(
    'with failClosed, an action that waits when its root ends is denied or ends by itself',
    async () => {
      for (const isAway of [true, false]) {
        const { actions, ends, answer } = inMemory({ failClosed: true, holdMsMax: 50 })
        const root = actions.begin({ kind: 'agent', name: 'root' })
        const part = actions.run({ kind: 'tool', name: 'part', parent: root }, () => 'done')
        root.end({ status: 'ok' })
        assert.deepEqual(ends(), ['root ok'])
        if (isAway) await assert.rejects(part, NotRecordedError)
        else {
          answer()
          await part
        }
        assert.deepEqual(ends(), ['root ok', isAway ? 'part denied' : 'part ok'])
        await actions.close()
      }
    },
  )

  await t.test('the ledger has the outcome of each case', async () => {
    const records = await client.records.list({ order: 'asc' }).toArray(1_000)
    const payloads = records.map(({ type, payload }) => ({
      type,
      ...(payload as { name: string; status: string }),
    }))
    const ofName = (name: string) =>
      payloads
        .filter((record) => record.type === 'agent-outcome/1' && record.name === name)
        .map(({ status }) => status)
    for (const name of Object.keys(CASES)) cases.expect(name.split(':')[0]!, ofName(name))
    // The server refused the action, so it also refuses the action's outcome.
    cases.expect('not-recorded', ['denied'])
    assert.deepEqual(ofName('never'), ['unknown'])
    assert.deepEqual(ofName('in between'), ['unknown'])
    cases.assertCovered()
  })

  await t.test('run() returns the function’s own object, unchanged in behaviour', async () => {
    const actions = new Actions({ tallystick: client })
    const made = numbers()
    assert.equal(await actions.run({ kind: 'tool', name: 'x' }, () => made), made)
    assert.deepEqual([[...made], Object.keys(made), made instanceof Object], [[1, 2], [], true])
    const bytes = await actions.run({ kind: 'tool', name: 'x' }, () => new Response('abc').body!)
    assert.equal(await new Response(bytes).text(), 'abc')
    await actions.close()
    assert.equal(actions.stats.recorded, 4)
  })

  await t.test('close() waits for open actions, and ends them as unknown at its timeout', async () => {
    const actions = new Actions({ tallystick: client })
    const slow = actions.run(
      { kind: 'tool', name: 'slow' },
      () => new Promise((yes) => setTimeout(yes, 100, 'done')),
    )
    const closed = actions.close({ timeoutMs: 5_000 })
    assert.equal(await slow, 'done')
    await closed
    assert.equal(actions.stats.recorded, 2)
    const [outcome] = await client.records.list({ type: 'agent-outcome/1', limit: 1 }).toArray(1)
    assert.equal((outcome!.payload as Outcome).status, 'ok')
  })

  await t.test('ended actions are removed from the memory of their root', async () => {
    const actions = new Actions({ tallystick: client })
    const root = actions.begin({ kind: 'agent', name: 'long' })
    for (let n = 0; n < 50; n++) await actions.run({ kind: 'tool', name: 'x', parent: root }, () => n)
    assert.equal(root.open.size, 0)
    root.end({ status: 'ok' })
    await actions.close()
  })

  await t.test('a contradictory outcome does not compile', () => {
    const outcomes: Outcome[] = [
      { status: 'error', error: undefined },
      // @ts-expect-error: an error, and ok
      { status: 'ok', error: 'x' },
      // @ts-expect-error: no status
      { result: 1 },
    ]
    assert.equal(outcomes.length, 3)
  })
})

/**
 * Makes actions whose records stay in memory. `ends` returns the outcomes so far. `answer` acknowledges all records
 * that callers wait for.
 */
function inMemory(options: ActionsOptions) {
  const records: { payload: Record<string, unknown>; options: RecordOptions }[] = []
  let given: NotarizerOptions = {}
  const notarizer = {
    record: (payload: Record<string, unknown>, options: RecordOptions) => records.push({ payload, options }),
    flush: async () => {},
    close: async () => {},
  }
  const tallystick = {
    notarizer: (options: NotarizerOptions) => {
      given = options
      return notarizer
    },
  }
  return {
    actions: new Actions({ ...options, tallystick: tallystick as unknown as Tallystick }),
    ends: () =>
      records
        .filter((record) => record.options.type === 'agent-outcome/1')
        .map(({ payload }) => `${payload['name']} ${payload['status']}`),
    answer: () => {
      const answered = records.map(({ options: { tag } }) => ({ tag, id: 'rec_1' }))
      given.onRecorded?.({ records: answered } as unknown as RecordedBatch)
    },
  }
}

function each<Value>(
  name: string,
  values: readonly Value[],
  make: (value: Value) => Case,
): Record<string, Case> {
  return Object.fromEntries(values.map((value, n) => [`${name}:${n}`, make(value)]))
}

function thenable(then: (yes: (value: unknown) => void, no: (error: unknown) => void) => void): object {
  return { then }
}

function fail(error: unknown): never {
  throw error
}

function abortLater(): AbortController {
  const abort = new AbortController()
  setTimeout(() => abort.abort(), 1)
  return abort
}

async function readAll(iterable: unknown): Promise<unknown[]> {
  const read = []
  for await (const item of (await iterable) as AsyncIterable<unknown>) read.push(item)
  return read
}

function* numbers(error?: unknown): Generator<number> {
  yield 1
  if (error) throw error
  yield 2
}

// biome-ignore lint/correctness/useYield: it fails before
function* nothingLater(): Generator<number> {
  throw undefined
}

function* finallyThrows(): Generator<number> {
  try {
    yield 1
  } finally {
    fail(LATE)
  }
}

async function* asyncNumbers(error?: unknown): AsyncGenerator<number> {
  yield* numbers(error)
}

class Subclass extends (ReadableStream as new (source: object) => ReadableStream) {}

function streamOf(error?: unknown): ReadableStream {
  return new ReadableStream(sourceOf(error))
}

function sourceOf(error?: unknown) {
  const made = numbers(error)
  return {
    pull(controller: ReadableStreamDefaultController) {
      const { done, value } = made.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
  }
}
