import { isLonger, toBase64 } from '../../src/proof/bytes.ts'
import { isSorted, quote, quoteName } from '../../src/proof/json/jcs.ts'

/*
 * Writes the exact form of a value: the text whose hash is the digest (docs/formats/content-digests.md). Python's
 * `actions/form.py` writes the same bytes. test/vectors/content-digests.json tests both.
 */

/**
 * - `jcs`: the value is JSON.
 * - `tagged-jcs`: JSON cannot express some parts of the value. These parts are written with their types.
 */
export type Form = { readonly of: 'jcs' | 'tagged-jcs'; readonly text: string }

/** Reason why a value has no exact form. */
export type NoForm = 'no-form' | 'cyclic' | 'too-deep' | 'too-large' | 'unreadable'

/**
 * Maximum size of a form in UTF-8 bytes. Writing a form of this size takes at most 0.3 s of CPU. The worst case is
 * maps nested 128 deep, because each map is sorted.
 */
export const FORM_BYTES_MAX = 4 * 1024 * 1024
/** Maximum depth of nested objects and arrays, chosen because Python's stack allows no more. */
export const FORM_DEPTH_MAX = 128
const BIGINT_DIGITS_MAX = 4_300

/**
 * Name of the member that states the type of a value. If a plain object has a member of this name, the object is
 * written with the tag `object`.
 */
const TAG = '$is'

/**
 * Returns the form of a value, or the reason why the value has no form. Reads each part of the value only once. Never
 * throws.
 */
export function formOf(value: unknown): Form | NoForm {
  const writer = new Writer()
  try {
    const text = writer.write(value, 0)
    if (isLonger(text, FORM_BYTES_MAX)) return 'too-large'
    return { of: writer.isTagged ? 'tagged-jcs' : 'jcs', text }
  } catch (error) {
    return error instanceof Unwritable ? error.why : 'unreadable'
  }
}

class Unwritable extends Error {
  readonly why: NoForm

  constructor(why: NoForm) {
    super(why)
    this.why = why
  }
}

class Writer {
  isTagged = false
  /** Characters written so far. The form has at least this many bytes. */
  #chars = 0
  /** Objects that contain the current object. They are needed to detect cycles. */
  readonly #around: object[] = []

  write(value: unknown, depth: number): string {
    switch (typeof value) {
      case 'string':
        return this.#string(value)
      case 'boolean':
        return this.#spend(`${value}`)
      case 'number':
        return this.#number(value)
      case 'bigint':
        return this.#bigint(value)
      case 'undefined':
        return this.#tag('undefined')
      case 'object':
        return value === null ? this.#spend('null') : this.#object(value, depth)
      default:
        throw new Unwritable('no-form')
    }
  }

  #spend(text: string): string {
    this.#chars += text.length
    if (this.#chars > FORM_BYTES_MAX) throw new Unwritable('too-large')
    return text
  }

