import { type Outcome, outcomeOfThrown } from './action.ts'

type End = (outcome: Outcome) => unknown
type Method = (this: unknown, ...args: unknown[]) => unknown
type Iteration = { next: Method; return?: Method; throw?: Method }

/** Outcome of an action whose result was not read to its end. */
const LEFT: Outcome = { status: 'unknown' }

/**
 * Observes the result of an action, and calls `end` once, when the result ends. Returns the result for the caller.
 *
 * - A value or a collection ends at once, as `ok`.
 * - An iterator, a generator or an iterable ends when it is read to its end, when it fails, or when its reader stops.
 *   The same object is returned, with observed methods.
 * - A ReadableStream ends in the same way as an iterator. A new stream is returned, which reads the original.
 * - A stream of Node ends when it closes.
 * - An object whose end cannot be observed (a Response with a body, a child process, a socket, an Observable, a frozen
 *   generator, a locked stream) ends at once, as `unknown`.
 */
export function follow<Result>(result: Result, end: End): Result {
  try {
    return followed(result, end) as Result
  } catch {
    // A getter of the result threw, or the object cannot be changed.
    end({ status: 'unknown' })
    return result
  }
}

function followed(result: unknown, end: End): unknown {
  if (typeof result !== 'object' || result === null || isCollection(result)) {
    end({ status: 'ok', result })
    return result
  }
  if (isPlainStream(result)) return observedStream(result, end)
  if (isNodeStream(result)) observeNodeStream(result, end)
  else if (Symbol.asyncIterator in result) observeIterable(result, Symbol.asyncIterator, end)
  else if (Symbol.iterator in result) observeIterable(result, Symbol.iterator, end)
  else if (isResponse(result)) end({ status: result.body === null && result.ok ? 'ok' : 'unknown' })
  else if (goesOn(result)) end({ status: 'unknown' })
  else end({ status: 'ok', result })
  return result
}

/**
 * Returns true for an object that reports its end later: a child process, a worker, a socket, an Observable, a
 * writable stream.
 */
function goesOn(value: object): boolean {
  const { on, emit, addEventListener, subscribe, getWriter } = value as Record<string, unknown>
  return (
    (isMethod(on) && isMethod(emit)) ||
    isMethod(addEventListener) ||
    isMethod(subscribe) ||
    isMethod(getWriter)
  )
}

function isMethod(value: unknown): boolean {
  return typeof value === 'function'
}

/** Returns true for a value that already has all of its items. */
function isCollection(value: object): boolean {
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return true
  if (Symbol.asyncIterator in value || isNodeStream(value)) return false
  const { size, length, keys } = value as Record<string, unknown>
  return (
    !('next' in value) &&
    (typeof size === 'number' || typeof length === 'number' || typeof keys === 'function')
  )
}

function isResponse(value: object): value is Response {
  return typeof Response === 'function' && value instanceof Response
}

function observeIterable(
  iterable: object,
  symbol: typeof Symbol.iterator | typeof Symbol.asyncIterator,
  end: End,
): void {
  if (typeof (iterable as Partial<Iteration>).next === 'function') {
    observeIterator(iterable as Iteration, end)
    return
  }
  const open = (iterable as Record<symbol, Method>)[symbol]!
  define(iterable, symbol, function (this: unknown, ...args) {
    const iterator = open.apply(this, args)
    try {
      observeIterator(iterator as Iteration, end)
    } catch {
      // The iterator cannot be changed, so its end is not observed. The reader gets it unchanged.
    }
    return iterator
  })
}

/**
 * Observes the methods of an iterator, sync or async. If a method returns a promise, the promise's result is
 * observed.
 */
function observeIterator(iterator: Iteration, end: End): void {
  const { next, return: leave, throw: fail } = iterator
  if (leave) observe(iterator, 'return', leave, (done) => done && end(LEFT))
  // The reader may pass an error to `throw` and get the same error back. The action then did not fail by itself.
  if (fail)
    observe(iterator, 'throw', fail, (done, value) => done && end({ status: 'ok', result: value }), true)
  observe(iterator, 'next', next, (done, value) => done && end({ status: 'ok', result: value }))

  function observe(
    on: Iteration,
    name: keyof Iteration,
    method: Method,
    answered: (done: unknown, value: unknown) => unknown,
    isThrown = false,
  ): void {
    define(on, name, function (this: unknown, ...args) {
      const threw = (error: unknown) => end(isThrown && error === args[0] ? LEFT : outcomeOfThrown(error))
      const took = (answer: unknown) => {
        const found = Object(answer) as { done?: unknown; value?: unknown }
        // Other objects are ignored, because they are no results of iterators: `next` of a database cursor returns
        // documents, which may have a member `done`.
        if (Object.keys(found).every((key) => key === 'done' || key === 'value'))
          answered(found.done, found.value)
      }
      let answer: unknown
      try {
        answer = method.apply(this, args)
      } catch (error) {
        threw(error)
        throw error
      }
      if (isThenable(answer)) answer.then(took, threw)
      else took(answer)
      return answer
    })
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null)?.then === 'function'
}

function define(on: object, name: PropertyKey, value: Method): void {
  Object.defineProperty(on, name, { value, configurable: true, writable: true, enumerable: false })
}

/**
 * Returns true for a ReadableStream itself. A stream of a subclass, or with added members, is excluded, because the
 * replacement would lack them.
 */
function isPlainStream(value: object): value is ReadableStream {
  return (
    typeof ReadableStream === 'function' &&
    Object.getPrototypeOf(value) === ReadableStream.prototype &&
    Object.keys(value).length === 0 &&
    !Object.hasOwn(value, Symbol.asyncIterator)
  )
}

/** Returns a stream that reads `stream` on demand. Errors and `cancel` pass through. */
function observedStream(stream: ReadableStream, end: End): ReadableStream {
  const isOfBytes = readsBytes(stream)
  const reader = stream.getReader()
  const pull = async (controller: ReadableStreamDefaultController | ReadableByteStreamController) => {
    try {
      const { done, value } = await reader.read()
      if (!done) return controller.enqueue(value)
    } catch (error) {
      end(outcomeOfThrown(error))
      throw error
    }
    end({ status: 'ok' })
    controller.close()
    // Returns the buffer of a BYOB reader to the reader.
    if ('byobRequest' in controller) controller.byobRequest?.respond(0)
  }
  const cancel = (reason: unknown) => {
    end(LEFT)
    return reader.cancel(reason)
  }
  if (isOfBytes) return new ReadableStream({ type: 'bytes', pull, cancel })
  return new ReadableStream({ pull, cancel }, { highWaterMark: 0 })
}

function readsBytes(stream: ReadableStream): boolean {
  try {
    stream.getReader({ mode: 'byob' }).releaseLock()
    return true
  } catch {
    return false
  }
}

type NodeStream = {
  readonly readableEnded: boolean
  readonly errored?: unknown
  readonly closed?: boolean
  once(event: 'close', listener: () => void): unknown
}

function isNodeStream(value: object): value is NodeStream {
  const { pipe, once } = value as Record<string, unknown>
  return typeof pipe === 'function' && typeof once === 'function' && 'readableEnded' in value
}

/**
 * Observes a stream of Node. It listens only to `close`: a listener for `data` would start the stream, and one for
 * `error` would hide unhandled errors.
 */
function observeNodeStream(stream: NodeStream, end: End): void {
  const closed = () => {
    if (stream.errored !== null && stream.errored !== undefined) end(outcomeOfThrown(stream.errored))
    else end(stream.readableEnded ? { status: 'ok' } : LEFT)
  }
  if (stream.closed) closed()
  else stream.once('close', closed)
}
