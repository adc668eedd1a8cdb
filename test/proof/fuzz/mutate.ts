import { decode, encode, rfc8949EncodeOptions, Tagged } from 'cborg'

/*
 * Changes of genuine bytes and texts, from a seed: the same seed gives the same changes. Each is what an attacker or a broken disk may
 * do: bits, bytes, lengths, parts left out, doubled or exchanged, parts of something else, and members of JSON named twice.
 */

/** Mulberry32: a number from 0 to 1, exclusive. */
export type Random = () => number

export function makeRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export const below = (random: Random, count: number): number => Math.floor(random() * count)
export const pick = <T>(random: Random, from: readonly T[]): T => from[below(random, from.length)]!

/** Bytes that decide something: edges of CBOR's heads, of UTF-8, of numbers. */
const EDGES = [
  0x00, 0x17, 0x18, 0x1b, 0x1f, 0x3b, 0x40, 0x5b, 0x5f, 0x7f, 0x80, 0x9b, 0x9f, 0xbf, 0xd2, 0xf6, 0xfb, 0xff,
]

type Change = (bytes: Uint8Array, random: Random, other: Uint8Array) => Uint8Array

const CHANGES: readonly Change[] = [
  function flipBit(bytes, random) {
    const changed = bytes.slice()
    changed[below(random, bytes.length)]! ^= 1 << below(random, 8)
    return changed
  },
  function setByte(bytes, random) {
    const changed = bytes.slice()
    changed[below(random, bytes.length)] = random() < 0.5 ? pick(random, EDGES) : below(random, 256)
    return changed
  },
  // Lengths and counts: a byte one up or down.
  function editLength(bytes, random) {
    const changed = bytes.slice()
    changed[below(random, bytes.length)]! += random() < 0.5 ? 1 : -1
    return changed
  },
  function truncate(bytes, random) {
    const at = below(random, bytes.length)
    return random() < 0.5 ? bytes.slice(0, at) : bytes.slice(at)
  },
  function leaveOut(bytes, random) {
    const [from, to] = part(bytes, random)
    return joined(bytes.subarray(0, from), bytes.subarray(to))
  },
  function double(bytes, random) {
    const [from, to] = part(bytes, random)
    return joined(bytes.subarray(0, to), bytes.subarray(from))
  },
  function exchange(bytes, random) {
    const [from, to] = part(bytes, random)
    const at = below(random, bytes.length)
    const rest = joined(bytes.subarray(0, from), bytes.subarray(to))
    return joined(rest.subarray(0, at), bytes.subarray(from, to), rest.subarray(at))
  },
  function splice(bytes, random, other) {
    const [from, to] = part(bytes, random)
    const [start, end] = part(other, random)
    return joined(bytes.subarray(0, from), other.subarray(start, end), bytes.subarray(to))
  },
  function insert(bytes, random) {
    const at = below(random, bytes.length + 1)
    const made = Uint8Array.from({ length: 1 + below(random, 9) }, () =>
      random() < 0.5 ? pick(random, EDGES) : below(random, 256),
    )
    return joined(bytes.subarray(0, at), made, bytes.subarray(at))
  },
  function onlyRandom(_bytes, random) {
    return Uint8Array.from({ length: below(random, 200) }, () => below(random, 256))
  },
]

/** One to four changes in a row. `other`: something genuine of the same kind, of which a part may come in. */
export function mutateBytes(bytes: Uint8Array, random: Random, other: Uint8Array): Uint8Array {
  let changed = bytes
  for (let left = 1 + below(random, 4); left > 0 && changed.length > 0; left--)
    changed = pick(random, CHANGES)(changed, random, other)
  return changed
}

/** The same for texts; a third are changed as JSON, where bytes seldom lead to JSON again. */
export function mutateText(text: string, random: Random, other: string): string {
  if (random() < 0.33 && text.includes('"')) return mutateMembers(text, random, other)
  const bytes = mutateBytes(Buffer.from(text), random, Buffer.from(other))
  return Buffer.from(bytes).toString('utf8')
}

const MEMBER = /"[A-Za-z]+":(?:"(?:[^"\\]|\\.)*"|-?[0-9.eE+-]+|null|true|false|\[\]|\{\})/g
const VALUES = [
  'null',
  '0',
  '-0',
  '1e400',
  '9007199254740993',
  '""',
  '"\\ud800"',
  '"\\u0000"',
  '[]',
  '{}',
  'true',
  '[[[[]]]]',
]

/** A member named twice, left out, moved, given another value, or one of another text in its place. */
function mutateMembers(text: string, random: Random, other: string): string {
  const members = text.match(MEMBER) ?? []
  const others = other.match(MEMBER) ?? []
  if (members.length === 0 || others.length === 0) return `${text},`
  const member = pick(random, members)
  const name = member.slice(0, member.indexOf(':') + 1)
  const changed = pick(random, [
    `${member},${member}`,
    `${name.replace(/[A-Za-z]/, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)}${member.slice(name.length)},${member}`,
    '"more":0',
    `${name}${pick(random, VALUES)}`,
    pick(random, members),
    pick(random, others),
    `${member} `,
  ])
  return text.replace(member, () => changed)
}

function part(bytes: Uint8Array, random: Random): [number, number] {
  const from = below(random, bytes.length + 1)
  // Short ones more often: they leave more as it was.
  return [from, Math.min(bytes.length, from + Math.ceil(random() ** 4 * bytes.length))]
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts))
}

type Cbor = unknown

/** One value within CBOR changed, and all encoded as it must be: what comes behind the check of the encoding meets it. */
export function mutateCbor(bytes: Uint8Array, random: Random, other: Uint8Array): Uint8Array {
  try {
    const value = changedWithin(decodeCbor(bytes), random, () => decodeCbor(other))
    return new Uint8Array(encode(value, rfc8949EncodeOptions))
  } catch {
    return mutateBytes(bytes, random, other)
  }
}

const decodeCbor = (bytes: Uint8Array): Cbor => decode(bytes, { useMaps: true, tags: Tagged.preserve(18) })

function changedWithin(value: Cbor, random: Random, other: () => Cbor): Cbor {
  if (random() < 0.1)
    return pick(random, [null, 0, -1, 2 ** 40, '', new Uint8Array(32), [], new Map(), true, other()])
  if (value instanceof Tagged) return new Tagged(18, changedWithin(value.value, random, other))
  if (Array.isArray(value)) return changedList(value, random, other)
  if (value instanceof Map) {
    const entries = changedList([...value], random, other) as [unknown, unknown][]
    return new Map(entries.filter((entry) => Array.isArray(entry)))
  }
  if (value instanceof Uint8Array)
    return random() < 0.5 ? mutateCbor(value, random, value) : mutateBytes(value, random, value)
  if (typeof value === 'number') return value + (random() < 0.5 ? 1 : -1)
  return `${value}x`
}

function changedList(list: readonly Cbor[], random: Random, other: () => Cbor): Cbor[] {
  const at = below(random, Math.max(1, list.length))
  const kind = random()
  if (list.length === 0 || kind < 0.1) return [...list, list[at] ?? 0]
  if (kind < 0.2) return list.toSpliced(at, 1)
  if (kind < 0.3) return list.toSpliced(at, 1, list[below(random, list.length)])
  return list.with(at, changedWithin(list[at], random, other))
}