  #tag(type: string, value?: string): string {
    this.isTagged = true
    return this.#spend(`{"${TAG}":"${type}"`) + (value === undefined ? '}' : `,"value":${value}}`)
  }

  #string(text: string): string {
    if (text.length > FORM_BYTES_MAX) throw new Unwritable('too-large')
    if (text.isWellFormed()) return this.#spend(quote(text))
    const points = Array.from(text, (char) => char.codePointAt(0)!.toString(16))
    return this.#tag('text', this.#spend(`"${points.join(' ')}"`))
  }

  #number(number: number): string {
    if (Number.isFinite(number) && !Object.is(number, -0)) return this.#spend(`${number}`)
    return this.#tag('number', number === 0 ? '"-0"' : `"${number}"`)
  }

  #bigint(integer: bigint): string {
    // Hexadecimal is checked first, because its cost is linear in the size and the cost of decimal is not.
    if (integer.toString(16).length > BIGINT_DIGITS_MAX) throw new Unwritable('too-large')
    const digits = `${integer}`
    if (digits.length > BIGINT_DIGITS_MAX) throw new Unwritable('too-large')
    return this.#tag('integer', this.#spend(`"${digits}"`))
  }

  #object(object: object, depth: number): string {
    const kind = kindOf(object)
    switch (kind) {
      case 'Date':
        return this.#date(Date.prototype.getTime.call(object))
      case 'URL':
        return this.#tag('url', this.#string((object as URL).href))
      case 'ArrayBuffer':
      case 'SharedArrayBuffer':
        // The DataView constructor throws if `object` is not a buffer, or if the buffer was transferred. So the call is
        // also a check.
        return this.#bytes(new Uint8Array(new DataView(object as ArrayBuffer).buffer))
      case 'DataView':
      case 'Uint8Array': {
        const { buffer, byteOffset, byteLength } = object as Uint8Array
        return this.#bytes(new Uint8Array(buffer, byteOffset, byteLength))
      }
      case 'TypedArray':
        return this.#typedArray(object as Float64Array)
      default:
        return this.#inside(object, kind, depth + 1)
    }
  }

  #inside(object: object, kind: string | undefined, depth: number): string {
    if (depth > FORM_DEPTH_MAX) throw new Unwritable('too-deep')
    if (this.#around.includes(object)) throw new Unwritable('cyclic')
    this.#around.push(object)
    const text = this.#container(object, kind, depth)
    this.#around.pop()
    return text
  }

  #container(object: object, kind: string | undefined, depth: number): string {
    switch (kind) {
      case 'Object':
        return this.#plain(object as Readonly<Record<string, unknown>>, depth)
      case 'Array':
        return this.#array(object as readonly unknown[], depth)
      case 'Map':
        return this.#tag('map', this.#map(object as Map<unknown, unknown>, depth))
      case 'Set':
        return this.#tag('set', this.#set(object as Set<unknown>, depth))
      default: {
        const { toJSON } = object as { toJSON?: unknown }
        if (typeof toJSON !== 'function') throw new Unwritable('no-form')
        return this.#tag('json', this.write(toJSON.call(object, ''), depth))
      }
    }
  }

  #array(array: readonly unknown[], depth: number): string {
    const { length } = array
    // Uses concatenation, because it is faster than `join`.
    let text = this.#spend('[')
    let holes = 0
    for (let i = 0; i < length; i++) {
      const element = array[i]
      const isHole = element === undefined && !Object.hasOwn(array, i)
      if (isHole) holes++
      text += `${i === 0 ? '' : ','}${isHole ? this.#tag('hole') : this.write(element, depth)}`
    }
    // Arrays with further members have no form: the array of a regular expression match, for example, has the members
    // `index` and `groups`.
    if (Object.keys(array).length !== length - holes) throw new Unwritable('no-form')
    return `${text}]`
  }

  #list(texts: readonly string[]): string {
    return `${this.#spend('[')}${texts.join(',')}]`
  }

  #typedArray(array: Float64Array): string {
    const parts: string[] = []
    for (let i = 0; i < array.length; i++) parts.push(this.write(array[i], 0))
    return this.#tag('typed-array', `[${this.#string(classOf(array))},${this.#list(parts)}]`)
  }

  /** Writes a plain object. Like JSON, leaves out members that are `undefined`. */
  #plain(object: Readonly<Record<string, unknown>>, depth: number): string {
    const names = Object.keys(object)
    // Sorts names as JCS requires (RFC 8785, 3.2.3).
    if (!isSorted(names)) names.sort()
    const pairs: string[] | null = names.every(isUsual) ? null : []
    let isWritable = true
    let text = ''
    for (const name of names) {
      const value = object[name]
      if (value === undefined) continue
      const written = pairs === null ? this.#spend(quoteName(name)) : `${this.#string(name)}:`
      const member = this.write(value, depth)
      text += `${text === '' ? '' : ','}${written}${member}`
      if (pairs === null) continue
      isWritable &&= isUsual(name)
      pairs.push(`[${written.slice(0, -1)},${member}]`)
    }
    if (pairs === null || isWritable) return `${this.#spend('{')}${text}}`
    return this.#tag('object', `[${pairs.sort().join(',')}]`)
  }

  #map(map: Map<unknown, unknown>, depth: number): string {
    const pairs: string[] = []
    for (const [key, value] of Map.prototype.entries.call(map))
      pairs.push(`[${this.write(key, depth)},${this.write(value, depth)}]`)
    return this.#list(pairs.sort())
  }

  #set(set: Set<unknown>, depth: number): string {
    const texts: string[] = []
    for (const value of Set.prototype.values.call(set)) texts.push(this.write(value, depth))
    return this.#list(texts.sort())
  }

  #date(timeMs: number): string {
    return this.#tag('datetime', Number.isNaN(timeMs) ? 'null' : `"${new Date(timeMs).toISOString()}"`)
  }

  #bytes(bytes: Uint8Array): string {
    if (bytes.length > FORM_BYTES_MAX) throw new Unwritable('too-large')
    return this.#tag('bytes', this.#spend(`"${toBase64(bytes)}"`))
  }
}

