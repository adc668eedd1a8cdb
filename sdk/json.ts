import { JSON_DEPTH_MAX } from '../src/proof/request-limits.ts'
import { UsageError } from './errors.ts'

/**
 * Returns JSON text, for values that JSON can express without loss. For any other value, throws UsageError that names
 * the position in the value.
 *
 * Values are refused if JSON.stringify would write null or `{}` for them, leave out an element, or write a lone
 * surrogate. Also refused are values that the server would refuse without naming the record: U+0000, and objects and
 * arrays nested deeper than `depthMax`. As in JSON.stringify, members that are `undefined` are left out, and `toJSON`
 * is called: a Date becomes an ISO string. `at`: JSON Pointer of the value, for the message.
 *
 * A check followed by JSON.stringify takes 1.4 times as long as JSON.stringify alone. With a replacer function it
 * takes 2.2 times as long, and building the text here 2.4 times as long.
 */
export function toJson(value: unknown, at = '', depthMax = JSON_DEPTH_MAX): string {
  try {
    check(value, depthMax)
    const text = JSON.stringify(value)
    // Only an escape can stand for a lone surrogate or U+0000. So strings are checked only if the text has an escape,
    // which is rare.
    if (text.includes('\\u')) checkStrings(value)
    return text
  } catch (error) {
    if (!(error instanceof Lossy)) throw error
    const path = error.path.map((step) => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
    throw new UsageError(`${at + path || 'the value'} ${error.message}`)
  }
}

/** The error for a value that JSON would lose. The path is built while the error passes upwards. */
class Lossy extends Error {
  readonly path: string[] = []

  at(step: string | number): this {
    this.path.unshift(`${step}`)
    return this
  }
}

/**
 * Throws Lossy for a value that JSON would lose. `depth`: number of levels of objects and arrays that are still
 * allowed.
 */
function check(value: unknown, depth: number): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return
    case 'number':
      if (!Number.isFinite(value)) throw new Lossy(`is ${value}, which JSON cannot represent`)
      return
    case 'object':
      if (value === null) return
      if (depth === 0) throw new Lossy('is nested too deep, or contains itself')
      if (typeof (value as { toJSON?: unknown }).toJSON === 'function') check(toJsonValueOf(value), depth - 1)
      else if (Array.isArray(value)) checkArray(value, depth - 1)
      else checkObject(value, depth - 1)
      return
    default:
      throw new Lossy(
        `is ${value === undefined ? 'undefined' : `a ${typeof value}`}, which JSON does not have`,
      )
  }
}

function checkArray(array: readonly unknown[], depth: number): void {
  let i = 0
  try {
    for (; i < array.length; i++) check(array[i], depth)
  } catch (error) {
    throw error instanceof Lossy ? error.at(i) : error
  }
}

function checkObject(object: object, depth: number): void {
  const names = Object.keys(object)
  if (names.length === 0 || object instanceof Error) refuseOpaque(object)
  let name = ''
  try {
    for (name of names) {
      const member = (object as Record<string, unknown>)[name]
      if (member !== undefined) check(member, depth)
    }
  } catch (error) {
    throw error instanceof Lossy ? error.at(name) : error
  }
}

function toJsonValueOf(value: object): unknown {
  if (value instanceof Date && Number.isNaN(value.getTime())) throw new Lossy('is an invalid Date')
  return (value as { toJSON(name: string): unknown }).toJSON('')
}

/**
 * Throws for objects that JSON.stringify writes as `{}`: a Map, a Set, a Promise, an Error, an instance with only
 * private fields.
 */
function refuseOpaque(object: object): void {
  const prototype = Object.getPrototypeOf(object) as object | null
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return
  const kind = (object as { constructor?: { name?: string } }).constructor?.name
  throw new Lossy(`is ${kind ? `of class ${kind}` : 'an object'}, which has no content in JSON`)
}

/** Throws Lossy for lone surrogates and U+0000, in names and values. */
function checkStrings(value: unknown): void {
  if (typeof value === 'string') checkString(value)
  if (value === null || typeof value !== 'object') return
  const speaks = typeof (value as { toJSON?: unknown }).toJSON === 'function'
  if (speaks) checkStrings(toJsonValueOf(value))
  for (const [name, member] of speaks ? [] : Object.entries(value)) {
    try {
      checkString(name)
      checkStrings(member)
    } catch (error) {
      throw error instanceof Lossy ? error.at(name) : error
    }
  }
}

function checkString(text: string): void {
  if (!text.isWellFormed()) throw new Lossy('contains half of a surrogate pair, which is not a character')
  if (text.includes('\0')) throw new Lossy('contains U+0000, which records do not allow')
}
