import { mutateBytes } from './bytes.ts'
import { below, pick, type Random } from './random.ts'
import { changeText, encodeAny, INTEGERS, pickLength } from './text.ts'

/*
 * CBOR as items that preserve details which decoded values lose: the width of each head, indefinite lengths, the order
 * of maps, and floats as bits.
 */

/**
 * A CBOR item. `value`: the argument of an integer, a tag or a simple value, or the bits of a float (major 7, width 2
 * to 8).
 */
export type Item = {
  major: number
  value: bigint
  /** Number of bytes of the argument; null if the argument takes as few bytes as possible. */
  width: 0 | 1 | 2 | 4 | 8 | null
  body: Uint8Array | null
  /** Items of an array, alternating keys and values of a map, or the single item of a tag. */
  items: Item[] | null
  isOpen: boolean
  /** Number that is added to the length or count in the head. */
  skew: bigint
}

const plain = { width: null, body: null, items: null, isOpen: false, skew: 0n } as const

export const int = (value: bigint | number): Item => {
  const number = BigInt(value)
  return number < 0n ? { ...plain, major: 1, value: -1n - number } : { ...plain, major: 0, value: number }
}
export const bytes = (body: Uint8Array): Item => ({ ...plain, major: 2, value: 0n, body })
export const text = (of: string): Item => ({ ...plain, major: 3, value: 0n, body: encodeAny(of) })
export const array = (...items: Item[]): Item => ({ ...plain, major: 4, value: 0n, items })
export const map = (...pairs: readonly (readonly [Item, Item])[]): Item => ({
  ...plain,
  major: 5,
  value: 0n,
  items: pairs.flat(),
})
export const tag = (value: bigint | number, item: Item): Item => ({
  ...plain,
  major: 6,
  value: BigInt(value),
  items: [item],
})
const simple = (value: number, width: Item['width'] = null): Item => ({
  ...plain,
  major: 7,
  value: BigInt(value),
  width,
})
const [FALSE, TRUE, NULL, UNDEFINED] = [20, 21, 22, 23].map((value) => simple(value)) as [
  Item,
  Item,
  Item,
  Item,
]

export const copyItem = (item: Item): Item => ({
  ...item,
  body: item.body?.slice() ?? null,
  items: item.items?.map(copyItem) ?? null,
})

/** Returns the value of a label in a map. Returns null if the map lacks the label. */
export function memberOf(item: Item, label: number): Item | null {
  const { items } = item
  const wanted = Buffer.from(encodeItem(int(label))).toString('hex')
  for (let i = 0; items && i + 1 < items.length; i += 2)
    if (Buffer.from(encodeItem(items[i]!)).toString('hex') === wanted) return items[i + 1]!
  return null
}

export function encodeItem(item: Item): Uint8Array {
  const parts: Uint8Array[] = []
  write(item, parts)
  return new Uint8Array(Buffer.concat(parts))
}

function write({ major, value, width, body, items, isOpen, skew }: Item, parts: Uint8Array[]): void {
  if (isOpen) parts.push(Uint8Array.of((major << 5) | 31))
  if (body) {
    if (isOpen) {
      const half = body.length >> 1
      write({ ...plain, major, value: 0n, body: body.subarray(0, half) }, parts)
      write({ ...plain, major, value: 0n, body: body.subarray(half) }, parts)
    } else {
      parts.push(headOf(major, BigInt(body.length) + skew, width), body)
    }
  } else if (items) {
    const count =
      major === 6 ? value : BigInt(major === 5 ? Math.ceil(items.length / 2) : items.length) + skew
    if (!isOpen) parts.push(headOf(major, count, width))
    for (const item of items) write(item, parts)
  } else {
    parts.push(headOf(major, value, width))
  }
  if (isOpen) parts.push(Uint8Array.of(0xff))
}

function headOf(major: number, argument: bigint, width: Item['width']): Uint8Array {
  const value = BigInt.asUintN(64, argument)
  const shortest = value < 24n ? 0 : value < 256n ? 1 : value < 65_536n ? 2 : value < 2n ** 32n ? 4 : 8
  const bytes = Math.max(width ?? 0, major === 7 && width !== null ? 0 : shortest)
  if (bytes === 0) return Uint8Array.of((major << 5) | Number(value & 31n))
  const head = new Uint8Array(1 + bytes)
  head[0] = (major << 5) | (23 + Math.log2(bytes) + 1)
  for (let i = 0, left = value; i < bytes; i++, left >>= 8n) head[bytes - i] = Number(left & 255n)
  return head
}

/** Parses one well-formed CBOR item that takes the whole input. Returns null for any other input. */
export function decodeItem(data: Uint8Array): Item | null {
  try {
    const [item, end] = read(data, 0, 0)
    return end === data.length ? item : null
  } catch {
    return null
  }
}

const WIDTHS = [1, 2, 4, 8] as const

