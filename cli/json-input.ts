import { createReadStream } from 'node:fs'
import { ProofError } from '../src/proof/error.ts'
import { parseJsonText, withoutBom } from '../src/proof/json/json-text.ts'
import type { JsonObject } from '../src/proof/json/json-value.ts'
import { BATCH_BODY_BYTES_MAX } from '../src/records/limits.ts'
import { SourceError } from '../src/verify/source.ts'
import type { Io } from './io.ts'
import { InputError } from './run.ts'

/**
 * Parses a JSON object. Throws InputError where the server would refuse the text: duplicate names, numbers that a
 * double changes, lone surrogates. JSON.parse would accept these silently and change the value, so other data than
 * the written text would be sent.
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
  throw new InputError(`${name} is not a JSON object`)
}

/** Parses the JSON object of an option. Returns undefined if the option is absent. */
export function optionObject(text: string | undefined, option: string): JsonObject | undefined {
  return text === undefined ? undefined : parseObject(text, option)
}

/** Returns the JSON object of an option that takes JSON, a file, or `-`. */
export async function readJsonArgument(given: string, option: string, io: Io): Promise<JsonObject> {
  return given.trimStart().startsWith('{') ? parseObject(given, option) : readObject(given, io)
}

/** Reads a JSON object from a file, or from standard input for `-`. */
export async function readObject(file: string, io: Io): Promise<JsonObject> {
  return parseObject(await readInput(file, io), nameOf(file))
}

/** Yields the bytes of a file, or of standard input for `-`. Throws SourceError if the file cannot be read. */
export async function* openInput(file: string, io: Io): AsyncGenerator<Uint8Array, void, undefined> {
  if (file === '-' && io.stdin.isTTY)
    io.stderr.write('tallystick: reading JSON from the terminal; end it with Ctrl-D\n')
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

/** Decodes UTF-8. Throws InputError for other bytes, instead of replacing them. */
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
        `${nameOf(file)} has more than ${BATCH_BODY_BYTES_MAX} bytes, the maximum of a request`,
      )
    pieces.push(piece)
  }
  return decodeText(Buffer.concat(pieces), nameOf(file))
}
