import { fromBase64 } from '../../src/proof/bytes.ts'

/**
 * Converts the tagged form of a value back to the value (docs/formats/content-digests.md). Supports all tags that the
 * JavaScript implementation writes.
 */
export function untag(form: unknown): unknown {
  if (form === null || typeof form !== 'object') return form
  if (Array.isArray(form)) {
    const array: unknown[] = []
    form.forEach((each, i) => {
      if (each?.$is !== 'hole') array[i] = untag(each)
    })
    array.length = form.length
    return array
  }
  const { $is, value } = form as { $is?: string; value: never }
  if ($is === undefined) return objectOf(Object.entries(form))
  const read = TAGS[$is]
  if (read === undefined) throw new Error(`no value for ${$is}`)
  return read(value)
}

const TAGS: Readonly<Record<string, (value: never) => unknown>> = {
  undefined: () => undefined,
  number: (text: string) => Number(text),
  integer: (digits: string) => BigInt(digits),
  text: (points: string) =>
    points
      .split(' ')
      .map((point) => String.fromCodePoint(Number.parseInt(point, 16)))
      .join(''),
  object: (pairs: [unknown, unknown][]) => objectOf(pairs),
  map: (pairs: [unknown, unknown][]) => new Map(pairs.map(([key, value]) => [untag(key), untag(value)])),
  set: (values: unknown[]) => new Set(values.map(untag)),
  bytes: (text: string) => fromBase64(text),
  datetime: (text: string | null) => new Date(text ?? Number.NaN),
  url: (text: string) => new URL(text),
  'typed-array': ([name, numbers]: [string, unknown[]]) =>
    new (globalThis as unknown as Record<string, new (numbers: unknown[]) => object>)[name]!(
      numbers.map(untag),
    ),
  json: (value: unknown) => new Declared(untag(value)),
}

export class Declared {
  readonly #json: unknown

  constructor(json: unknown) {
    this.#json = json
  }

  toJSON(): unknown {
    return this.#json
  }
}

function objectOf(pairs: readonly (readonly [unknown, unknown])[]): object {
  return Object.fromEntries(pairs.map(([name, value]) => [untag(name), untag(value)]))
}
