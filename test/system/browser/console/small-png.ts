import { crc32, deflateSync, inflateSync } from 'node:zlib'

/*
 * Converts a screenshot to an image with a palette, which needs a third of the bytes. Pages have few colours. Only the
 * edges of letters have many shades, and losing most of these shades is invisible.
 */

const SIGNATURE_BYTES = 8
const COLOURS_MAX = 256
/** The bits of a channel that distinguish shades of the palette. */
const SHADE_MASK = 0xf0

type Picture = { readonly width: number; readonly height: number; readonly rgb: Uint8Array }

export function withPalette(png: Uint8Array): Buffer {
  const { width, height, rgb } = decode(png)
  const palette = paletteOf(rgb)
  const indexOf = makeIndexOf(palette)
  const rows = Buffer.alloc((width + 1) * height)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = indexOf(shadeAt(rgb, 3 * (y * width + x)))
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // The image has 8 bits per pixel and a palette.
  header.set([8, 3, 0, 0, 0], 8)
  const colours = Buffer.from(palette.flatMap((shade) => [shade >> 16, (shade >> 8) & 0xff, shade & 0xff]))
  return Buffer.concat([
    png.subarray(0, SIGNATURE_BYTES),
    chunk('IHDR', header),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** Decodes the format that Chromium writes: 8 bits a channel, not interlaced, with or without alpha. */
function decode(png: Uint8Array): Picture {
  const bytes = Buffer.from(png)
  const [width, height, colourType] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20), bytes[25]]
  const channels = colourType === 6 ? 4 : 3
  const data: Buffer[] = []
  for (let at = SIGNATURE_BYTES; at < bytes.length; at += 12 + bytes.readUInt32BE(at))
    if (bytes.toString('latin1', at + 4, at + 8) === 'IDAT')
      data.push(bytes.subarray(at + 8, at + 8 + bytes.readUInt32BE(at)))
  const raw = inflateSync(Buffer.concat(data))
  const stride = width * channels
  const rgb = new Uint8Array(width * height * 3)
  let above = new Uint8Array(stride)
  for (let y = 0; y < height; y++) {
    const from = y * (stride + 1)
    const row = unfilter(raw[from]!, raw.subarray(from + 1, from + 1 + stride), above, channels)
    for (let x = 0; x < width; x++) rgb.set(row.subarray(x * channels, x * channels + 3), 3 * (y * width + x))
    above = row
  }
  return { width, height, rgb }
}

function unfilter(
  filter: number,
  row: Uint8Array,
  above: Uint8Array,
  channels: number,
): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(row.length)
  for (let i = 0; i < row.length; i++) {
    const [a, b, c] = [out[i - channels] ?? 0, above[i]!, above[i - channels] ?? 0]
    const guesses = [0, a, b, (a + b) >> 1, paeth(a, b, c)]
    out[i] = row[i]! + guesses[filter]!
  }
  return out
}

function paeth(a: number, b: number, c: number): number {
  const [da, db, dc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)]
  if (da <= db && da <= dc) return a
  return db <= dc ? b : c
}

function shadeAt(rgb: Uint8Array, at: number): number {
  return (rgb[at]! << 16) | (rgb[at + 1]! << 8) | rgb[at + 2]!
}

/** Returns the most frequent colours, with similar shades merged. */
function paletteOf(rgb: Uint8Array): number[] {
  const exact = new Map<number, number>()
  for (let at = 0; at < rgb.length; at += 3) {
    const shade = shadeAt(rgb, at)
    exact.set(shade, (exact.get(shade) ?? 0) + 1)
  }
  const first = new Set<number>()
  const near = new Set<number>()
  const mask = (SHADE_MASK << 16) | (SHADE_MASK << 8) | SHADE_MASK
  for (const [shade] of [...exact].sort(([, one], [, other]) => other - one)) {
    if (near.has(shade & mask)) continue
    near.add(shade & mask)
    first.add(shade)
    if (first.size === COLOURS_MAX) break
  }
  return [...first]
}

function makeIndexOf(palette: readonly number[]): (shade: number) => number {
  const known = new Map(palette.map((shade, index) => [shade, index]))
  const distance = (one: number, other: number) =>
    [16, 8, 0].reduce((sum, bits) => sum + (((one >> bits) & 0xff) - ((other >> bits) & 0xff)) ** 2, 0)
  return (shade) => {
    const index = known.get(shade)
    if (index !== undefined) return index
    let nearest = 0
    for (const [i, one] of palette.entries())
      if (distance(one, shade) < distance(palette[nearest]!, shade)) nearest = i
    known.set(shade, nearest)
    return nearest
  }
}

function chunk(type: string, data: Buffer): Buffer {
  const out = Buffer.alloc(12 + data.length)
  out.writeUInt32BE(data.length, 0)
  out.write(type, 4, 'latin1')
  data.copy(out, 8)
  out.writeUInt32BE(crc32(out.subarray(4, 8 + data.length)), 8 + data.length)
  return out
}
