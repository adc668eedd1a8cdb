import { createReadStream } from 'node:fs'
import { ProofError } from '../src/proof/error.ts'
import { parseJsonText, withoutBom } from '../src/proof/json/json-text.ts'
import type { JsonObject } from '../src/proof/json/json-value.ts'
import { BATCH_BODY_BYTES_MAX } from '../src/records/limits.ts'
import { SourceError } from '../src/verify/source.ts'
import type { Io } from './io.ts'
import { InputError } from './run.ts'

/**
 * The object of a JSON text. Throws InputError, as the server would refuse it: doubled names, numbers that a double changes,
 * half pairs. JSON.parse would hide them, and then something else is sent than was written.
 */
export function parseObject(text: string, name: string): JsonObject {
  let value: unknown
  try {
    value = parseJsonText(withoutBom(text))
  } catch (error) {
    if (error instanceof ProofError) throw new InputError(`${name}: ${error.message}`)
    throw error
  }
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as JsonObject
  throw new InputError(`${name} is no JSON object`)
}

/** The object of an option whose text is JSON. */
export function optionObject(text: string | undefined, option: string): JsonObject | undefined {
  return text === undefined ? undefined : parseObject(text, option)
}

/** The object of an option that takes JSON, a file with it, or `-`. */
export async function readGiven(given: string, option: string, io: Io): Promise<JsonObject> {
  return given.trimStart().startsWith('{') ? parseObject(given, option) : readObject(given, io)
}

/** The object in a file, or in standard input where it is `-`. */
export async function readObject(file: string, io: Io): Promise<JsonObject> {
  return parseObject(await readInput(file, io), nameOf(file))
}

/** The bytes of a file, or of standard input where it is `-`, as they come. Throws SourceError where it can't be read. */
export async function* openInput(file: string, io: Io): AsyncGenerator<Uint8Array, void, undefined> {
  if (file === '-' && io.stdin.isTTY)
    io.stderr.write('tallystick: reads JSON from the terminal; Ctrl-D ends it\n')
  try {
    for await (const bytes of file === '-' ? io.stdin : createReadStream(file)) yield bytes as Uint8Array
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new SourceError('io', `${nameOf(file)} cannot be read (${code})`, { cause: error })
  }
}

export function nameOf(file: string): string {
  return file === '-' ? 'standard input' : file
}

/** Refuses bytes that are not UTF-8, instead of mending them. */
export function decodeText(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new InputError(`${name} is not UTF-8`)
  }
}

async function readInput(file: string, io: Io): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of openInput(file, io)) {
    bytes += piece.length
    if (bytes > BATCH_BODY_BYTES_MAX)
      throw new InputError(
        `${nameOf(file)} has more than ${BATCH_BODY_BYTES_MAX} bytes, which no server takes at once`,
      )
    pieces.push(piece)
  }
  return decodeText(Buffer.concat(pieces), nameOf(file))
}
