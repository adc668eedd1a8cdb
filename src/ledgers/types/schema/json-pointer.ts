import type { JsonObject, JsonValue } from './json.ts'

/** Returns a JSON Pointer (RFC 6901). */
export function formatPointer(segments: readonly string[]): string {
  return segments.map((segment) => `/${segment.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

const POINTER = /^(?:\/(?:[^~/]|~[01])*)*$/

export function isPointer(text: string): boolean {
  return POINTER.test(text)
}

/**
 * Returns the value at a pointer, or undefined if there is no value. Only an object's own properties count as members.
 */
export function resolvePointer(document: JsonValue, pointer: string): JsonValue | undefined {
  let value: JsonValue | undefined = document
  for (const segment of pointer.split('/').slice(1)) {
    if (value === null || typeof value !== 'object') return undefined
    // RFC 6901 §4 requires that ~1 is replaced first. In the other order, ~01 would become a slash.
    const name = segment.replaceAll('~1', '/').replaceAll('~0', '~')
    value = Array.isArray(value) ? elementOf(value, name) : memberOf(value as JsonObject, name)
  }
  return value
}

const INDEX = /^(?:0|[1-9][0-9]*)$/

function elementOf(array: readonly JsonValue[], name: string): JsonValue | undefined {
  return INDEX.test(name) ? array[Number(name)] : undefined
}

function memberOf(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined
}
