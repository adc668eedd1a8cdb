import {
  changeItem,
  copyItem,
  decodeItem,
  encodeItem,
  type Item,
  int,
  label,
  memberOf,
  strange,
  tag,
  text,
} from '../../../helpers/mutate/cbor.ts'
import { below, pick, type Random } from '../../../helpers/mutate/random.ts'
import { pickLength } from '../../../helpers/mutate/text.ts'
import type { Made } from './case.ts'
import { makeBases, signAs, signedStatement } from './ledgers.ts'

/*
 * Makes cases from Signed Statements of other issuers. A case changes a statement's header and then signs the statement
 * again.
 */

/**
 * Returns a Signed Statement whose header was changed and then signed. It is returned as a CBOR item, so that a
 * receipt can be inserted.
 */
export function registeredItem(random: Random): { item: Item; how: string } {
  const { issuers } = makeBases().all.find(({ name }) => name === 'registered')!
  const issuer = pick(random, issuers)
  const item = decodeItem(
    signedStatement(issuer, pick(random, ['pkg:generic/copper@1', 'a=b c="d"', '\u2028'])),
  )!
  const parts = item.items![0]!.items!
  const head = decodeItem(parts[0]!.body!)!
  const unprotected = parts[1]!
  const hows: string[] = []
  if (random() < 0.25) hows.push(asHash(head, parts[2]!, random))
  if (random() < 0.1) hows.push(asEntry(head, random))
  if (random() < 0.08) hows.push(inBoth(head, unprotected, random))
  if (random() < 0.05) hows.push(ofLength(parts[2]!, random))
  const isBare = random() < 0.04
  if (isBare) hows.push('bare')
  while (hows.length === 0 || (hows.length < 3 && random() < 0.5)) {
    const kind = random()
    if (kind < 0.7) hows.push(`protected: ${changeItem(head, random)}`)
    else if (kind < 0.85) hows.push(inBoth(head, unprotected, random))
    else hows.push(`unprotected: ${changeItem(unprotected, random)}`)
  }
  const bare = isBare ? pick(random, [new Uint8Array(0), encodeItem(tag(18, head))]) : encodeItem(head)
  parts[0]!.body = bare
  parts[3]!.body = signAs(issuer, bare, parts[2]!.body ?? new Uint8Array(0))
  return { item, how: hows.join(', ') }
}

/** Copies a label of one header into the other, or adds a strange label to both. */
function inBoth(head: Item, unprotected: Item, random: Random): string {
  const items = head.items ?? []
  if (random() < 0.4 || items.length < 2) {
    const key = label(random)
    head.items = [...items, copyItem(key), strange(random)]
    unprotected.items = [...(unprotected.items ?? []), key, strange(random)]
    return 'a label in both headers'
  }
  const at = 2 * below(random, items.length >> 1)
  unprotected.items = [...(unprotected.items ?? []), ...items.slice(at, at + 2).map(copyItem)]
  if (random() < 0.5) items.splice(at, 2)
  return 'a label in the other header'
}

function ofLength(payload: Item, random: Random): string {
  const bytes = pick(random, [0, 1, 31, 32, 33, 48, 64, 1_000, 32_000, 32_600, 32_768, 33_000])
  payload.body = new Uint8Array(bytes)
  return `${bytes} bytes`
}

/** Replaces the content type by label 258 and the labels that belong to it (RFC 9995). */
function asHash(head: Item, payload: Item, random: Random): string {
  const [alg, length] = pick(random, [
    [-16, 32],
    [-43, 48],
    [-44, 64],
  ] as const)
  head.items = (head.items ?? []).toSpliced(2, 2)
  head.items.push(int(258), int(alg), int(259), text('application/json'))
  if (random() < 0.6) {
    const location = pick(random, [
      'https://a.example/x',
      '',
      'x'.repeat(pickLength(random)),
      '\u{1f600}'.repeat(pick(random, [255, 256, 257, 511, 512, 513, 1_024])),
    ])
    head.items.push(int(260), random() < 0.3 ? strange(random) : text(location))
  }
  payload.body = new Uint8Array(length)
  return 'as a hash'
}

/** Adds the labels and claims of an entry's envelope, sometimes in another order or with another value. */
function asEntry(head: Item, random: Random): string {
  const claims = memberOf(head, 15)
  const kid = memberOf(head, 4)
  const content = memberOf(head, 3)
  if (!claims?.items || !kid || !content) return 'nothing'
  claims.items.push(
    int(6),
    pick(random, [int(1_700_000_000), int(-1), text('x'), decodeItem(Uint8Array.of(0xf6))!]),
  )
  kid.body = new Uint8Array(pick(random, [32, 32, 31]))
  content.body = Buffer.from('application/vnd.in-toto+json')
  if (random() < 0.3)
    claims.items = claims.items.toReversed().flatMap((_, i, all) => (i % 2 ? [all[i]!, all[i - 1]!] : []))
  return 'as an entry'
}

export function makeRegistered(random: Random): Made {
  const { item, how } = registeredItem(random)
  const hows = [how]
  if (random() < 0.2) hows.push(`whole: ${changeItem(item, random)}`)
  return { how: hows.join(', '), trust: {}, parts: [encodeItem(item)] }
}
