import { createHash } from 'node:crypto'
import { mutateBytes } from '../../../helpers/mutate/bytes.ts'
import { below, pick, type Random } from '../../../helpers/mutate/random.ts'
import { NOT_CANONICAL_POINTS, SMALL_ORDER_POINTS } from '../../../proof/ed25519-edge-cases.ts'
import type { Made } from './case.ts'
import { seededSigner } from './ledgers.ts'

/*
 * Makes edge cases of Ed25519 keys and signatures: points of small order, other encodings, and S at multiples of the
 * group's order.
 */

/** DER prefix of a 32-byte Ed25519 key. */
const DER = Buffer.from('302a300506032b6570032100', 'hex')
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n
const POINTS = [...SMALL_ORDER_POINTS, ...NOT_CANONICAL_POINTS].map(([, hex]) => Buffer.from(hex, 'hex'))

const littleEndian = (value: bigint): Buffer => {
  const hex = BigInt.asUintN(256, value).toString(16).padStart(64, '0')
  return Buffer.from(hex, 'hex').reverse()
}
const numberOf = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)

/** Makes a case with the parts key (SPKI), message and signature. */
export function pointCase(random: Random): Made {
  const signer = seededSigner(20 + below(random, 3))
  const message = createHash('sha256')
    .update(`${below(random, 64)}`)
    .digest()
  const signature = Buffer.from(signer.sign(message))
  const hows: string[] = []
  let raw: Uint8Array = signer.key.raw
  if (random() < 0.6) {
    raw = random() < 0.8 ? pick(random, POINTS) : mutateBytes(raw, random, raw)
    hows.push('key')
  }
  if (random() < 0.6) {
    signature.set(pick(random, POINTS))
    hows.push('R')
  }
  if (random() < 0.6) {
    const s = numberOf(signature.subarray(32))
    const other = pick(random, [
      0n,
      1n,
      s + ORDER,
      ORDER,
      ORDER - 1n,
      ORDER + 1n,
      s + 2n * ORDER,
      2n ** 252n,
      2n ** 256n - 1n,
    ])
    signature.set(littleEndian(other), 32)
    hows.push('S')
  }
  let spki: Uint8Array = Buffer.concat([DER, raw])
  if (random() < 0.05) {
    spki = mutateBytes(spki, random, spki)
    hows.push('SPKI')
  }
  return { how: hows.join(', ') || 'honest', trust: { alg: 'EdDSA' }, parts: [spki, message, signature] }
}