function read(data: Uint8Array, at: number, depth: number): [Item, number] {
  const first = data[at]
  if (first === undefined || depth > 40) throw new Error('no item')
  const [major, low] = [first >> 5, first & 31]
  let end = at + 1
  if (low > 27 && low !== 31) throw new Error('a reserved head')
  const width = low < 24 ? 0 : low === 31 ? 0 : WIDTHS[low - 24]!
  let value = BigInt(low)
  if (width > 0) {
    if (end + width > data.length) throw new Error('cut off')
    value = BigInt(`0x${Buffer.from(data.subarray(end, end + width)).toString('hex')}`)
    end += width
  }
  if (low === 31) throw new Error('indefinite')
  const item: Item = { ...plain, major, value, width: major === 7 ? width : null }
  if (major === 2 || major === 3) {
    const to = end + Number(value)
    if (to > data.length) throw new Error('cut off')
    return [{ ...item, body: data.slice(end, to) }, to]
  }
  const count = major === 4 ? Number(value) : major === 5 ? 2 * Number(value) : major === 6 ? 1 : 0
  if (count > data.length) throw new Error('cut off')
  if (major < 4 || major === 7) return [item, end]
  const items: Item[] = []
  for (let i = 0; i < count; i++) {
    const [child, to] = read(data, end, depth + 1)
    items.push(child)
    end = to
  }
  return [{ ...item, items }, end]
}

type Place = { readonly item: Item; readonly parent: Item | null; readonly index: number }

function placesOf(item: Item, parent: Item | null = null, index = 0, found: Place[] = []): Place[] {
  found.push({ item, parent, index })
  for (const [i, child] of (item.items ?? []).entries()) placesOf(child, item, i, found)
  return found
}

const float = (width: 2 | 4 | 8, bits: bigint): Item => ({ ...plain, major: 7, value: bits, width })

/**
 * Floats that readers may handle differently: zeros, subnormals, infinities, NaN with and without a payload, integers
 * as floats, and values that fit into a shorter width.
 */
const FLOATS = [
  ...[0x0000n, 0x8000n, 0x0001n, 0x03ffn, 0x3c00n, 0x7bffn, 0x7c00n, 0xfc00n, 0x7e00n, 0x7e01n, 0x7c01n].map(
    (b) => float(2, b),
  ),
  ...[
    0x00000001n,
    0x3f800000n,
    0x47000000n,
    0x7f7fffffn,
    0x7f800000n,
    0x7fc00000n,
    0x7fc00001n,
    0x7f800001n,
  ].map((b) => float(4, b)),
  ...[
    0x3ff0000000000000n,
    0x7ff0000000000000n,
    0x7ff8000000000000n,
    0x7ff8000000000001n,
    0xc1e0000000000000n,
  ].map((b) => float(8, b)),
  ...[
    0x433fffffffffffffn,
    0x4340000000000000n,
    0x43f0000000000000n,
    0x0000000000000001n,
    0x3fb999999999999an,
  ].map((b) => float(8, b)),
]
const SIMPLE = [
  ...[
    FALSE,
    TRUE,
    NULL,
    UNDEFINED,
    simple(0),
    simple(16),
    simple(19),
    simple(24, 1),
    simple(31, 1),
    simple(32, 1),
  ],
  ...[simple(255, 1), simple(22, 1), simple(23, 1), simple(20, 1)],
]

export function strange(random: Random): Item {
  const made = pick(random, [
    () => pick(random, SIMPLE),
    () => pick(random, FLOATS),
    () => int(pick(random, INTEGERS)),
    () => int(-pick(random, INTEGERS)),
    () => bytes(new Uint8Array(pick(random, [0, 1, 31, 32, 33, 64]))),
    () => text(pick(random, ['', 'x', '\ufeffx', 'x\ufeff', '\ud800', '\u{1f600}'])),
    () => array(),
    () => array(int(1)),
    () => map(),
    () => map([UNDEFINED, UNDEFINED]),
    () => tag(pick(random, [0, 1, 2, 4, 18, 21, 24, 37, 55_799, 2 ** 32]), pick(random, SIMPLE)),
    () => float(8, 0x7ff8000000000000n),
  ])()
  return copyItem(made)
}

/** Returns a COSE label of either header, or a value that cannot be a label. */
export function label(random: Random): Item {
  if (random() < 0.5) return strange(random)
  return int(
    pick(
      random,
      [
        0, 1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 33, 258, 259, 260, 394, 395, 396, -1, -2, -65_537, -65_538,
        -65_539,
      ],
    ),
  )
}

/**
 * Changes one item in place. Usually sorts all maps afterwards, so that the check of their order passes and the change
 * reaches the later checks.
 */
export function changeItem(root: Item, random: Random): string {
  const places = placesOf(root)
  const place = pick(random, places)
  const how = changePlace(place, random)
  if (random() < 0.8) for (const { item } of placesOf(root)) if (item.major === 5) sortMap(item)
  return how
}

function sortMap(item: Item): void {
  const items = item.items!
  if (items.length % 2 === 1) return
  const pairs = Array.from(
    { length: items.length / 2 },
    (_, i) => [items[2 * i]!, items[2 * i + 1]!] as const,
  )
  const keyed = pairs.map((pair) => ({ pair, key: Buffer.from(encodeItem(pair[0])) }))
  item.items = keyed.sort((a, b) => Buffer.compare(a.key, b.key)).flatMap(({ pair }) => pair)
}

