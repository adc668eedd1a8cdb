import { constants, deflateRawSync, gzipSync } from 'node:zlib'
import { below, pick, type Random } from './random.ts'

/*
 * Seeded mutations of genuine bytes. An attacker or a broken disk may cause each of these changes: changed bits, bytes
 * and lengths; ranges that are dropped, doubled or swapped; and ranges of another input.
 */

/** Byte values at limits: of CBOR heads, of UTF-8, and of numbers. */
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
  // Adds or subtracts one from a byte, because the byte may be a length or a count.
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

/** Applies one to four changes. `other`: genuine bytes of the same kind, from which a range may be copied. */
export function mutateBytes(bytes: Uint8Array, random: Random, other: Uint8Array): Uint8Array {
  let changed = bytes
  for (let left = 1 + below(random, 4); left > 0 && changed.length > 0; left--)
    changed = pick(random, CHANGES)(changed, random, other)
  return changed
}

function part(bytes: Uint8Array, random: Random): [number, number] {
  const from = below(random, bytes.length + 1)
  // Short ranges are more likely, so that more of the input stays unchanged.
  return [from, Math.min(bytes.length, from + Math.ceil(random() ** 4 * bytes.length))]
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts))
}

/**
 * Returns the content as a gzip file that only some readers accept: with several members, trailing bytes, optional
 * fields or wrong checksums.
 */
export function hostileGzip(content: Uint8Array, random: Random): Uint8Array {
  const whole = gzipSync(content)
  const cut = below(random, content.length + 1)
  const flagged = (flags: number, ...fields: Uint8Array[]) => {
    const head = whole.slice(0, 10)
    head[3] = flags
    return joined(head, ...fields, whole.subarray(10))
  }
  const text = Uint8Array.of(0x61, 0)
  return pick(random, [
    () => joined(gzipSync(content.subarray(0, cut)), gzipSync(content.subarray(cut))),
    () => joined(whole, gzipSync(new Uint8Array(0))),
    () => joined(gzipSync(new Uint8Array(0)), whole),
    () => joined(whole, new Uint8Array(1 + below(random, 16))),
    () => joined(whole, Uint8Array.of(0x1f)),
    () => joined(whole, Uint8Array.of(0x1f, 0x8b)),
    () => joined(whole, Buffer.from('garbage')),
    () => joined(whole, whole),
    () => whole.subarray(0, whole.length - 1 - below(random, 9)),
    () => whole.subarray(0, below(random, whole.length)),
    () => flagged(0x01),
    () => flagged(0x08, text),
    () => flagged(0x10, text),
    () => flagged(0x04, Uint8Array.of(2, 0, 1, 2)),
    () => flagged(0x02, Uint8Array.of(0, 0)),
    () => flagged(0x20),
    () => flagged(0xe0),
    () => gzipSync(content, { level: constants.Z_NO_COMPRESSION }),
    () => joined(whole.subarray(0, 10), deflateRawSync(content), whole.subarray(-8)),
    () => deflateRawSync(content),
    () => content,
    () => mutateBytes(whole, random, whole),
    () => joined(whole.subarray(0, -4), Uint8Array.of(1, 0, 0, 0)),
    () => joined(whole.subarray(0, -8), new Uint8Array(4), whole.subarray(-4)),
  ])()
}
