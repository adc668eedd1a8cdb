import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import type { z } from 'zod'
import { ProofError } from '../proof/error.ts'
import { parseJsonText } from '../proof/json/json-text.ts'
import { quoted } from '../proof/quoted.ts'
import { MCP_IGNORED_NAMES_MAX } from './limits.ts'

/**
 * Arguments of a tool call. `values`: the arguments that the tool has. `ignored`: the names of other arguments in the
 * call.
 */
export type Arguments = {
  readonly values: Readonly<Record<string, unknown>>
  readonly ignored: readonly string[]
}

/**
 * Returns the schema of a tool, changed so that it accepts mistakes which clients make.
 *
 * - Unknown members are ignored, and the answer names them. Many clients add members of their own (`toolCallId`,
 *   `sessionId`).
 * - A name that looks like a misspelt argument is refused, because a record cannot be undone.
 * - A name in `unsupported` is refused. It is a member of the REST API that the tool does not have.
 * - If an optional argument is null, it counts as absent.
 * - A text is converted if the argument is an object, a list, a number or a boolean.
 */
export function lenientSchema(
  input: z.ZodObject,
  unsupported: readonly string[] = [],
): StandardSchemaWithJSON<unknown, Arguments> {
  const { vendor, version, jsonSchema } = input['~standard']
  return {
    '~standard': {
      ...{ vendor, version, jsonSchema },
      validate(given) {
        const { members, ignored } = sort(input, given)
        const refused = [
          ...ignored.flatMap((name) => misspelledOf(input, name)),
          ...unsupportedOf(given, unsupported),
        ]
        const read = input.safeParse(members)
        if (read.success && refused.length === 0) return { value: { values: read.data, ignored } }
        return { issues: [...refused, ...(read.error?.issues ?? [])] }
      },
    },
  }
}

/** Returns a text for the model that names the ignored members. Returns null if no member was ignored. */
export function noteOf(tool: string, input: z.ZodObject, ignored: readonly string[]): string | null {
  if (ignored.length === 0) return null
  const names = ignored.slice(0, MCP_IGNORED_NAMES_MAX).map((name) => quoted(name.slice(0, 64)))
  return `Ignored, because ${tool} has no such argument: ${names.join(', ')}. It has: ${Object.keys(input.shape).join(', ')}.`
}

function sort(input: z.ZodObject, given: unknown): { members: unknown; ignored: string[] } {
  if (given === null || typeof given !== 'object' || Array.isArray(given))
    return { members: given, ignored: [] }
  const members: Record<string, unknown> = {}
  const ignored: string[] = []
  for (const [name, value] of Object.entries(given)) {
    const schema = Object.hasOwn(input.shape, name) ? (input.shape[name] as z.ZodType) : undefined
    if (schema === undefined) ignored.push(name)
    else if (value !== null || !schema.safeParse(undefined).success)
      members[name] = convertText(schema, value)
  }
  return { members, ignored }
}

/** Converts a text if the schema accepts its JSON value but not the text itself. Returns any other value unchanged. */
function convertText(schema: z.ZodType, value: unknown): unknown {
  if (typeof value !== 'string') return value
  const found = parsed(value)
  return found !== undefined && !schema.safeParse(value).success && schema.safeParse(found).success
    ? found
    : value
}

/**
 * Parses a JSON text. Returns undefined if the text is not JSON, or if a JavaScript value cannot represent it
 * exactly.
 */
function parsed(text: string): unknown {
  try {
    return parseJsonText(text)
  } catch (error) {
    if (error instanceof ProofError) return undefined
    throw error
  }
}

function unsupportedOf(given: unknown, unsupported: readonly string[]) {
  const members = Object(given) as Record<string, unknown>
  return unsupported
    .filter((name) => Object.hasOwn(members, name) && members[name] !== null)
    .map((name) => ({
      path: [name],
      message:
        'this tool does not support it; use POST /v1/records of the REST API, the SDK or the command line',
    }))
}

function misspelledOf(input: z.ZodObject, name: string) {
  const meant = Object.keys(input.shape).find((each) => isAlike(each, name))
  return meant === undefined
    ? []
    : [{ path: [name], message: `there is no such argument; do you mean ${meant}?` }]
}

/**
 * Returns true if two names are alike. They may differ in case and punctuation, and in addition in one of these: an
 * ending such as `Id`, one letter, two swapped letters.
 */
function isAlike(a: string, b: string): boolean {
  const [one, other] = [a, b].map((name) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')) as [
    string,
    string,
  ]
  if (one === other || stem(one) === stem(other)) return true
  return one.length >= ALIKE_CHARS_MIN && (isOneEdit(one, other) || isSwapped(one, other))
}

/** Removes the ending of a name: `parentid` becomes `parent`, `idempotencykey` becomes `idempotency`. */
function stem(name: string): string {
  return name.replace(/(?<=.{4})(?:ids?|key|s)$/, '')
}

/** Returns true if two swapped neighbouring letters are the only difference between the texts. */
function isSwapped(a: string, b: string): boolean {
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  return a.length === b.length && b === a.slice(0, at) + (a[at + 1] ?? '') + a[at]! + a.slice(at + 2)
}

/** Minimum number of characters of names that are compared. Shorter names are too similar to each other. */
const ALIKE_CHARS_MIN = 5

/** Returns true if the only difference between the texts is one additional, missing or different letter. */
function isOneEdit(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  const isLonger = a.length > b.length
  return a.slice(a.length >= b.length ? at + 1 : at) === b.slice(isLonger ? at : at + 1)
}