/** Built-in classes without hidden state. */
const SHOWN = new Set(['Array', 'ArrayBuffer', 'DataView', 'Date', 'Map', 'Set', 'SharedArrayBuffer', 'URL'])

/**
 * Returns the kind of an object, which decides how the object is read. Returns undefined if the object may have
 * hidden state, such as private members, or if it has members that its form would leave out.
 */
function kindOf(object: object): string | undefined {
  const prototypes = prototypesOf(object)
  const name = classOf(object)
  const symbols = Object.getOwnPropertySymbols(object)
  if (symbols.length > 0 && symbols.some((symbol) => isEnumerable(object, symbol))) return undefined
  if (prototypes <= 1) return name === 'Object' && !isFunction(object, 'toJSON') ? 'Object' : undefined
  if (prototypes === 2 && SHOWN.has(name)) {
    // A program can define a class with one of these names. So arrays and DataViews are checked here. The other objects
    // are checked where their content is read.
    if (name === 'Array') return Array.isArray(object) ? name : undefined
    if (name === 'DataView' && !ArrayBuffer.isView(object)) return undefined
    return Object.keys(object).length === 0 ? name : undefined
  }
  const { Buffer } = globalThis as { Buffer?: { prototype: object } }
  const isBuffer = Object.getPrototypeOf(object) === Buffer?.prototype
  if (!ArrayBuffer.isView(object) || (prototypes !== 3 && !isBuffer)) return undefined
  return name === 'Uint8Array' ? name : 'TypedArray'
}

/**
 * Returns the number of prototypes up to `Object.prototype` of any realm. Returns Infinity if the chain does not end
 * there, or has more prototypes than a Buffer.
 */
function prototypesOf(object: object): number {
  let prototype = Object.getPrototypeOf(object) as object | null
  if (prototype === null) return 0
  for (let found = 1; found <= 4; found++) {
    const above = Object.getPrototypeOf(prototype) as object | null
    if (above === null) return Object.hasOwn(prototype, 'isPrototypeOf') ? found : Number.POSITIVE_INFINITY
    prototype = above
  }
  return Number.POSITIVE_INFINITY
}

function classOf(object: object): string {
  return Object.prototype.toString.call(object).slice('[object '.length, -1)
}

function isEnumerable(object: object, name: PropertyKey): boolean {
  return Object.prototype.propertyIsEnumerable.call(object, name)
}

function isFunction(object: object, name: string): boolean {
  return Object.hasOwn(object, name) && typeof (object as Record<string, unknown>)[name] === 'function'
}

/** Returns whether an object with a member of this name can be written as plain JSON. */
function isUsual(name: string): boolean {
  return name !== TAG && name.isWellFormed()
}
