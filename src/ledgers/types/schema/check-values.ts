import { type Check, type Compiling, fault, spendText } from './check.ts'
import { isMultiple } from './exact-decimal.ts'
import { FORMATS } from './formats.ts'
import { equalityText, type JsonObject, type JsonValue } from './json.ts'
import type { Meter } from './meter.ts'

type Compile = (schema: JsonObject, compiling: Compiling) => Check

/** Keywords that check the value itself, not its members or items. */
export const VALUE_KEYWORDS: Readonly<Record<string, Compile>> = {
  type: compileType,
  enum: (schema) => compileEnum('enum', schema['enum'] as JsonValue[]),
  const: (schema) => compileEnum('const', [schema['const']!]),
  multipleOf: compileMultipleOf,
  maximum: bound('maximum', (n, max) => n <= max, 'must be at most'),
  exclusiveMaximum: bound('exclusiveMaximum', (n, max) => n < max, 'must be less than'),
  minimum: bound('minimum', (n, min) => n >= min, 'must be at least'),
  exclusiveMinimum: bound('exclusiveMinimum', (n, min) => n > min, 'must be greater than'),
  maxLength: length('maxLength', (chars, max) => chars <= max, 'must have at most', 'characters'),
  minLength: length('minLength', (chars, min) => chars >= min, 'must have at least', 'characters'),
  pattern: compilePattern,
  format: compileFormat,
}

function isOfType(value: JsonValue, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'integer':
      return Number.isInteger(value)
    default:
      return typeof value === type
  }
}

function compileType(schema: JsonObject): Check {
  const types = [schema['type']].flat() as string[]
  const message = `must be of type ${types.join(' or ')}`
  return (value) => (types.some((type) => isOfType(value, type)) ? null : fault('type', message))
}

/**
 * Compiles enum and const. Equal values have equal canonical texts. So one look-up in a set replaces a comparison with
 * each allowed value.
 */
function compileEnum(keyword: string, values: readonly JsonValue[]): Check {
  const known = new Set(values.map(equalityText))
  const hasStructures = values.some((value) => typeof value === 'object' && value !== null)
  const message = values.length === 1 ? 'must be the only allowed value' : 'must be an allowed value'
  return (value, meter) => {
    const isStructure = typeof value === 'object' && value !== null
    if (isStructure && !hasStructures) return fault(keyword, message)
    return known.has(spendCanonical(value, meter)) ? null : fault(keyword, message)
  }
}

/**
 * Returns the canonical text, and spends the steps for it afterwards. So a validation may exceed its limit by the steps
 * for one document.
 */
export function spendCanonical(value: JsonValue, meter: Meter): string {
  const text = equalityText(value)
  meter.spend(text.length)
  return text
}

/** Number of steps that one exact calculation costs. Its BigInts have up to 650 digits. */
const DECIMAL_STEPS = 200

function compileMultipleOf(schema: JsonObject): Check {
  const divisor = schema['multipleOf'] as number
  return (value, meter) => {
    if (typeof value !== 'number') return null
    meter.spend(DECIMAL_STEPS)
    return isMultiple(value, divisor) ? null : fault('multipleOf', `must be a multiple of ${divisor}`)
  }
}

function bound(keyword: string, holds: (n: number, limit: number) => boolean, must: string): Compile {
  return (schema) => {
    const limit = schema[keyword] as number
    return (value) =>
      typeof value !== 'number' || holds(value, limit) ? null : fault(keyword, `${must} ${limit}`)
  }
}

function length(
  keyword: string,
  holds: (n: number, limit: number) => boolean,
  must: string,
  what: string,
): Compile {
  return (schema) => {
    const limit = schema[keyword] as number
    return (value, meter) => {
      if (typeof value !== 'string') return null
      spendText(meter, value.length)
      return holds(countCodePoints(value), limit) ? null : fault(keyword, `${must} ${limit} ${what}`)
    }
  }
}

function countCodePoints(text: string): number {
  let count = 0
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) >> 10 !== LOW_SURROGATES) count++
  }
  return count
}

/** The high six bits of all low surrogates, 0xdc00 to 0xdfff. */
const LOW_SURROGATES = 0x37

function compilePattern(schema: JsonObject, compiling: Compiling): Check {
  const pattern = compiling.pattern(schema['pattern'] as string)
  return (value, meter) =>
    typeof value !== 'string' || pattern.test(value, meter)
      ? null
      : fault('pattern', 'must match the pattern of the type')
}

function compileFormat(schema: JsonObject): Check {
  const format = schema['format'] as string
  const isFormat = FORMATS[format]!
  return (value, meter) => {
    if (typeof value !== 'string') return null
    spendFormat(meter, value)
    return isFormat(value) ? null : fault('format', `must be in the format ${format}`)
  }
}

/**
 * Spends steps for checking a format. The number of steps is high enough for formats that read a text several times.
 */
function spendFormat(meter: Meter, text: string): void {
  spendText(meter, 4 * text.length)
}