function changePlace({ item, parent, index }: Place, random: Random): string {
  const kind = random()
  if (kind < 0.08) {
    item.width = pick(random, [1, 2, 4, 8])
    return 'long head'
  }
  if (kind < 0.13 && (item.body || item.items) && item.major !== 6) {
    item.isOpen = true
    return 'indefinite'
  }
  if (kind < 0.17) {
    item.skew = pick(random, [-1n, 1n, 2n ** 16n, 2n ** 31n, 2n ** 32n, 2n ** 53n, 2n ** 63n, -2n])
    return 'length'
  }
  if (kind < 0.23 && parent) {
    parent.items![index] = tag(pick(random, [0, 1, 2, 18, 18, 24, 55_799]), item)
    return 'tag'
  }
  if (kind < 0.4 && parent) {
    const isKey = parent.major === 5 && index % 2 === 0
    parent.items![index] = isKey ? label(random) : strange(random)
    return isKey ? 'label' : 'value'
  }
  if (item.body) return changeBody(item, random)
  if (item.major < 2 && random() < 0.2) {
    // Replaces an integer by a value that equals 1 or 0 in some languages.
    Object.assign(
      item,
      copyItem(pick(random, [TRUE, FALSE, float(2, 0x3c00n), float(2, 0n), float(2, 0x8000n)])),
    )
    return 'no integer'
  }
  if (item.major < 2) {
    Object.assign(item, int(random() < 0.5 ? pick(random, INTEGERS) : item.value + pick(random, [-1n, 1n])))
    if (random() < 0.2) item.major = pick(random, [0, 1])
    return 'integer'
  }
  if (item.major === 7) {
    Object.assign(item, strange(random))
    return 'simple'
  }
  if (item.major === 6) {
    item.value = pick(random, [0n, 17n, 19n, 98n, 61n, 2n ** 32n, 2n ** 63n])
    return 'other tag'
  }
  return item.major === 5 ? changeMap(item, random) : changeArray(item, random)
}

function changeBody(item: Item, random: Random): string {
  const body = item.body!
  // Headers and proofs are byte strings that contain CBOR.
  const inner = item.major === 2 && random() < 0.7 ? decodeItem(body) : null
  if (inner && (inner.items || inner.body)) {
    const how = changeItem(inner, random)
    item.body = encodeItem(inner)
    return `within: ${how}`
  }
  const kind = random()
  if (kind < 0.1) item.body = new Uint8Array(Math.min(pickLength(random), 40_000))
  else if (kind < 0.2) item.body = new Uint8Array(0)
  else if (item.major === 3) item.body = encodeAny(changeText(Buffer.from(body).toString('utf8'), random))
  else if (kind < 0.3) item.body = Buffer.concat([body, Uint8Array.of(pick(random, [0, 0xf6, 0xff]))])
  else item.body = mutateBytes(body, random, body)
  if (random() < 0.05) item.major = item.major === 2 ? 3 : 2
  return 'string'
}

function changeMap(item: Item, random: Random): string {
  const items = item.items!
  const at = 2 * below(random, Math.max(1, items.length >> 1))
  const kind = random()
  if (kind < 0.4 || items.length < 2) {
    const [key, value] = [label(random), random() < 0.5 ? strange(random) : array(bytes(new Uint8Array(3)))]
    items.push(key, value)
    // Adds the same label twice. Labels that differ as bytes may be equal in JavaScript or Python, and the other way
    // round.
    if (random() < 0.2) items.push(copyItem(key), strange(random))
    return 'adds a label'
  }
  if (kind < 0.6) items.splice(at, 2)
  else if (kind < 0.75) items.splice(at, 0, copyItem(items[at]!), copyItem(items[at + 1]!))
  else if (kind < 0.85) items.push(...items.splice(at, 2))
  else if (kind < 0.9) items.splice(at, 1)
  else items.push(copyItem(items[at]!), strange(random))
  return 'changes the map'
}

function changeArray(item: Item, random: Random): string {
  const items = item.items!
  const at = below(random, Math.max(1, items.length))
  const kind = random()
  if (kind < 0.3 || items.length === 0)
    items.splice(at, 0, items[at] && random() < 0.5 ? copyItem(items[at]) : strange(random))
  else if (kind < 0.6) items.splice(at, 1)
  else if (kind < 0.8) items.push(...items.splice(at, 1))
  else {
    const most = pick(random, [53, 54, 55, 64])
    items.push(...Array.from({ length: Math.max(0, most - items.length) }, () => copyItem(items[0]!)))
  }
  return 'changes the array'
}

export function mutateCbor(data: Uint8Array, random: Random, other: Uint8Array): Uint8Array {
  const item = decodeItem(data)
  if (item === null) return mutateBytes(data, random, other)
  for (let left = 1 + below(random, 2); left > 0; left--) changeItem(item, random)
  return encodeItem(item)
}
